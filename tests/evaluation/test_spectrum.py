import numpy as np
import pytest

from freqlf.evaluation.spectrum import band_shares, error_spectrum, radial_profile


@pytest.mark.parametrize("shape", [(32, 48), (31, 45)])
def test_squares_sum_to_the_mean_squared_error(shape):
    error = np.random.default_rng(0).standard_normal(shape)
    spectrum = error_spectrum(error)
    assert np.sum(spectrum**2) == pytest.approx(np.mean(error**2))
    assert spectrum[shape[0] // 2, shape[1] // 2] == pytest.approx(np.mean(np.abs(error)))
    assert sum(band_shares(spectrum).values()) == pytest.approx(1.0)


def test_a_wave_is_found_at_its_frequency():
    x = np.arange(64)
    error = np.tile(2.0 + np.cos(2 * np.pi * 8 * x / 64), (64, 1))  # positive, so the absolute value keeps the wave
    spectrum = error_spectrum(error)
    assert spectrum[32, 32 + 8] == pytest.approx(0.5)
    frequency, magnitude = radial_profile(spectrum)
    assert magnitude[0] == pytest.approx(2.0)
    assert frequency[1 + np.argmax(magnitude[1:])] == pytest.approx(8 / 64)
    shares = band_shares(spectrum)
    assert shares["low"] == pytest.approx(4.0 / 4.5)
    assert shares["middle"] == pytest.approx(0.5 / 4.5)  # 1/8 cycles per pixel is its upper end
    assert shares["high"] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("shape", [(64, 64), (33, 64), (21, 90)])
def test_the_profile_of_white_noise_is_flat(shape):
    noise = np.random.default_rng(3).random(shape)
    frequency, magnitude = radial_profile(error_spectrum(noise))
    assert frequency[0] == 0
    assert np.all(np.diff(frequency) > 0)
    assert frequency[-1] <= 0.5
    outer = magnitude[len(magnitude) // 4 :]
    assert outer.std() / outer.mean() < 0.25


def test_no_error_has_no_shares():
    assert band_shares(error_spectrum(np.zeros((8, 8)))) == {"low": 0.0, "middle": 0.0, "high": 0.0}

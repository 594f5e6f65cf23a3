from dataclasses import replace

import numpy as np
import pytest
import torch

from freqlf.evaluation.spectrum import band_shares, error_spectrum, place_bands, radial_profile
from freqlf.models.build import build_model
from freqlf.models.complexity import measure_band
from freqlf.models.config import AlignedConfig, PassConfig, Switches
from freqlf.models.presets import PRESETS

ENDS = place_bands(1 / 32)


@pytest.mark.parametrize("shape", [(32, 48), (31, 45)])
def test_squares_sum_to_the_mean_squared_error(shape):
    error = np.random.default_rng(0).standard_normal(shape)
    spectrum = error_spectrum(error)
    assert np.sum(spectrum**2) == pytest.approx(np.mean(error**2))
    assert spectrum[shape[0] // 2, shape[1] // 2] == pytest.approx(np.mean(np.abs(error)))
    assert sum(band_shares(spectrum, ENDS).values()) == pytest.approx(1.0)


def test_a_wave_is_found_at_its_frequency():
    x = np.arange(64)
    error = np.tile(2.0 + np.cos(2 * np.pi * 8 * x / 64), (64, 1))  # positive, so the absolute value keeps the wave
    spectrum = error_spectrum(error)
    assert spectrum[32, 32 + 8] == pytest.approx(0.5)
    frequency, magnitude = radial_profile(spectrum)
    assert magnitude[0] == pytest.approx(2.0)
    assert frequency[1 + np.argmax(magnitude[1:])] == pytest.approx(8 / 64)
    shares = band_shares(spectrum, ENDS)
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
    assert band_shares(error_spectrum(np.zeros((8, 8))), ENDS) == {"low": 0.0, "middle": 0.0, "high": 0.0}


def test_bands_end_where_the_model_does():
    with torch.device("meta"):
        wide, literal, compact, without = (
            build_model(config)
            for config in (
                PRESETS["freqlf"],
                replace(PRESETS["freqlf"], band="literal"),
                PRESETS["freqlf-plus-small"],
                replace(PRESETS["freqlf"], switches=Switches(fourier=False)),
            )
        )
    assert measure_band(wide, 512, 512) == 15 / 512
    assert measure_band(literal, 512, 512) == 7 / 512
    assert measure_band(compact, 512, 512) == 3 / 128  # a table over frequency, of crops of 128 px
    assert measure_band(without, 512, 512) is None
    with torch.device("meta"):
        hourglass = build_model(
            AlignedConfig(passes=(PassConfig(coarse_channels=(48, 48), layers=1),), reference_px=128, band="isotropic")
        )
    assert measure_band(hourglass, 512, 512) == 7 / 128  # its Fourier branch sees a quarter of the resolution
    assert place_bands(15 / 512) == place_bands()
    assert place_bands(7 / 512)["middle"] == 28 / 512

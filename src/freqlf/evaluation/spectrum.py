"""In which spatial frequencies an error lies: in broad areas, at edges, or in between."""

import numpy as np
from numpy.typing import NDArray

BANDS = ("low", "middle", "high")
# What 16 modes both ways of a 512-pixel field can express, in cycles per pixel; see `place_bands`.
DEFAULT_LOW_END = 15 / 512


def place_bands(low_end: float = DEFAULT_LOW_END) -> dict[str, float]:
    """Upper ends of the `BANDS` in cycles per pixel.

    low_end: of a model with a Fourier branch the frequency up to which it retains waves of every direction, see
        `freqlf.models.complexity.measure_band`. The middle ends four times as high.
    """
    return dict(zip(BANDS, (low_end, 4 * low_end, np.inf), strict=True))


def error_spectrum(error_px: NDArray[np.floating]) -> NDArray[np.float64]:
    """The Fourier magnitude of the absolute error (H, W), in px, with frequency zero in the middle.

    Divided by the number of pixels: frequency zero is the mean absolute error, whatever the size of the map, and the
    squares sum to the mean squared error.
    """
    magnitude = np.abs(np.fft.fft2(np.abs(error_px).astype(np.float64))) / error_px.size
    return np.fft.fftshift(magnitude)


def radial_frequency(height: int, width: int) -> NDArray[np.float64]:
    """(H, W): how far every entry of a spectrum is from frequency zero, in cycles per pixel."""
    fy = np.fft.fftshift(np.fft.fftfreq(height))
    fx = np.fft.fftshift(np.fft.fftfreq(width))
    return np.hypot(fy[:, None], fx)


def radial_profile(spectrum: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean magnitude on rings around frequency zero: (frequencies in cycles per pixel, magnitudes in px).

    Rings are one cycle per image wide and end at 0.5, beyond which only the corners of the spectrum lie.
    """
    longest = max(spectrum.shape)
    ring = np.rint(radial_frequency(*spectrum.shape) * longest).astype(int).ravel()
    count = longest // 2 + 1
    inside = ring < count
    pixels = np.bincount(ring[inside], minlength=count)
    total = np.bincount(ring[inside], weights=spectrum.ravel()[inside], minlength=count)
    filled = pixels > 0  # an oblong map has rings that no frequency falls into
    return np.arange(count)[filled] / longest, total[filled] / pixels[filled]


def band_shares(spectrum: NDArray[np.float64], ends: dict[str, float]) -> dict[str, float]:
    """Which part of the squared error lies in which band; the parts sum to 1 (or are 0 without error)."""
    power = spectrum**2
    total = power.sum()
    radius = radial_frequency(*spectrum.shape)
    shares, begin = {}, -1.0
    for band, end in ends.items():
        inside = (radius > begin) & (radius <= end)
        shares[band] = float(power[inside].sum() / total) if total > 0 else 0.0
        begin = end
    return shares

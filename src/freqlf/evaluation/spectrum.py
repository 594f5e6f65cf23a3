"""In which spatial frequencies an error lies: in broad areas, at edges, or in between."""

import numpy as np
from numpy.typing import NDArray

# Upper ends in cycles per pixel. Up to 1/32 lies what 16 modes of a 512-pixel field can express.
BANDS = {"low": 1 / 32, "middle": 1 / 8, "high": np.inf}


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


def band_shares(spectrum: NDArray[np.float64]) -> dict[str, float]:
    """Which part of the squared error lies in which of the `BANDS`; the parts sum to 1 (or are 0 without error)."""
    power = spectrum**2
    total = power.sum()
    radius = radial_frequency(*spectrum.shape)
    shares, begin = {}, -1.0
    for band, end in BANDS.items():
        inside = (radius > begin) & (radius <= end)
        shares[band] = float(power[inside].sum() / total) if total > 0 else 0.0
        begin = end
    return shares

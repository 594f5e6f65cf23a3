"""The presets: configurations by name."""

from dataclasses import replace

from freqlf.errors import FreqLFError
from freqlf.models.config import (
    EPI_LINES,
    STAR_LINES,
    AlignedConfig,
    EpiConfig,
    ModelConfig,
    OcclusionConfig,
    PassConfig,
    SweepConfig,
)

_FIRST_PASS = PassConfig(channels=32, layers=3, shared_channels=16)
_FAR_SIGHTED_PASS = PassConfig(
    channels=64,
    layers=2,
    stem_channels=96,
    windows_px=(7, 21),
    shared_channels=32,
    coarse_channels=(96, 128),
    offset_px=0.1,
    second_opinion=True,
    spacings_px=(2, 6, 16),
)
_AROUND_PX = (-0.25, -0.1, 0.1, 0.25)  # costs around the estimate, in models that enumerate disparities
_SWEPT = AlignedConfig(
    lines=STAR_LINES,
    passes=(replace(_FIRST_PASS, second_opinion=True), replace(_FAR_SIGHTED_PASS, relative_px=_AROUND_PX)),
    components=7,
    sweep=SweepConfig(wide_windows_px=(25,)),
    reading="surface",
    reference_px=160,
)

# The first three are the paper's models. The others see the views aligned by a slope field, which learns much sooner.
PRESETS: dict[str, ModelConfig] = {
    "freqlf": EpiConfig(),
    "freqlf-plus": OcclusionConfig(),
    # As deep and narrower, to be trained on crops of 48 px and run on whole scenes.
    "freqlf-paper-small": EpiConfig(channels=48, stream_channels=24, field="frequency", reference_px=48),
    # A second opinion adds surfaces where texture is faint, and the second pass sees far, by an hourglass.
    "freqlf-small": AlignedConfig(
        lines=EPI_LINES,
        passes=(replace(_FIRST_PASS, second_opinion=True), _FAR_SIGHTED_PASS),
        components=7,
        contrast_windows_px=(5, 9),
        mean_windows_px=(5,),
        reading="surface",
        reference_px=160,
    ),
    "freqlf-plus-small": AlignedConfig(
        lines=STAR_LINES,
        passes=(_FIRST_PASS, PassConfig(windows_px=(7, 21), relative_px=_AROUND_PX, shared_channels=16)),
        components=7,
    ),
    "freqlf-plus-sweep": _SWEPT,
    # The last pass decides several times with the same weights, on evidence for what it has decided: what stands in
    # front is known better the second time. Its hourglass sees four times as far as the others, by two coarser levels,
    # which have few pixels, and has no Fourier branch. It knows what hides what, and reads the views themselves:
    # costs say how much they disagree, but not where and which way.
    # The sweep goes 2 px beyond the slopes: small things in front, such as dots, are in none of them. Its tilted planes
    # are for floors of faint texture, which a wide window sees at many disparities.
    "freqlf-plus-deep": replace(
        _SWEPT,
        repeats=2,
        sweep=SweepConfig(margin_px=2.0, most_planes=64, wide_windows_px=(25,), tilts=(-0.045, 0.045)),
        passes=(
            _SWEPT.passes[0],
            replace(
                _SWEPT.passes[1],
                modes=0,
                coarse_channels=(96, 128, 128, 128),
                contrast_steps=True,
                tilted=True,
                occlusion=True,
                stream_channels=32,
            ),
        ),
    ),
}


def find_preset(name: str) -> ModelConfig:
    """The preset of this name."""
    if name not in PRESETS:
        raise FreqLFError(f"unknown preset {name!r}: choose one of {', '.join(PRESETS)}")
    return PRESETS[name]

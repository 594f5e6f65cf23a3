"""Model configurations: what a network is built from, and nothing about how it is trained."""

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from freqlf.errors import FreqLFError

EPI_LINES = ("horizontal", "vertical")
STAR_LINES = ("horizontal", "vertical", "diagonal", "antidiagonal")


MOST = 4096  # of channels, layers and the like, in a description that can be believed


def _check_floor(floor_px: float) -> None:
    if not 1e-4 <= floor_px <= 0.1:
        raise FreqLFError(f"deviation_floor_px must be between 0.0001 and 0.1, not {floor_px}")


def _check_lines(lines: tuple[str, ...]) -> None:
    if set(lines) - set(STAR_LINES) or not lines:
        raise FreqLFError(f"lines must be some of {', '.join(STAR_LINES)}, not {lines}")


def _check_positive(config: Any, *names: str) -> None:
    for name in names:
        if not 1 <= getattr(config, name) <= MOST:
            raise FreqLFError(f"{name} must be between 1 and {MOST}, not {getattr(config, name)}")


def _check_windows(windows_px: tuple[int, ...]) -> None:
    if not windows_px or any(window < 3 or window % 2 == 0 for window in windows_px):
        raise FreqLFError(f"windows_px must be odd numbers of at least 3, not {windows_px}")


@dataclass(frozen=True)
class Switches:
    """The components that the ablations remove.

    Attributes:
        fourier: the Fourier branch of the hybrid layers.
        local: their 3x3 branch.
        squeeze: channel reweighting after the encoder (SE).
        probabilistic: the mixture head; without it one disparity per pixel is regressed.
    """

    fourier: bool = True
    local: bool = True
    squeeze: bool = True
    probabilistic: bool = True


Band = Literal["isotropic", "literal"]


def count_modes(modes: int, band: Band) -> tuple[int, int]:
    """Rows and columns of the table of Fourier weights for k = `modes`.

    isotropic: all waves of fewer than k cycles per field along either axis: rows -(k-1) .. k-1, columns 0 .. k-1.
        The weights of columns below 0 are the conjugates of others, so the band is the same both ways.
    literal: a table of k x k as the paper's text has it, rows -k/2 .. k/2-1: half the bandwidth vertically.
    """
    return (2 * modes - 1, modes) if band == "isotropic" else (modes, modes)


@dataclass(frozen=True)
class PaperConfig:
    """What the paper's two models share: lift, hybrid layers and decoder.

    Attributes:
        channels: C of the features and of the latent field.
        layers: L hybrid layers.
        modes: k1 = k2 = k of the retained Fourier modes.
        band: which modes that are, see `count_modes`.
        components: K of the mixture.
        stream_channels: features of each stream of the encoder.
        deviation_floor_px: least deviation of a component.
        field: what Fourier weights mean on a field of another size, see `SpectralConv2d`.
        reference_px: side of the field that the weights were learned on; only "index" can do without.
        switches: components to leave out.
    """

    channels: int = 128
    layers: int = 4
    modes: int = 16
    band: Band = "isotropic"
    components: int = 5
    stream_channels: int = 64
    deviation_floor_px: float = 0.01
    field: Literal["index", "frequency"] = "index"
    reference_px: int | None = None
    switches: Switches = Switches()

    def __post_init__(self) -> None:
        _check_positive(self, "channels", "layers", "modes", "components", "stream_channels")
        _check_floor(self.deviation_floor_px)


@dataclass(frozen=True)
class EpiConfig(PaperConfig):
    """The paper's base model: streams on the raw EPI stacks, trained end to end.

    Attributes:
        rows, columns: views per axis, odd.
    """

    rows: int = 9
    columns: int = 9
    kind: Literal["epi"] = "epi"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("rows", "columns"):
            if getattr(self, name) < 3 or getattr(self, name) % 2 == 0:
                raise FreqLFError(f"{name} must be odd and at least 3, not {getattr(self, name)}")

    @property
    def enumerates_disparities(self) -> bool:
        """Never: this is the cost-volume-free model."""
        return False


@dataclass(frozen=True)
class OcclusionConfig(PaperConfig):
    """The paper's FreqLF+: an occlusion-aware front-end before the same backbone; any odd number of views per axis.

    Attributes:
        lines: the lines of views it compares with the centre.
        lowest_px, highest_px: disparities of the first and the last plane of its sweep.
        step_px: distance of the planes.
        opinions: how often the planes compete with each other, see `PlaneStream`.
    """

    lines: tuple[str, ...] = STAR_LINES
    lowest_px: float = -4.0
    highest_px: float = 4.0
    step_px: float = 0.25
    opinions: int = 4
    kind: Literal["occlusion"] = "occlusion"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_positive(self, "opinions")
        _check_lines(self.lines)
        if not (self.lowest_px < self.highest_px and self.step_px > 0) or self.planes > MOST:
            raise FreqLFError(
                f"planes from {self.lowest_px} to {self.highest_px} px, {self.step_px} px apart, are no sweep: the "
                f"first must lie below the last, and there may be {MOST}"
            )

    @property
    def planes(self) -> int:
        """How many there are."""
        return round((self.highest_px - self.lowest_px) / self.step_px) + 1

    @property
    def enumerates_disparities(self) -> bool:
        """Always: the cost-volume-free model is the other one."""
        return True


@dataclass(frozen=True)
class PassConfig:
    """One pass of an aligned model over the evidence.

    Attributes:
        channels: C of the latent field.
        layers: L hybrid layers.
        modes: k1 = k2 retained Fourier modes; 0 for layers without a Fourier branch.
        stem_channels: width of the pointwise layer that reads the evidence.
        windows_px: sides of the neighbourhoods whose nearest and farthest surfaces become hypotheses.
        relative_px: distances from the estimate at which matching costs are evaluated. Not empty means that
            disparities are enumerated, so it stays empty in the base model.
        shared_channels: width of a first layer that all half-lines share; 0 for none.
        coarse_channels: widths of further levels at 1/2, 1/4 ... of the resolution, each with L layers on the way down
            and, but for the coarsest, on the way up; the Fourier branch is at the coarsest level then.
        offset_px: unit of the means' offsets from their anchors, see `MixtureDecoder`.
        second_opinion: whether surfaces that were found on views by their contrast are hypotheses too, and those views
            evidence.
        spacings_px: distances of the samples of planes through the surroundings, see `describe_surroundings`; empty
            for a pass that does not look at them. The first pass cannot: nothing says yet how sure an estimate is.
        contrast_steps: whether the views by their contrast also say by how much they would move the estimate.
        tilted: whether the surface of tilted planes is among those of the second opinion.
        occlusion: whether hypotheses are also compared in those views only that see them, if the surfaces are where the
            pass before believes them to be.
        stream_channels: width of layers that read the views themselves, aligned by the estimate and by the alternative,
            see `ViewStream`; 0 for none.
    """

    channels: int = 48
    layers: int = 6
    modes: int = 8
    stem_channels: int = 64
    windows_px: tuple[int, ...] = (11, 31)
    relative_px: tuple[float, ...] = ()
    shared_channels: int = 0
    coarse_channels: tuple[int, ...] = ()
    offset_px: float = 1.0
    second_opinion: bool = False
    spacings_px: tuple[int, ...] = ()
    contrast_steps: bool = False
    tilted: bool = False
    occlusion: bool = False
    stream_channels: int = 0

    def __post_init__(self) -> None:
        _check_positive(self, "channels", "layers", "stem_channels")
        for name in ("contrast_steps", "tilted", "occlusion", "stream_channels"):
            if getattr(self, name) and not self.second_opinion:
                raise FreqLFError(f"{name} compares the views by their contrast, too: it needs a second_opinion")
        for name in ("modes", "shared_channels", "stream_channels"):
            if not 0 <= getattr(self, name) <= MOST:
                raise FreqLFError(f"{name} must be between 0 and {MOST}, not {getattr(self, name)}")
        _check_windows(self.windows_px)
        if not 0.001 <= self.offset_px <= 1000:
            raise FreqLFError(f"offset_px must be between 0.001 and 1000, not {self.offset_px}")
        if any(not 1 <= spacing <= MOST for spacing in self.spacings_px):
            raise FreqLFError(f"spacings_px must be between 1 and {MOST}, not {self.spacings_px}")
        if any(not 1 <= width <= MOST for width in self.coarse_channels):
            raise FreqLFError(f"coarse_channels must be between 1 and {MOST}, not {self.coarse_channels}")


@dataclass(frozen=True)
class SweepConfig:
    """A plane sweep for second opinions; see `SweepOptions` for the settings."""

    step_px: float = 0.25
    margin_px: float = 0.5
    most_planes: int = 40
    windows_px: tuple[int, ...] = (5, 9)
    wide_windows_px: tuple[int, ...] = ()
    tilts: tuple[float, ...] = ()
    tilted_window_px: int = 41

    def __post_init__(self) -> None:
        _check_positive(self, "most_planes")
        _check_windows((*self.windows_px, self.tilted_window_px))
        if self.wide_windows_px:
            _check_windows(self.wide_windows_px)
        if self.step_px <= 0 or self.margin_px < 0:
            raise FreqLFError(
                f"step_px must be positive and margin_px not negative, not {self.step_px}, {self.margin_px}"
            )
        if any(not 0.001 <= abs(tilt) <= 1 for tilt in self.tilts):
            raise FreqLFError(f"tilts must lie between 0.001 and 1 or between -1 and -0.001, not {self.tilts}")


@dataclass(frozen=True)
class AlignedConfig:
    """A model on slope-aligned views; takes any odd number of views per axis.

    Attributes:
        lines: the lines of views it uses.
        passes: each refines the estimate of the one before.
        components: K of the mixtures; with a second opinion there is one more for each of its surfaces.
        sweep: makes second opinions by a plane sweep.
        contrast_windows_px: makes them by slope fields instead, one for each side of a window: nothing is enumerated.
        mean_windows_px: adds slope fields by which the views agree with their mean, for noise; with the former only.
        reading: which disparity of its mixtures is the estimate, see `Mixture`.
        repeats: how often the last pass decides once more, on evidence for what it believes by then.
        band: as in `PaperConfig`, where it is isotropic; the packaged weights are of the literal one.
        deviation_floor_px, field, reference_px, switches: as in `PaperConfig`.
    """

    lines: tuple[str, ...] = EPI_LINES
    passes: tuple[PassConfig, ...] = (PassConfig(),)
    components: int = 5
    sweep: SweepConfig | None = None
    contrast_windows_px: tuple[int, ...] = ()
    mean_windows_px: tuple[int, ...] = ()
    reading: Literal["tempered", "surface"] = "tempered"
    repeats: int = 0
    band: Band = "literal"
    deviation_floor_px: float = 0.01
    field: Literal["index", "frequency"] = "frequency"
    reference_px: int | None = 128
    switches: Switches = Switches()
    kind: Literal["aligned"] = "aligned"

    def __post_init__(self) -> None:
        _check_positive(self, "components")
        _check_lines(self.lines)
        _check_floor(self.deviation_floor_px)
        if not self.passes:
            raise FreqLFError("a model needs at least one pass")
        if not 0 <= self.repeats <= 16:
            raise FreqLFError(f"repeats must be between 0 and 16, not {self.repeats}")
        if self.passes[0].spacings_px:
            raise FreqLFError("the first pass has no surroundings to look at: its spacings_px must be empty")
        if self.contrast_windows_px:
            _check_windows(self.contrast_windows_px)
        if self.mean_windows_px:
            _check_windows(self.mean_windows_px)
        if self.mean_windows_px and not self.contrast_windows_px:
            raise FreqLFError("mean_windows_px add to second opinions by contrast: they need contrast_windows_px")
        if self.sweep is not None and self.contrast_windows_px:
            raise FreqLFError("second opinions come from a sweep or from slope fields by contrast, not from both")
        if bool(self.opinions) != any(one.second_opinion for one in self.passes):
            raise FreqLFError(
                "a model has a sweep or slopes by contrast if one of its passes has a second_opinion, else not"
            )
        if bool(self.tilted_opinions) != any(one.tilted for one in self.passes):
            raise FreqLFError("a sweep has tilts if one of the model's passes is tilted, else not")

    @property
    def opinions(self) -> int:
        """How many surfaces a second opinion has, without wide ones."""
        return len(self.contrast_windows_px if self.sweep is None else self.sweep.windows_px)

    @property
    def wide_opinions(self) -> int:
        """How many surfaces it has for noise and the faintest texture, see `SecondOpinion`; without tilted ones."""
        return len(self.mean_windows_px) if self.sweep is None else 2 * len(self.sweep.wide_windows_px)

    @property
    def tilted_opinions(self) -> int:
        """How many surfaces of tilted planes it has, for passes that are `tilted`."""
        return 1 if self.sweep is not None and self.sweep.tilts else 0

    @property
    def enumerates_disparities(self) -> bool:
        """Whether matching costs are evaluated over a range of disparities."""
        return self.sweep is not None or any(one.relative_px for one in self.passes)


ModelConfig = EpiConfig | OcclusionConfig | AlignedConfig


def without(config: ModelConfig, component: str) -> ModelConfig:
    """The configuration with one component removed: a field of `Switches`."""
    names = [field.name for field in fields(Switches)]
    if component not in names:
        raise FreqLFError(f"unknown component {component!r}: choose one of {', '.join(names)}")
    return replace(config, switches=replace(config.switches, **{component: False}))

"""The weights inside the package. The registry is a plain dictionary; each entry says what made its file."""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent

# The learning-free estimate has no weights; its name is understood wherever a model is asked for.
SLOPE = "slope"


@dataclass(frozen=True)
class CalibrationSummary:
    """What is known of the calibration inside a weight file.

    Attributes:
        scenes: those that it was fitted on.
        held_out_ece: the mean coverage ECE on scenes that a fit did not know.
    """

    scenes: tuple[str, ...]
    held_out_ece: float


@dataclass(frozen=True)
class Weights:
    """A trained model that ships with the package.

    Attributes:
        preset: the preset that it was trained as.
        file: its file in the package.
        sha256: the file's hash.
        data: what it was trained on.
        recipe: the script in the repository that trained it.
        commit: the version of the code that ran its last stage.
        cpu_hours: how long that took.
        protocol: how the scores were measured.
        scores: scene, or "mean", to (MSE x100, BadPix(0.07) %).
        calibration: of its intervals.
        licence: terms of use of the file.
    """

    preset: str
    file: str
    sha256: str
    data: str
    recipe: str
    commit: str
    cpu_hours: float
    protocol: str
    scores: dict[str, tuple[float, float]]
    calibration: CalibrationSummary
    licence: str

    @property
    def path(self) -> Path:
        """Where the file is."""
        return FOLDER / self.file


WEIGHTS: dict[str, Weights] = {
    "freqlf-plus-deep": Weights(
        preset="freqlf-plus-deep",
        file="freqlf-plus-deep.safetensors",
        sha256="83cc4435313bef3b846b14365c86cb373af1dcb8d7f7f8cfce8a739fc217e00b",
        data="the 16 additional scenes of the HCI benchmark, and 248 generated scenes",
        recipe="recipes/freqlf-plus-deep.sh",
        commit="8a327443612d",
        cpu_hours=16.5,
        protocol="HCI training scenes, 512-pixel ground truth, 11-pixel border, surface mean",
        scores={
            "boxes": (1.872, 8.35),
            "cotton": (0.213, 0.45),
            "dino": (0.121, 1.16),
            "sideboard": (0.420, 3.53),
            "mean": (0.657, 3.37),
        },
        calibration=CalibrationSummary(("boxes", "cotton", "dino", "sideboard"), held_out_ece=0.031),
        licence="CC BY-NC-SA 4.0",
    ),
    "freqlf-plus-sweep": Weights(
        preset="freqlf-plus-sweep",
        file="freqlf-plus-sweep.safetensors",
        sha256="e91a1ba046eb47764171c72880e99de0adadba8a18c21b4d48b346d965669653",
        data="the 16 additional scenes of the HCI benchmark, and 152 generated scenes",
        recipe="recipes/freqlf-plus-sweep.sh",
        commit="dac7fac995c8",
        cpu_hours=6.6,
        protocol="HCI training scenes, 512-pixel ground truth, 11-pixel border, surface mean",
        scores={
            "boxes": (2.402, 10.32),
            "cotton": (0.236, 0.56),
            "dino": (0.158, 1.35),
            "sideboard": (0.516, 4.53),
            "mean": (0.828, 4.19),
        },
        calibration=CalibrationSummary(("boxes", "cotton", "dino", "sideboard"), held_out_ece=0.035),
        licence="CC BY-NC-SA 4.0",
    ),
    "freqlf-plus-small": Weights(
        preset="freqlf-plus-small",
        file="freqlf-plus-small.safetensors",
        sha256="4ad34dffce37c4624e1472239626a270b60418d0d05b1672ac509af57319e4ab",
        data="the 16 additional scenes of the HCI benchmark",
        recipe="recipes/freqlf-plus-small.sh",
        commit="ca44a6ff3ca9",
        cpu_hours=3.42,
        protocol="HCI training scenes, 512-pixel ground truth, 11-pixel border, tempered mean",
        scores={
            "boxes": (3.58, 12.69),
            "cotton": (0.555, 1.87),
            "dino": (0.29, 3.11),
            "sideboard": (0.849, 6.96),
            "mean": (1.318, 6.16),
        },
        calibration=CalibrationSummary(("boxes", "cotton", "dino", "sideboard"), held_out_ece=0.015),
        licence="CC BY-NC-SA 4.0",
    ),
    "freqlf-small": Weights(
        preset="freqlf-small",
        file="freqlf-small.safetensors",
        sha256="d34a051fd35da863d5e54d889b00601fe0174bf43a4c4133b941bb0d95f3810b",
        data="the 16 additional scenes of the HCI benchmark, and 152 generated scenes",
        recipe="recipes/freqlf-small.sh",
        commit="74d4b60dec2c",
        cpu_hours=2.8,
        protocol="HCI training scenes, 512-pixel ground truth, 11-pixel border, surface mean",
        scores={
            "boxes": (2.587, 10.20),
            "cotton": (0.198, 0.57),
            "dino": (0.154, 1.52),
            "sideboard": (0.662, 5.49),
            "mean": (0.900, 4.44),
        },
        calibration=CalibrationSummary(("boxes", "cotton", "dino", "sideboard"), held_out_ece=0.050),
        licence="CC BY-NC-SA 4.0",
    ),
    "freqlf-plus-sweep-synthetic": Weights(
        preset="freqlf-plus-sweep",
        file="freqlf-plus-sweep-synthetic.safetensors",
        sha256="6d40300777dce9112b61b3d29b57d5671e921c89a7d426566cce73546306df1f",
        data="152 generated scenes",
        recipe="recipes/freqlf-plus-sweep-synthetic.sh",
        commit="f2082e400418",
        cpu_hours=1.71,
        protocol="HCI training scenes, 512-pixel ground truth, 11-pixel border, surface mean",
        scores={
            "boxes": (2.677, 14.09),
            "cotton": (0.312, 2.57),
            "dino": (0.352, 4.30),
            "sideboard": (1.361, 10.01),
            "mean": (1.176, 7.74),
        },
        calibration=CalibrationSummary(tuple(f"synth_{seed:06d}" for seed in range(5000, 5008)), held_out_ece=0.046),
        licence="MIT",
    ),
}

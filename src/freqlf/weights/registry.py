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
    "freqlf-plus-sweep": Weights(
        preset="freqlf-plus-sweep",
        file="freqlf-plus-sweep.safetensors",
        sha256="1c226ebcd5f6d0aeb57647739f8e9f802351697200fb80fa619bc37efde37220",
        data="the 16 additional scenes of the HCI benchmark",
        recipe="recipes/freqlf-plus-sweep.sh",
        commit="7c656e4ce138",
        cpu_hours=5.0,
        protocol="HCI training scenes, 512-pixel ground truth, 11-pixel border, surface mean",
        scores={
            "boxes": (2.586, 10.38),
            "cotton": (0.195, 0.55),
            "dino": (0.149, 1.39),
            "sideboard": (0.612, 4.65),
            "mean": (0.885, 4.24),
        },
        calibration=CalibrationSummary(("boxes", "cotton", "dino", "sideboard"), held_out_ece=0.037),
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
        sha256="f77cfb80c7e685adb457d29295239b429e8d5d0aa7038e63cac9dd8d573a9d6c",
        data="the 16 additional scenes of the HCI benchmark, and 96 generated scenes",
        recipe="recipes/freqlf-small.sh",
        commit="a0656da9101e",
        cpu_hours=2.27,
        protocol="HCI training scenes, 512-pixel ground truth, 11-pixel border, surface mean",
        scores={
            "boxes": (2.496, 10.61),
            "cotton": (0.202, 0.64),
            "dino": (0.165, 1.52),
            "sideboard": (0.606, 5.57),
            "mean": (0.867, 4.58),
        },
        calibration=CalibrationSummary(("boxes", "cotton", "dino", "sideboard"), held_out_ece=0.049),
        licence="CC BY-NC-SA 4.0",
    ),
    "freqlf-plus-small-synthetic": Weights(
        preset="freqlf-plus-small",
        file="freqlf-plus-small-synthetic.safetensors",
        sha256="82f69fa3da4db5a50091e63fa772331fa8598ca6ac7eab9de76c29cb9e7f2bf7",
        data="48 generated scenes",
        recipe="recipes/freqlf-plus-small-synthetic.sh",
        commit="786d843240db",
        cpu_hours=0.61,
        protocol="HCI training scenes, 512-pixel ground truth, 11-pixel border, tempered mean",
        scores={
            "boxes": (6.321, 17.67),
            "cotton": (0.825, 4.33),
            "dino": (0.685, 6.7),
            "sideboard": (3.025, 13.09),
            "mean": (2.714, 10.45),
        },
        calibration=CalibrationSummary(
            (
                "synth_005000",
                "synth_005001",
                "synth_005002",
                "synth_005003",
                "synth_005004",
                "synth_005005",
                "synth_005006",
                "synth_005007",
            ),
            held_out_ece=0.067,
        ),
        licence="MIT",
    ),
}

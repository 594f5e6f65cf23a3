"""The weights inside the package. The registry is a plain dictionary; each entry says what made its file."""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class CalibrationSummary:
    """What is known of the calibration inside a weight file.

    Attributes:
        kind: see `freqlf.calibration.Calibration`.
        scenes: those that it was fitted on.
        held_out_ece: the mean coverage ECE on scenes that a fit did not know.
    """

    kind: str
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
        command: the command that trained it.
        commit: the version of the code that ran the command.
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
    command: str
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
    "freqlf-plus-small": Weights(
        preset="freqlf-plus-small",
        file="freqlf-plus-small.safetensors",
        sha256="e2fc2042246bbf4383e584a14a6d0c83074db4b8ee0b86fe8665226642915542",
        data="the 16 additional scenes of the HCI benchmark",
        command="freqlf train --preset freqlf-plus-small --recipe cpu --steps 3200 --threads 1 --data ROOT --out RUN",
        commit="fb721a237dc7",
        cpu_hours=1.06,
        protocol="HCI training scenes, 512-pixel ground truth, 11-pixel border, sharpened mean",
        scores={
            "boxes": (4.401, 13.9),
            "cotton": (0.9, 2.72),
            "dino": (0.317, 3.58),
            "sideboard": (1.0, 8.31),
            "mean": (1.654, 7.13),
        },
        calibration=CalibrationSummary("deviations", ("boxes", "cotton", "dino", "sideboard"), held_out_ece=0.028),
        licence="CC BY-NC-SA 4.0",
    ),
    "freqlf-small": Weights(
        preset="freqlf-small",
        file="freqlf-small.safetensors",
        sha256="4e00cca5de9793f4803569fc04401310b1688a34c78f98133429c4eb26d3aeef",
        data="the 16 additional scenes of the HCI benchmark",
        command="freqlf train --preset freqlf-small --recipe cpu --steps 4000 --threads 1 --data ROOT --out RUN",
        commit="fb721a237dc7",
        cpu_hours=1.08,
        protocol="HCI training scenes, 512-pixel ground truth, 11-pixel border, sharpened mean",
        scores={
            "boxes": (4.574, 13.75),
            "cotton": (0.894, 2.05),
            "dino": (0.325, 2.98),
            "sideboard": (1.032, 7.39),
            "mean": (1.706, 6.54),
        },
        calibration=CalibrationSummary("deviations", ("boxes", "cotton", "dino", "sideboard"), held_out_ece=0.031),
        licence="CC BY-NC-SA 4.0",
    ),
}

"""The weights inside the package. The registry is a plain dictionary; each entry says what made its file."""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


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
    licence: str

    @property
    def path(self) -> Path:
        """Where the file is."""
        return FOLDER / self.file


WEIGHTS: dict[str, Weights] = {}

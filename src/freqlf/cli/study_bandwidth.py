"""`freqlf study bandwidth`: how many Fourier modes a model should retain."""

from typing import Annotated

import tyro

from freqlf.cli.arguments import Modes
from freqlf.cli.study_options import StudyOptions, conduct
from freqlf.cli.train import NO_CHANGES, Changes
from freqlf.studies.variants import vary_modes


def run(
    options: Annotated[StudyOptions, tyro.conf.arg(name="")],
    modes: tuple[Modes, ...] = (8, 16, 32),
    changes: Annotated[Changes, tyro.conf.arg(name="")] = NO_CHANGES,
) -> int:
    """Train a model with several numbers of Fourier modes, from scratch under the same settings, and compare.

    Interrupting is safe; --resume continues where it was.

    Args:
        options: See `StudyOptions`.
        modes: Retained modes per axis, in all layers; a model for each.
        changes: Settings that differ from the recipe's.
    """
    return conduct("bandwidth", lambda config: vary_modes(config, modes), options, changes)

"""`freqlf study ablation`: what each component of a model is worth."""

from typing import Annotated

import tyro

from freqlf.cli.study_options import StudyOptions, conduct
from freqlf.cli.train import NO_CHANGES, Changes
from freqlf.studies.variants import FULL, ablate


def run(
    options: Annotated[StudyOptions, tyro.conf.arg(name="")],
    changes: Annotated[Changes, tyro.conf.arg(name="")] = NO_CHANGES,
) -> int:
    """Train a model as it is and without each component, from scratch under the same settings, and compare.

    Removed are, one at a time, the Fourier branch, the local 3x3 branch, the channel reweighting (SE) and the
    probabilistic head. Interrupting is safe; --resume continues where it was.

    Args:
        options: See `StudyOptions`.
        changes: Settings that differ from the recipe's.
    """
    return conduct("ablation", ablate, options, changes, baseline=FULL)

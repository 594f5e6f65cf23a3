"""`freqlf study designs`: how a compact model should read the aligned views."""

from typing import Annotated

import tyro

from freqlf.cli.study_options import StudyOptions, conduct
from freqlf.cli.train import NO_CHANGES, Changes
from freqlf.studies.variants import FULL, vary_designs


def run(
    options: Annotated[StudyOptions, tyro.conf.arg(name="")],
    changes: Annotated[Changes, tyro.conf.arg(name="")] = NO_CHANGES,
) -> int:
    """Train a compact model with other encoders and passes, from scratch under the same settings, and compare.

    Compared are costs of hypotheses with and without a layer that all half-lines share, the aligned views as channels
    or read by 3D kernels, one pass, dilated layers, and no Fourier branch. Interrupting is safe; --resume continues.

    Args:
        options: See `StudyOptions`.
        changes: Settings that differ from the recipe's.
    """
    return conduct("designs", vary_designs, options, changes, baseline=FULL)

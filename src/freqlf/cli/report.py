"""`freqlf report`: an evaluation as one page."""

from pathlib import Path
from typing import Annotated

import tyro

from freqlf.evaluation.report import read_evaluation, write_page
from freqlf.io.files import write_text


def run(from_: Annotated[Path, tyro.conf.arg(name="from")], out: Path) -> None:
    """Turn the folder of an evaluation into one HTML page that holds everything, and needs no network.

    Args:
        from_: Folder that `freqlf evaluate` made.
        out: The page, for example report.html; replaced if it is there.
    """
    page = write_page(read_evaluation(from_))
    write_text(out, page)
    print(f"wrote {out} ({len(page) / 1e6:.1f} MB)")

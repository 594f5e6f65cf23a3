"""`freqlf view`: an estimate to look around in."""

from pathlib import Path
from typing import Annotated

import tyro


def run(
    directory: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DIR")],
    out: Path | None = None,
) -> None:
    """Turn the folder of an estimate into one HTML page: maps with the values under the pointer, points in space.

    The page holds all data itself; open it in any browser, or pass it on. Nothing is opened by itself.

    Args:
        directory: Folder that `freqlf estimate` made.
        out: The page; view.html in that folder by default. Replaced if it is there.
    """
    from freqlf.io.files import write_text
    from freqlf.outputs.viewer.page import PAGE, read_estimate, write_page

    path = directory / PAGE if out is None else out
    page = write_page(read_estimate(directory))
    write_text(path, page)
    print(f"wrote {path} ({len(page) / 1e6:.1f} MB); open it in a browser")

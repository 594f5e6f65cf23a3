"""`freqlf submit`: the archive for the benchmark's server."""

from pathlib import Path
from typing import Annotated

import tyro

from freqlf.errors import FreqLFError
from freqlf.evaluation.results import Results
from freqlf.evaluation.submission import SCENES, check_submission, write_submission


def run(
    from_: Annotated[Path | None, tyro.conf.arg(name="from")] = None,
    out: Path | None = None,
    check: Path | None = None,
) -> None:
    """Pack the maps of the benchmark's twelve scenes for its server, or check such an archive.

    The archive can be uploaded as it is. Nothing is written if a scene is missing or a map is unsound.

    Args:
        from_: Folder with disp_maps/<scene>.pfm and runtimes/<scene>.txt, as `freqlf evaluate` leaves it.
        out: The archive to write, for example submission.zip.
        check: An archive to check instead.
    """
    if check is not None:
        if from_ is not None or out is not None:
            raise FreqLFError("give either --check, or --from and --out")
        check_submission(check)
        print(f"{check}: all {len(SCENES)} scenes are there and as the server wants them")
        return
    if from_ is None or out is None:
        raise FreqLFError("give --from, the folder with the maps, and --out, the archive to write; or --check")
    write_submission(Results(from_), out)
    check_submission(out)
    print(f"wrote {out}: {len(SCENES)} maps and their runtimes")

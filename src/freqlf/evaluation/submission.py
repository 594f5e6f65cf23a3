"""The archive that the benchmark's server takes: twelve disparity maps and how long each took.

disp_maps/<scene>.pfm    512 x 512, one channel
runtimes/<scene>.txt     seconds
"""

import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from freqlf.data.splits import GROUPS
from freqlf.errors import FreqLFError
from freqlf.evaluation.results import DISPARITIES, RUNTIMES, Results, parse_measure
from freqlf.io.files import replacing
from freqlf.io.intake import decoding, open_file
from freqlf.io.pfm import read_pfm

SCENES = (*GROUPS["stratified"], *GROUPS["test"], *GROUPS["training"])
SIDE_PX = 512
_LARGEST_BYTES = 16 * 1024 * 1024  # of an entry; a map is 1 MB, and archives may claim anything


def check_results(results: Results) -> None:
    """Refuse results that the server would refuse, and all scenes at once if some are missing."""
    present = set(results.scenes())
    missing = [scene for scene in SCENES if scene not in present]
    if missing:
        raise FreqLFError(
            f"{results.directory} has no map of {', '.join(missing)}; a submission takes all {len(SCENES)} scenes"
        )
    untimed = [scene for scene in SCENES if results.runtime_s(scene) is None]
    if untimed:
        raise FreqLFError(
            f"{results.directory} has no {RUNTIMES}/<scene>.txt for {', '.join(untimed)}; "
            "write the seconds that each scene took there"
        )
    for scene in SCENES:
        _check_map(results.disparity_px(scene), str(results.disparity_file(scene)))


def write_submission(results: Results, path: Path) -> None:
    """Check the results and write the archive: all of it or nothing."""
    check_results(results)
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for scene in SCENES:
            archive.write(results.disparity_file(scene), f"{DISPARITIES}/{scene}.pfm")
            archive.writestr(f"{RUNTIMES}/{scene}.txt", f"{results.runtime_s(scene):.10f}\n")


def check_submission(path: Path) -> None:
    """Refuse an archive that the server would refuse, by what is in it."""
    with (
        TemporaryDirectory() as scratch,
        open_file(path) as file,
        decoding(path, "a zip archive", advice=None),
        zipfile.ZipFile(file) as archive,
    ):
        entries = {entry.filename: entry for entry in archive.infolist() if not entry.is_dir()}
        expected = [name for scene in SCENES for name in (f"{DISPARITIES}/{scene}.pfm", f"{RUNTIMES}/{scene}.txt")]
        missing = [name for name in expected if name not in entries]
        if missing:
            raise FreqLFError(f"{path} lacks {', '.join(missing)}; both folders must be at its top")
        for name in expected:
            if entries[name].file_size > _LARGEST_BYTES:
                raise FreqLFError(f"{path}: {name} is {entries[name].file_size} bytes, too large for what it is")
            content = archive.read(name)
            if name.endswith(".txt"):
                parse_measure(content.split(b"\n", 1)[0][:100], f"{path}: {name}", "seconds")
                continue
            unpacked = Path(scratch, Path(name).name)
            unpacked.write_bytes(content)
            _check_map(read_pfm(unpacked), f"{path}: {name}")


def _check_map(pixels: np.ndarray, source: str) -> None:
    if pixels.shape != (SIDE_PX, SIDE_PX):
        raise FreqLFError(f"{source} has the shape {pixels.shape}; the server takes {SIDE_PX} x {SIDE_PX}, one channel")
    wrong = int((~np.isfinite(pixels)).sum())
    if wrong:
        raise FreqLFError(f"{source} has {wrong} pixels that are not numbers; give an estimate everywhere")

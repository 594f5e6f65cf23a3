"""`freqlf data check`: what a folder of scenes holds."""

from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table

from freqlf.cli.terminal import print_table, show_progress
from freqlf.data.check import SceneCheck, check_scene, missing_scenes
from freqlf.data.hci import HOMEPAGE, find_scenes
from freqlf.data.splits import GROUPS
from freqlf.errors import FreqLFError


def run(root: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="ROOT")]) -> None:
    """Say what a benchmark folder holds, scene by scene, what is missing or broken, and how to fix it.

    Every view is decoded, so that damaged files are found. The exit code is 0 if all scenes that are there are
    sound (scenes and ground truth may be absent), and 2 if one is broken or none is found.

    Args:
        root: Folder of the benchmark, or any folder with scenes in its layout.
    """
    scenes = find_scenes(root)
    reports = [check_scene(scene) for scene in show_progress(scenes, "checking")]
    print_table(make_table(reports))
    for report in reports:
        for text in (*report.problems, *report.remarks):
            print(f"{report.name}: {text}")
    missing = missing_scenes({report.name for report in reports})
    for group, names in missing.items():
        print(f"not here, {group}: {', '.join(names) if len(names) < len(GROUPS[group]) else 'all'}")
    if missing:
        print(f"the benchmark's scenes come from the {HOMEPAGE}")
    broken = [report.name for report in reports if report.problems]
    if broken:
        raise FreqLFError(f"{len(broken)} of {len(reports)} scenes under {root} need repair: {', '.join(broken)}")


def make_table(reports: list[SceneCheck]) -> Table:
    """One row per scene."""
    table = Table()
    for heading in ("scene", "folder", "views", "pixels", "ground truth (px)", "mask", "state"):
        table.add_column(heading)
    for report in sorted(reports, key=lambda report: (report.category, report.name)):
        table.add_row(
            report.name,
            report.category,
            f"{report.views} of {report.grid[0]} x {report.grid[1]}" if report.grid else "?",
            f"{report.size_px[0]} x {report.size_px[1]}" if report.size_px else "?",
            "{:.2f} to {:.2f}".format(*report.disparity_range_px) if report.disparity_range_px else "none",
            f"{report.valid_percent:.1f} % valid" if report.valid_percent is not None else "none",
            f"{len(report.problems)} problem(s)" if report.problems else "ok, see below" if report.remarks else "ok",
        )
    return table

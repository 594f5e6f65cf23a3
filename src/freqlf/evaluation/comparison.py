"""The tables of an evaluation: methods side by side, ranked, and beside what is published where that is fair."""

from collections.abc import Mapping, Sequence

import numpy as np

from freqlf.data.splits import GROUPS
from freqlf.evaluation.evaluate import MethodEvaluation, Uncertainty, rank_methods
from freqlf.evaluation.literature import read_protocols, read_reference, read_table
from freqlf.evaluation.metrics import METRICS, Scores
from freqlf.evaluation.spectrum import BANDS, place_bands
from freqlf.evaluation.tables import Row, Table, find_best, format_number

HEADINGS = {
    "mse_100": "MSE x100",
    "badpix_001": "BadPix(0.01) %",
    "badpix_003": "BadPix(0.03) %",
    "badpix_007": "BadPix(0.07) %",
    "q25": "Q25 x100",
}
DIGITS = {metric: 2 if metric.startswith("badpix") else 3 for metric in METRICS}
Column = tuple[str, list[float | None], int]  # heading, a value per scene, digits
_SERVER = "the server's protocol, 15 px border, high resolution where the server has it"
_PUBLISHED_METRICS = ("mse_100", "badpix_003", "badpix_007")


def make_tables(methods: Sequence[MethodEvaluation], border_px: int) -> list[Table]:
    """All tables of an evaluation. The first method is the one that it is about."""
    ours = methods[0]
    native = f"native ground truth, {border_px} px border"
    tables = [table_scores(ours, native)]
    if len(methods) > 1:
        tables += [compare_methods(methods, metric, native) for metric in METRICS]
    if ours.official_mean() is not None:
        tables.append(table_scores(ours, _SERVER, official=True))
    tables.append(table_regions(ours, native))
    if len(methods) > 1:
        tables.append(compare_regions(methods, native))
    tables.append(table_bands(methods))
    if ours.pooled_uncertainty is not None:
        tables.append(table_uncertainty(ours))
    return tables + table_literature(methods, border_px)


def table_scores(method: MethodEvaluation, protocol: str, *, official: bool = False) -> Table:
    """One row per scene, one column per metric, and what a scene took."""
    title, scenes = f"{method.name}: scores by {protocol}", method.scenes
    if official:
        return tabulate_scores(title, {name: one.official for name, one in scenes.items() if one.official is not None})
    took: list[Column] = [
        ("time s", [scene.runtime_s for scene in scenes.values()], 2),
        ("memory MB", [scene.peak_memory_mb for scene in scenes.values()], 0),
    ]
    return tabulate_scores(title, {name: scene.scores for name, scene in scenes.items()}, took)


def tabulate_scores(title: str, scores: Mapping[str, Scores], more: Sequence[Column] = ()) -> Table:
    """One row per scene and their mean; notes say where a map or the truth has pixels that are not numbers."""
    columns: list[Column] = [
        (HEADINGS[metric], [getattr(one, metric) for one in scores.values()], DIGITS[metric]) for metric in METRICS
    ]
    notes = []
    for name, one in scores.items():
        if one.non_finite:
            notes.append(f"{name}: {one.non_finite} of {one.pixels} predicted pixels are not numbers; they are bad.")
        if one.no_ground_truth:
            notes.append(f"{name}: {one.no_ground_truth} pixels have no finite ground truth and are left out.")
    return _list_scenes(title, list(scores), [*columns, *more], tuple(notes))


def compare_methods(methods: Sequence[MethodEvaluation], metric: str, protocol: str) -> Table:
    """One row per method, one column per scene, with the rank and the gap of the mean."""
    rows = {method.name: [method.value(scene, metric) for scene in method.scenes] for method in methods}
    means = [method.mean()[metric] for method in methods]
    return _rank_rows(f"{HEADINGS[metric]} by {protocol}", list(methods[0].scenes), rows, means, DIGITS[metric])


def table_regions(method: MethodEvaluation, protocol: str) -> Table:
    """MSE and BadPix(0.07) within each region, per scene, as in the paper."""
    columns: list[Column] = [
        (
            f"{region} {HEADINGS[metric]}",
            [getattr(scene.regions[region], metric) for scene in method.scenes.values()],
            DIGITS[metric],
        )
        for region, metric in _regional_metrics(method)
    ]
    return _list_scenes(f"{method.name}: scores by region, {protocol}", list(method.scenes), columns, (_REGION_NOTE,))


_REGION_NOTE = (
    "Boundary: the 10 % of scored pixels with the steepest true disparity. Textureless: the 15 % whose intensity "
    "varies least within 7 x 7. These are diagnostics, not labels of the benchmark."
)


def compare_regions(methods: Sequence[MethodEvaluation], protocol: str) -> Table:
    """The means of the regions' scores, one row per method."""
    shown = _regional_metrics(methods[0])
    digits = [DIGITS[metric] for _, metric in shown]
    values = [[method.region_mean(region)[metric] for region, metric in shown] for method in methods]
    cells = tuple((method.name, *map(format_number, row, digits)) for method, row in zip(methods, values, strict=True))
    return Table(
        f"scores by region, mean over scenes, {protocol}",
        ("method", *(f"{region} {HEADINGS[metric]}" for region, metric in shown)),
        cells,
        best=frozenset((row, column + 1) for row, column in find_best(values, digits)),
    )


def _regional_metrics(method: MethodEvaluation) -> list[tuple[str, str]]:
    regions = next(iter(method.scenes.values())).regions
    return [(region, metric) for region in regions for metric in ("mse_100", "badpix_007")]


def table_bands(methods: Sequence[MethodEvaluation]) -> Table:
    """Which part of the squared error lies in which band of frequencies, averaged over the scenes."""
    rows = []
    ends = place_bands()
    for method in methods:
        spectra = [scene.spectrum for scene in method.scenes.values() if scene.spectrum is not None]
        shares = [
            100 * float(np.mean([one.band_shares[band] for one in spectra])) if spectra else None for band in BANDS
        ]
        ends = spectra[0].band_ends if spectra else ends
        rows.append((method.name, *(format_number(share, 1) for share in shares)))
    return Table(
        "where in frequency the squared error lies, percent, mean over scenes",
        ("method", f"low, to {ends['low']:.3f} cycles/px", f"middle, to {ends['middle']:.3f}", "high"),
        tuple(rows),
    )


def table_uncertainty(method: MethodEvaluation) -> Table:
    """The paper's measures of uncertainty, and AUSE: per scene, their mean, and over all pixels together."""
    found = {name: scene.uncertainty for name, scene in method.scenes.items() if scene.uncertainty is not None}
    assert method.pooled_uncertainty is not None
    shown = [*found.values(), method.pooled_uncertainty]
    headings = ["scene", "Spearman", "Pearson", "coverage ECE", "coverage - level", "AUSE"]
    notes = []
    if all(one.calibrated is not None for one in shown):
        headings += ["calibrated Pearson", "calibrated ECE"]
    left_out = any(one.calibrated is not None and one.calibrated.held_out_coverage is not None for one in shown)
    if left_out:
        headings.append("left out ECE")
        notes.append(
            "Left out: of scenes that the calibration was fitted on, the ECE by one fitted without them, "
            "as recorded with the calibration. That is what to expect elsewhere."
        )

    def list_values(one: Uncertainty) -> list[float]:
        scores = one.scores
        values = [scores.spearman, scores.pearson, scores.ece, scores.bias, scores.ause]
        if one.calibrated is not None:
            values += [one.calibrated.pearson, one.calibrated.ece]
            if left_out:
                values.append(np.nan if one.calibrated.held_out_ece is None else one.calibrated.held_out_ece)
        return values

    def make_row(name: str, values: Sequence[float]) -> Row:
        return name, *(format_number(value, 3) for value in values)

    per_scene = {name: list_values(one) for name, one in found.items()}
    mean = np.mean(list(per_scene.values()), axis=0).tolist()
    reference = read_reference("uncertainty")
    return Table(
        f"{method.name}: uncertainty",
        tuple(headings),
        tuple(make_row(name, values) for name, values in per_scene.items()),
        (make_row("mean", mean), make_row("pooled", list_values(method.pooled_uncertainty))),
        notes=(
            *notes,
            f"The paper's {reference['method']} on the stratified scenes: Spearman {reference['pooled']['spearman']}, "
            f"Pearson {reference['pooled']['pearson']} (pooled), coverage ECE {reference['mean']['ece']} (mean).",
        ),
    )


def table_literature(methods: Sequence[MethodEvaluation], border_px: int) -> list[Table]:
    """What is published for the scenes that were evaluated; nothing if it is for others."""
    scenes = methods[0].scenes
    if set(GROUPS["stratified"]) <= set(scenes):
        return [_table_stratified(methods, metric, border_px) for metric in _PUBLISHED_METRICS]
    if set(GROUPS["additional"]) <= set(scenes):
        return [_table_additional(methods, border_px)]
    return []


def _table_stratified(methods: Sequence[MethodEvaluation], metric: str, border_px: int) -> Table:
    """Published scores; ours join them only if they are computed as the server does."""
    scenes = list(GROUPS["stratified"])
    protocols = read_protocols()
    published = {one.name: one for one in read_table("stratified")}
    rows: dict[str, list[float | None]] = {
        name: [one.scores[metric][scene] for scene in scenes] for name, one in published.items()
    }
    joined = []
    for method in methods:
        values = [method.value(scene, metric, official=True) for scene in scenes]
        if None not in values:
            joined.append(f"{method.name} (here)")
            rows[joined[-1]] = values
    notes = [
        f"Published: {protocols['server']}. FreqLF and FreqLF+ are as their paper prints them, which says: "
        f"{protocols['paper'].split(': ', 1)[1]}.",
    ]
    if joined:
        notes.append(f"{', '.join(joined)}: computed here by the server's protocol.")
    if len(joined) < len(methods):
        notes.append(
            f"The scores above on native ground truth with a {border_px} px border are of another protocol and do not "
            "compare with these; put gt_disp_highres.pfm beside the ground truth of backgammon, dots and stripes to "
            "have them computed as the server does."
        )
    means = [float(np.mean([value for value in values if value is not None])) for values in rows.values()]
    return _rank_rows(f"{HEADINGS[metric]}, published", scenes, rows, means, DIGITS[metric], tuple(notes))


def _table_additional(methods: Sequence[MethodEvaluation], border_px: int) -> Table:
    """Our scores beside the paper's, scene by scene, in columns of their own."""
    scenes = list(GROUPS["additional"])
    (published,) = read_table("additional")
    metrics = ("mse_100", "badpix_007")
    columns: list[Column] = [
        (f"{published.name}, published, {HEADINGS[metric]}", list(published.scores[metric].values()), DIGITS[metric])
        for metric in metrics
    ]
    columns += [
        (f"{method.name} {HEADINGS[metric]}", [method.value(scene, metric) for scene in scenes], DIGITS[metric])
        for method in methods
        for metric in metrics
    ]
    notes = (
        f"Published: {read_protocols()['paper']}. Here: native ground truth, {border_px} px border.",
        "Methods that were trained on these scenes have seen the answers.",
    )
    return _list_scenes("additional scenes, beside what is published", scenes, columns, notes)


def _list_scenes(title: str, scenes: Sequence[str], columns: Sequence[Column], notes: tuple[str, ...] = ()) -> Table:
    """One row per scene, and the mean. Columns that are empty altogether are left out."""
    columns = [column for column in columns if any(value is not None for value in column[1])]
    rows = tuple(
        (scene, *(format_number(values[number], digits) for _, values, digits in columns))
        for number, scene in enumerate(scenes)
    )
    known = [([value for value in values if value is not None], digits) for _, values, digits in columns]
    means = (
        format_number(float(np.mean(values)) if len(values) == len(scenes) else None, digits)
        for values, digits in known
    )
    return Table(title, ("scene", *(heading for heading, _, _ in columns)), rows, (("mean", *means),), notes=notes)


def _rank_rows(
    title: str,
    scenes: Sequence[str],
    rows: dict[str, list[float | None]],
    means: Sequence[float],
    digits: int,
    notes: tuple[str, ...] = (),
) -> Table:
    """Methods from best to worst mean, with rank and gap."""
    ranked = sorted(zip(rows, means, rank_methods(means), strict=True), key=lambda row: row[2][0])
    values = [[*rows[name], mean] for name, mean, _ in ranked]
    cells = tuple(
        (name, *(format_number(value, digits) for value in [*rows[name], mean]), str(rank), f"{gap:.1f} %")
        for name, mean, (rank, gap) in ranked
    )
    best = {(row, column + 1) for row, column in find_best(values, [digits] * (len(scenes) + 1))}
    return Table(title, ("method", *scenes, "mean", "rank", "gap"), cells, best=frozenset(best), notes=notes)

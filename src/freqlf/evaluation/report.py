"""An evaluation as one HTML page: what `freqlf evaluate` left in a folder, in the order in which people ask.

Everything is in the page itself, pictures included; it needs no network and no other file.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from freqlf.errors import FreqLFError
from freqlf.evaluation.comparison import DIGITS, HEADINGS
from freqlf.evaluation.evaluate import rank_methods
from freqlf.evaluation.tables import Table, format_number
from freqlf.io.intake import read_bytes, read_json
from freqlf.io.schema import convert
from freqlf.weights.calibration import Calibration, calibration_error, parse_calibration

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class Topic:
    """A section of the page.

    Attributes:
        tables: how the titles of its tables begin, without the method's name.
        figures: how the names of its figures' files begin.
    """

    anchor: str
    heading: str
    introduction: str
    tables: tuple[str, ...]
    figures: tuple[str, ...]


# A table belongs to the last topic that claims it; scores claim all.
TOPICS = (
    Topic("estimates", "Estimates", "", (), ("qualitative",)),
    Topic("scores", "Scores", "Lower is better everywhere; the best of a column is emphasised.", ("",), ()),
    Topic(
        "regions",
        "Where in the picture",
        "At depth edges and in areas without texture estimates fail for different reasons, so they are scored apart.",
        ("scores by region",),
        ("masks",),
    ),
    Topic(
        "frequency",
        "Where in frequency",
        "The Fourier magnitude of the absolute error: low frequencies are surfaces at a wrong depth, high ones are "
        "edges and noise.",
        ("where in frequency",),
        ("profiles", "spectrum"),
    ),
    Topic(
        "uncertainty",
        "Uncertainty",
        "Whether the predicted variance knows where the errors are, and whether intervals hold what they say.",
        ("uncertainty",),
        ("coverage", "sparsification"),
    ),
    Topic(
        "literature",
        "What is published",
        "As printed by its authors. Scores of different protocols do not compare.",
        (*(f"{heading}, published" for heading in HEADINGS.values()), "additional scenes"),
        (),
    ),
)

# What the figures of an evaluation show, by the beginning of their files' names.
CAPTIONS = {
    "qualitative": "Central view, ground truth, estimate, absolute error and, where predicted, deviation.",
    "masks": "The pixels that count as boundary and as textureless.",
    "profiles": "Mean magnitude of the error on rings of equal frequency.",
    "spectrum": "Fourier magnitude of the absolute error; the centre is the lowest frequency.",
    "coverage": "The share of pixels inside intervals of a level; on the diagonal, intervals hold what they say. "
    "Scenes that a calibration was fitted on are shown by one that does not know them.",
    "sparsification": "The error that is left when the most uncertain pixels are removed, against the best order.",
}
# Whichever is the most honest that all scenes have.
_ECE_REMARKS = {
    "held_out_ece": "mean, calibrated without the scene",
    "calibrated_ece": "mean, calibrated",
    "ece": "mean, as predicted",
}
_WIDE_PX = 1000  # figures drawn for a paper's column have fewer pixels, those for its page more


class _Uncertainty(TypedDict, total=False):
    spearman: float | None
    ece: float | None
    calibrated_ece: float | None
    held_out_ece: float | None


class _Scene(TypedDict):
    uncertainty: _Uncertainty | None
    runtime_s: float | None


class _Method(TypedDict):
    scenes: dict[str, _Scene]
    mean: dict[str, float | None]
    pooled_uncertainty: _Uncertainty | None


class EvaluationRecord(TypedDict):
    """What is read of evaluation.json; there is more in it."""

    provenance: dict[str, Any]
    protocols: dict[str, dict[str, Any]]
    calibration: dict[str, Any] | None
    methods: dict[str, _Method]
    tables: list[Table]


@dataclass(frozen=True)
class EvaluationFolder:
    """What a folder of `freqlf evaluate` holds, read and checked.

    Attributes:
        content: of evaluation.json.
        calibration: of the method's intervals, if it has one.
        figures: PNG files by the name of the file without its ending.
        scores_csv: all scores, or None if that file is not there.
    """

    content: dict[str, Any]
    tables: tuple[Table, ...]
    calibration: Calibration | None
    figures: dict[str, bytes]
    scores_csv: bytes | None

    @property
    def name(self) -> str:
        """The method that the evaluation is about."""
        return str(next(iter(self.content["methods"])))

    @property
    def method(self) -> dict[str, Any]:
        """Its numbers."""
        return dict(self.content["methods"][self.name])


def read_evaluation(directory: Path) -> EvaluationFolder:
    """Read the folder; anything that is not as `freqlf evaluate` writes it is an error."""
    path, scores = directory / "evaluation.json", directory / "scores.csv"
    if not path.exists():
        raise FreqLFError(f"{directory} holds no evaluation.json; give a folder that `freqlf evaluate` made")
    figures = {file.stem: read_bytes(file) for file in sorted(directory.glob("figures/*.png"))}
    for name, image in figures.items():
        if not image.startswith(_PNG_SIGNATURE):
            raise FreqLFError(f"{directory / 'figures' / name}.png is not a PNG file; evaluate again with --overwrite")
    content = convert(read_json(path), EvaluationRecord, str(path))
    if not content["methods"] or not all(method["scenes"] for method in content["methods"].values()):
        raise FreqLFError(f"{path} evaluates no method on any scene; evaluate again")
    scores_csv = read_bytes(scores) if scores.exists() else None
    calibration = content["calibration"]
    if calibration is not None:
        calibration = parse_calibration(calibration, f"the calibration in {path}")
    return EvaluationFolder(content, tuple(content["tables"]), calibration, figures, scores_csv)


def write_page(evaluation: EvaluationFolder) -> str:
    """The whole page."""
    tables = _group_tables(evaluation)
    figures = _group_figures(evaluation)
    sections = {
        topic: _section(
            topic.anchor,
            topic.heading,
            topic.introduction,
            *(table_to_html(table, evaluation.name) for table in tables[topic]),
            figures_to_html(figures[topic]),
        )
        for topic in TOPICS
        if tables[topic] or figures[topic]
    }
    claimed = {name for group in figures.values() for name in group}
    further = {name: image for name, image in evaluation.figures.items() if name not in claimed}
    links = [(topic.anchor, topic.heading) for topic in sections]
    body = [*sections.values()]
    if further:
        links.append(("figures", "Further figures"))
        body.append(_section("figures", "Further figures", "", figures_to_html(further)))
    links.append(("protocol", "Protocol and provenance"))
    body.append(_describe_origin(evaluation))
    navigation = "".join(f'<a href="#{anchor}">{escape(heading)}</a>' for anchor, heading in links)
    title = f"Evaluation of {evaluation.name}"
    style = files("freqlf.evaluation").joinpath("report.css").read_text(encoding="utf-8")
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{style}</style>",
            "</head>",
            "<body>",
            "<header>",
            f"<h1>{escape(title)}</h1>",
            f'<p class="lead">{escape(_summarise(evaluation))}</p>',
            cards_to_html(list_highlights(evaluation)),
            f"<nav>{navigation}</nav>",
            "</header>",
            "<main>",
            *body,
            "</main>",
            f"<footer>{escape(_sign(evaluation))}</footer>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _summarise(evaluation: EvaluationFolder) -> str:
    scenes = list(evaluation.method["scenes"])
    others = len(evaluation.content["methods"]) - 1
    beside = f", beside {others} other method{'s' if others > 1 else ''}" if others else ""
    border_px = evaluation.content["protocols"].get("native", {}).get("border_px")
    border = "" if border_px is None else f" Native ground truth, {border_px} px border."
    count = f"{len(scenes)} scene{'s' if len(scenes) > 1 else ''}"
    return f"On {count} ({', '.join(scenes)}){beside}.{border}"


def _sign(evaluation: EvaluationFolder) -> str:
    run = evaluation.content["provenance"]
    return f"Made with freqlf {run.get('freqlf_version', '?')} from an evaluation of {run.get('created_utc', '?')}."


def list_highlights(evaluation: EvaluationFolder) -> list[tuple[str, str, str]]:
    """The few numbers to see first: (name, value, remark)."""
    method = evaluation.method
    means = {name: one["mean"] for name, one in evaluation.content["methods"].items()}
    highlights = []
    for metric in ("mse_100", "badpix_007", "q25"):
        value = method["mean"].get(metric)
        known = {name: mean[metric] for name, mean in means.items() if mean.get(metric) is not None}
        remark = "mean"
        if len(known) > 1 and evaluation.name in known:
            rank, _ = rank_methods(list(known.values()))[list(known).index(evaluation.name)]
            remark += f", rank {rank} of {len(known)}"
        highlights.append((HEADINGS[metric], format_number(value, DIGITS[metric]), remark))
    pooled = method.get("pooled_uncertainty")
    if pooled:
        highlights.append(("Spearman", format_number(pooled.get("spearman"), 3), "error and variance, all pixels"))
        for key, remark in _ECE_REMARKS.items():
            values: list[Any] = [(scene["uncertainty"] or {}).get(key) for scene in method["scenes"].values()]
            if None not in values:
                highlights.append(("coverage ECE", format_number(sum(values) / len(values), 3), remark))
                break
    seconds = [scene.get("runtime_s") for scene in method["scenes"].values()]
    if None not in seconds:
        highlights.append(("time", f"{sum(seconds) / len(seconds):.2f} s", "mean per light field"))
    return highlights


def _group_tables(evaluation: EvaluationFolder) -> dict[Topic, list[Table]]:
    groups: dict[Topic, list[Table]] = {topic: [] for topic in TOPICS}
    for table in evaluation.tables:
        subject = table.title.removeprefix(f"{evaluation.name}: ")
        groups[[topic for topic in TOPICS if subject.startswith(topic.tables)][-1]].append(table)
    return groups


def _group_figures(evaluation: EvaluationFolder) -> dict[Topic, dict[str, bytes]]:
    return {
        topic: {
            name: image
            for beginning in topic.figures
            for name, image in evaluation.figures.items()
            if name.startswith(beginning)
        }
        for topic in TOPICS
    }


def table_to_html(table: Table, ours: str) -> str:
    """With its title above and its notes below; rows that the method `ours` heads are marked."""

    def line(cells: Sequence[str], y: int | None = None) -> str:
        marked = ' class="ours"' if cells[0] in (ours, f"{ours} (here)") else ""
        rest = "".join(
            f'<td class="best">{escape(cell)}</td>' if (y, x) in table.best else f"<td>{escape(cell)}</td>"
            for x, cell in enumerate(cells[1:], start=1)
        )
        return f'<tr{marked}><th scope="row">{escape(cells[0])}</th>{rest}</tr>'

    headings = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in table.headings)
    rows = "\n".join(line(row, y) for y, row in enumerate(table.rows))
    summary = "\n".join(map(line, table.summary))
    parts = [
        f"<h3>{escape(table.title if table.title.startswith(ours) else capitalise(table.title))}</h3>",
        f'<div class="scroll"><table><thead><tr>{headings}</tr></thead>',
        f"<tbody>\n{rows}\n</tbody>",
        f"<tfoot>\n{summary}\n</tfoot>" if table.summary else "",
        "</table></div>",
        *(f'<p class="note">{escape(note)}</p>' for note in table.notes),
    ]
    return "\n".join(filter(None, parts))


def capitalise(title: str) -> str:
    """With a capital at its beginning; the rest stays."""
    return title[:1].upper() + title[1:]


def figures_to_html(figures: Mapping[str, bytes]) -> str:
    """Pictures with captions, two in a row unless they are drawn wide."""
    if not figures:
        return ""
    return "\n".join(['<div class="figures">', *(_figure(name, image) for name, image in figures.items()), "</div>"])


def _figure(name: str, image: bytes) -> str:
    kind = next((kind for kind in CAPTIONS if name.startswith(kind)), None)
    caption = name if kind is None else CAPTIONS[kind]
    if kind == "spectrum":
        caption = f"{name.removeprefix('spectrum_')}: {caption}"
    width_px = int.from_bytes(image[16:20])  # a PNG file begins with its size
    size = ' class="wide"' if width_px >= _WIDE_PX else ""
    return (
        f'<figure{size}><img alt="{escape(caption)}" src="{_embed(image, "image/png")}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def _embed(content: bytes, media_type: str) -> str:
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"


def cards_to_html(highlights: Iterable[tuple[str, str, str]]) -> str:
    """Numbers in large print."""
    cards = (
        f'<div class="card"><span>{escape(name)}</span><b>{escape(value)}</b><span>{escape(remark)}</span></div>'
        for name, value, remark in highlights
    )
    return f'<div class="cards">{"".join(cards)}</div>'


def _describe_origin(evaluation: EvaluationFolder) -> str:
    content = evaluation.content
    parts = [
        f"<h3>Protocol: {escape(name)}</h3>\n{facts_to_html(facts)}" for name, facts in content["protocols"].items()
    ]
    if evaluation.calibration is not None:
        parts.append(f"<h3>Calibration</h3>\n{facts_to_html(_summarise_calibration(evaluation.calibration))}")
    parts.append(f"<h3>Provenance</h3>\n{facts_to_html(content['provenance'])}")
    if evaluation.scores_csv is not None:
        link = _embed(evaluation.scores_csv, "text/csv")
        parts.append(
            f'<p class="download"><a download="scores.csv" href="{link}">All scores with all digits (CSV)</a></p>'
        )
    return _section("protocol", "Protocol and provenance", "", *parts)


def _summarise_calibration(calibration: Calibration) -> dict[str, Any]:
    """Without its table of numbers, which is in the evaluation's JSON."""
    return {
        "fitted on": calibration.scenes,
        "coverage ECE of each, left out": {
            scene: calibration_error(np.array(covered)) for scene, covered in calibration.held_out_coverage.items()
        },
        "their mean": calibration.held_out_ece,
    }


def facts_to_html(facts: Mapping[str, Any]) -> str:
    """Names and values; lists and dictionaries in a line each."""
    rows = (
        f'<tr><th scope="row">{escape(str(name).replace("_", " "))}</th><td>{escape(_describe_value(value))}</td></tr>'
        for name, value in facts.items()
    )
    return f'<div class="scroll"><table class="facts"><tbody>\n{chr(10).join(rows)}\n</tbody></table></div>'


def _describe_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_describe_value(one)}" for name, one in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_describe_value, value))
    if isinstance(value, float):
        return f"{value:.6g}"
    return "-" if value is None else str(value)


def _section(anchor: str, heading: str, introduction: str, *parts: str) -> str:
    opening = f'<section id="{anchor}">\n<h2>{escape(heading)}</h2>'
    paragraph = f"<p>{escape(introduction)}</p>" if introduction else ""
    return "\n".join(filter(None, [opening, paragraph, *parts, "</section>"]))

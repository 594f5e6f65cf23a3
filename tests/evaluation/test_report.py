import base64
import json
from dataclasses import asdict
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from freqlf.errors import FreqLFError
from freqlf.evaluation.report import read_evaluation, write_page
from freqlf.evaluation.tables import Table
from freqlf.io.image import write_image
from freqlf.weights.calibration import LEVELS, Calibration, describe_calibration

VOID = {"meta", "img"}
CALIBRATION = Calibration(needed=((1.5,),), held_out_coverage={"x": LEVELS, "y": LEVELS})
METHOD = "<b>mine</b> & co"  # a name that must not become markup
TABLES = (
    Table(f"{METHOD}: scores by native ground truth", ("scene", "MSE x100"), (("a", "1.000"),), (("mean", "1.000"),)),
    Table("MSE x100 by native", ("method", "a"), (("SPO", "0.5"), (METHOD, "1.0")), best=frozenset({(0, 1)})),
    Table(f"{METHOD}: scores by region, native", ("scene", "boundary"), (("a", "2.000"),), notes=("5 < 7",)),
    Table("where in frequency the squared error lies", ("method", "low"), ((METHOD, "10.0"),)),
    Table(f"{METHOD}: uncertainty", ("scene", "ECE"), (("a", "0.100"),)),
    Table("MSE x100, published", ("method", "a"), (("LFAttNet", "3.648"),)),
)


class Page(HTMLParser):
    """What a browser would find: references, pictures, and the tables of each section; tags must match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.references: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.tables: dict[str, list[list[list[str]]]] = {}
        self.cells: list[str] = []
        self.section = ""
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.references += [found[key] for key in ("src", "href", "srcset", "action", "data") if found.get(key)]
        assert tag not in ("script", "link", "iframe", "object", "base")
        if tag == "img":
            self.images.append(found)
        if tag == "section":
            self.section = found["id"]
            self.tables[self.section] = []
        if tag == "table":
            self.tables[self.section].append([])
        if tag == "tr":
            self.tables[self.section][-1].append([])
        if tag in ("td", "th"):
            self.tables[self.section][-1][-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[self.section][-1][-1][-1] += data


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What `freqlf evaluate` leaves, by hand: of two methods on one scene."""
    scene = {"runtime_s": 2.0, "uncertainty": {"ece": 0.4, "calibrated_ece": 0.04}}
    pooled = {"spearman": 0.5}
    mean = {"mse_100": 1.0, "badpix_007": 10.0, "q25": None}
    content = {
        "provenance": {"freqlf_version": "1.2.3", "created_utc": "today", "maps": {METHOD: "here"}},
        "protocols": {"native": {"border_px": 11, "mse": "times 100"}},
        "calibration": describe_calibration(CALIBRATION),
        "methods": {
            METHOD: {"scenes": {"a": scene}, "mean": mean, "pooled_uncertainty": pooled},
            "SPO": {"scenes": {"a": scene}, "mean": mean | {"mse_100": 0.5}, "pooled_uncertainty": None},
        },
        "tables": [asdict(table) | {"best": sorted(table.best)} for table in TABLES],
    }
    (tmp_path / "evaluation.json").write_text(json.dumps(content))
    (tmp_path / "scores.csv").write_text("method,scene\n")
    for name, width in (("qualitative", 1200), ("masks", 20), ("spectrum_a", 20), ("coverage", 20), ("mystery", 20)):
        write_image(tmp_path / "figures" / f"{name}.png", np.zeros((4, width, 3), np.uint8))
    return tmp_path


def test_nothing_is_outside_the_page(folder) -> None:
    page = Page(write_page(read_evaluation(folder)))
    assert len(page.references) > 10
    for reference in page.references:
        assert reference.startswith(("data:image/png;base64,", "data:text/csv;base64,", "#"))
    text = write_page(read_evaluation(folder))
    assert "://" not in text
    assert "@import" not in text
    assert "url(" not in text


def test_every_link_within_the_page_leads_somewhere(folder) -> None:
    page = Page(write_page(read_evaluation(folder)))
    anchors = {reference[1:] for reference in page.references if reference.startswith("#")}
    assert anchors == set(page.tables)


def test_every_figure_is_embedded_once_with_words_for_it(folder) -> None:
    images = Page(write_page(read_evaluation(folder))).images
    embedded = [base64.b64decode(image["src"].split(",")[1]) for image in images]
    assert sorted(embedded) == sorted(path.read_bytes() for path in (folder / "figures").iterdir())
    assert all(image["alt"] for image in images)


def test_every_table_is_in_its_section_cell_by_cell(folder) -> None:
    page = Page(write_page(read_evaluation(folder)))
    expected = {
        "estimates": [],
        "scores": TABLES[:2],
        "regions": TABLES[2:3],
        "frequency": TABLES[3:4],
        "uncertainty": TABLES[4:5],
        "literature": TABLES[5:],
    }
    for section, tables in expected.items():
        cells = [[list(row) for row in (table.headings, *table.rows, *table.summary)] for table in tables]
        assert page.tables[section] == cells
    assert "5 < 7" in page.text


def test_protocol_and_provenance_are_told(folder) -> None:
    native, calibration, provenance = Page(write_page(read_evaluation(folder))).tables["protocol"]
    assert ["border px", "11"] in native
    assert ["fitted on", "x, y"] in calibration
    assert ["coverage ECE of each, left out", "x: 0; y: 0"] in calibration
    assert ["maps", f"{METHOD}: here"] in provenance


def test_the_first_numbers_are_means_ranks_and_calibrated_intervals(folder) -> None:
    text = write_page(read_evaluation(folder))
    assert "<span>MSE x100</span><b>1.000</b><span>mean, rank 2 of 2</span>" in text
    assert "<span>BadPix(0.07) %</span><b>10.00</b><span>mean, rank 1 of 2</span>" in text
    assert "<span>Q25 x100</span><b>-</b><span>mean</span>" in text
    assert "<b>0.040</b><span>mean, calibrated</span>" in text
    assert "<b>2.00 s</b>" in text


@pytest.mark.parametrize(
    ("known", "card"),
    [
        ({"ece": 0.4}, "<b>0.400</b><span>mean, as predicted</span>"),
        (
            {"ece": 0.4, "calibrated_ece": 0.01, "held_out_ece": 0.03},
            "<b>0.030</b><span>mean, calibrated without the scene</span>",
        ),
    ],
)
def test_the_first_ece_is_the_honest_one(folder, known, card) -> None:
    content = json.loads((folder / "evaluation.json").read_text())
    content["methods"][METHOD]["scenes"]["a"]["uncertainty"] = known
    (folder / "evaluation.json").write_text(json.dumps(content))
    assert card in write_page(read_evaluation(folder))


def test_names_are_not_markup(folder) -> None:
    text = write_page(read_evaluation(folder))
    assert METHOD not in text
    assert f"Evaluation of {METHOD}" in Page(text).text


def test_the_best_and_ours_are_marked(folder) -> None:
    text = write_page(read_evaluation(folder))
    assert '<td class="best">0.5</td>' in text
    assert text.count('<tr class="ours">') == 2


def remove_the_json(folder: Path) -> None:
    (folder / "evaluation.json").unlink()


def cut_the_json(folder: Path) -> None:
    (folder / "evaluation.json").write_text('{"tables": [')


def empty_the_json(folder: Path) -> None:
    (folder / "evaluation.json").write_text("[]")


def spoil_a_figure(folder: Path) -> None:
    (folder / "figures" / "masks.png").write_text("<svg>")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (remove_the_json, "holds no evaluation.json"),
        (cut_the_json, "evaluation.json is not JSON"),
        (empty_the_json, "evaluation.json must be an object"),
        (spoil_a_figure, "masks.png is not a PNG file"),
    ],
)
def test_what_is_no_evaluation_is_refused(folder, damage, message) -> None:
    damage(folder)
    with pytest.raises(FreqLFError, match=message) as caught:
        read_evaluation(folder)
    assert "\n" not in str(caught.value)

import pytest

from freqlf.evaluation.tables import to_markdown
from freqlf.studies.runs import RunResult
from freqlf.studies.summary import Spread, Summary, draw_study, tabulate


def make_result(variant: str, seed: int, mse: float, minutes: float | None = 2.0) -> RunResult:
    """Scores of two scenes, `mse` on average; the tempered mean has half of it."""
    scores = {
        estimate: {
            scene: {"mse_100": factor * (mse + offset), "badpix_007": 10 * factor * (mse + offset)}
            for scene, offset in (("one", -0.5), ("two", 0.5), ("all", 0.0))
        }
        for estimate, factor in (("mean", 1.0), ("tempered_mean", 0.5))
    }
    return RunResult(variant, seed, 100, 1234, minutes, scores)


@pytest.fixture
def summary():
    full = [make_result("full", 0, 1.0), make_result("full", 1, 2.0, minutes=None)]
    return Summary([*full, make_result("no local", 0, 4.0), make_result("no local", 1, 7.0)])


def test_mean_deviation_and_difference_of_equal_seeds():
    spread = Spread({0: 4.0, 1: 7.0, 2: 100.0})
    difference = spread.minus(Spread({1: 2.0, 0: 1.0}))
    assert difference.by_seed == {0: 3.0, 1: 5.0}
    assert difference.mean == 4.0
    assert difference.deviation == pytest.approx(2**0.5)
    assert difference.format(2) == "4.00 ± 1.41"
    assert Spread({3: 0.5}).deviation is None
    assert Spread({3: 0.5}).format(3) == "0.500"


def test_a_table_against_the_baseline(summary):
    table, tempered = tabulate(summary, "full")
    assert table.headings[:5] == ("variant", "MSE x100", "delta", "BadPix(0.07) %", "delta")
    assert table.rows[0] == ("full", "1.500 ± 0.707", "-", "15.00 ± 7.07", "-", "1,234", "100", "2.0")
    assert table.rows[1][:5] == ("no local", "5.500 ± 2.121", "+4.000", "55.00 ± 21.21", "+40.00")
    assert table.best == {(0, 1), (0, 3)}
    assert tempered.rows[1][2] == "+2.000"
    assert "over 2 seeds" in to_markdown(table)


def test_tables_by_scene(summary):
    table, badpix, *_ = tabulate(summary, None)
    assert table.headings[:4] == ("variant", "one", "two", "mean")
    assert table.rows[0][:4] == ("full", "1.000 ± 0.707", "2.000 ± 0.707", "1.500 ± 0.707")
    assert badpix.rows[1][3] == "55.00 ± 21.21"
    assert table.best == {(0, 1), (0, 2), (0, 3)}


def test_json_has_every_seed(summary):
    values = summary.values("full")
    assert values["no local"]["mean"]["mse_100"]["one"]["by_seed"] == {0: 3.5, 1: 6.5}
    assert values["no local"]["mean"]["mse_100"]["delta"]["by_seed"] == {0: 3.0, 1: 5.0}
    assert "delta" not in values["full"]["mean"]["mse_100"]


def test_an_unfinished_study_says_so(summary):
    partial = Summary(summary.results[:3])
    table, _ = tabulate(partial, "full")
    assert table.rows[1][1:3] == ("4.000", "+3.000")
    assert "1 to 2 seeds, unfinished" in table.notes[0]
    assert "One seed" in tabulate(Summary(summary.results[:1]), "full")[0].notes[0]


def test_a_score_that_is_not_a_number_stays_one(summary):
    bad = make_result("full", 0, 1.0)
    bad.scores["mean"]["all"]["mse_100"] = None  # what JSON has for NaN and infinity
    assert tabulate(Summary([bad]), "full")[0].rows[0][1] == "-"


def test_the_figure_shows_all_runs(summary):
    figure = draw_study(summary, "title")
    mse, badpix = figure.axes
    assert [label.get_text() for label in mse.get_yticklabels()] == ["full", "no local"]
    assert [bar.get_width() for bar in mse.patches] == [1.5, 5.5, 0.75, 2.75]
    assert sorted(x for line in badpix.lines for x in line.get_xdata()) == [5, 10, 10, 20, 20, 35, 40, 70]

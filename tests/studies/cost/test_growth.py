import pytest

from freqlf.studies.cost.growth import Growth, fit_exponent, group_by_model, read_published
from freqlf.studies.cost.measurement import Cost
from freqlf.studies.cost.tables import tabulate_growth


def test_exponents_of_known_powers() -> None:
    sizes_px = [256, 512, 1024]
    assert fit_exponent(sizes_px, [3 * size**2 for size in sizes_px]) == pytest.approx(1)
    assert fit_exponent(sizes_px, [size**3 for size in sizes_px]) == pytest.approx(1.5)
    assert fit_exponent(sizes_px, [7.0] * 3) == pytest.approx(0, abs=1e-9)


def test_no_exponent_without_a_line() -> None:
    assert fit_exponent([256], [1.0]) is None
    assert fit_exponent([256, 512], [0.0, 1.0]) is None


def test_costs_are_grouped_by_model_and_way() -> None:
    ways = [("a", 32, False), ("a", 32, True), ("b", 32, False), ("a", 64, False)]
    growths = group_by_model(Cost(*way, (1.0,), 10.0) for way in ways)
    assert {growth.name: list(growth.costs) for growth in growths} == {
        "a, in tiles": [32, 64],
        "a, in one piece": [32],
        "b, in tiles": [32],
    }


def mine(*costs: tuple[int, tuple[float, ...], float]) -> Growth:
    return Growth("mine", {size_px: Cost("mine", size_px, False, seconds, peak) for size_px, seconds, peak in costs})


def test_tables_hold_the_papers_numbers_below_a_line() -> None:
    time, memory = tabulate_growth([mine((256, (1.0, 3.0), 10.0), (512, (8.0, 8.0), 80.0))], "an abacus")
    assert time.title.endswith("mean of 2")
    assert time.headings == ("model", "256 x 256", "512 x 512", "exponent")
    assert time.rows == (("mine", "2.000 ± 1.000", "8.000 ± 0.000", "1.00"),)
    assert time.summary[0] == ("FreqLF (paper, A100 GPU)", "0.312", "1.367", "1.06")
    assert memory.rows == (("mine", "10", "80", "1.50"),)
    assert memory.summary[1][:3] == ("FreqLF+ (paper, A100 GPU)", "8,192", "18,432")
    for table in (time, memory):
        assert "an abacus" in table.notes[0]
        assert "untrained" in table.notes[0]
        assert "other hardware" in table.notes[1]


def test_sizes_that_the_paper_has_not_are_left_empty() -> None:
    time, _ = tabulate_growth([mine((300, (1.0,), 10.0))], "an abacus")
    assert time.rows == (("mine", "1.000", "-"),)
    assert [row[1] for row in time.summary] == ["-", "-"]
    assert [list(growth.costs) for growth in read_published()] == [[256, 512, 768, 1024]] * 2

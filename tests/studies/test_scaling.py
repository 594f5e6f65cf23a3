import pytest

from freqlf.lightfield import LightField
from freqlf.studies.benchmark import random_light_field
from freqlf.studies.scaling import Cost, Growth, fit_exponent, make_tables, measure_cost, read_published


def test_exponents_of_known_powers() -> None:
    sizes_px = [256, 512, 1024]
    assert fit_exponent(sizes_px, [3 * size**2 for size in sizes_px]) == pytest.approx(1)
    assert fit_exponent(sizes_px, [size**3 for size in sizes_px]) == pytest.approx(1.5)
    assert fit_exponent(sizes_px, [7.0] * 3) == pytest.approx(0, abs=1e-9)


def test_no_exponent_without_a_line() -> None:
    assert fit_exponent([256], [1.0]) is None
    assert fit_exponent([256, 512], [0.0, 1.0]) is None


def test_there_are_only_the_views_that_a_model_needs() -> None:
    light_field = random_light_field(("horizontal", "vertical"), 32)
    assert isinstance(light_field, LightField)
    views = [(u, v) for u in range(9) for v in range(9) if light_field.has_view(u, v)]
    assert len(views) == 17
    assert light_field.view(4, 0).shape == (32, 32, 3)


def test_every_repeat_is_kept() -> None:
    cost = measure_cost("slope", 40, repeats=2)
    assert len(cost.seconds) == 2
    assert min(cost.seconds) <= cost.mean_s <= max(cost.seconds)
    assert cost.deviation_s == pytest.approx(abs(cost.seconds[0] - cost.seconds[1]) / 2)


def test_tables_hold_the_papers_numbers_below_a_line() -> None:
    ours = Growth("mine", {256: Cost((1.0, 3.0), 10.0), 512: Cost((8.0, 8.0), 80.0)})
    time, memory = make_tables([ours], 2, "an abacus")
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
    time, _ = make_tables([Growth("mine", {300: Cost((1.0,), 10.0)})], 1, "an abacus")
    assert time.rows == (("mine", "1.000", "-"),)
    assert [row[1] for row in time.summary] == ["-", "-"]
    assert [list(growth.costs) for growth in read_published()] == [[256, 512, 768, 1024]] * 2

from statistics import fmean

import numpy as np
import pytest

from freqlf.data.splits import GROUPS
from freqlf.errors import FreqLFError
from freqlf.evaluation.literature import TABLES, read_protocols, read_reference, read_table

HALF_A_DIGIT = {"mse_100": 0.0005, "badpix_003": 0.005, "badpix_007": 0.005}


@pytest.mark.parametrize("group", TABLES)
def test_averages_are_the_printed_ones(group):
    for method in read_table(group):
        for metric, by_scene in method.scores.items():
            assert tuple(by_scene) == GROUPS[group]
            # The table of the additional scenes prints BadPix with three digits.
            half = 0.0005 if group == "additional" else HALF_A_DIGIT[metric]
            assert abs(fmean(by_scene.values()) - method.printed[metric]) <= half + 1e-9, (method.name, metric)


def test_ranks_and_gaps_are_the_printed_ones():
    methods = read_table("stratified")
    assert len(methods) == 19
    ranked = sorted(methods, key=lambda method: fmean(method.scores["mse_100"].values()))
    best = ranked[0].printed["mse_100"]
    for rank, method in enumerate(ranked, start=1):
        assert method.printed["rank"] == rank
        gap_percent = 100 * (method.printed["mse_100"] / best - 1)
        assert gap_percent == pytest.approx(method.printed["gap_percent"], abs=0.051)


def test_some_rows_as_they_stand_in_the_paper():
    methods = {method.name: method for method in read_table("stratified")}
    assert methods["LFAttNet"].scores["mse_100"] == {
        "backgammon": 3.648,
        "dots": 1.425,
        "pyramids": 0.004,
        "stripes": 0.892,
    }
    assert methods["LF_OCC"].scores["badpix_003"]["backgammon"] == 69.62
    assert methods["FreqLF+"].scores["badpix_007"]["stripes"] == 2.05
    assert methods["SPO"].reference == "Zhang et al. 2016"
    assert {name for name, method in methods.items() if method.epi} == {
        "Epinet-fcn-m",
        "SPO",
        "EPI ORM",
        "FreqLF",
        "FreqLF+",
    }
    (additional,) = read_table("additional")
    assert additional.scores["mse_100"]["kitchen"] == 12.596


def test_every_row_names_a_known_protocol():
    protocols = read_protocols()
    for group in TABLES:
        for method in read_table(group):
            own = method.name in ("FreqLF", "FreqLF+")
            assert method.protocol == ("paper" if own else "server")
            assert method.protocol in protocols
    assert "15 px" in protocols["server"]
    assert "11 px" in protocols["paper"]


def test_the_papers_own_diagnostics_have_the_printed_means():
    regions = read_reference("regions")
    for region, printed in regions["printed"].items():
        for metric, mean in printed.items():
            assert np.mean(regions[region][metric]) == pytest.approx(mean, abs=0.00051)
    uncertainty = read_reference("uncertainty")
    assert np.mean(uncertainty["ece"]) == pytest.approx(uncertainty["mean"]["ece"], abs=0.00051)
    scaling = read_reference("scaling")
    assert len(scaling["size_px"]) == len(scaling["FreqLF"]["seconds"]) == len(scaling["FreqLF+"]["peak_mb"])


def test_an_unknown_table_is_an_error():
    with pytest.raises(FreqLFError, match="nothing is published for the scenes 'test'"):
        read_table("test")

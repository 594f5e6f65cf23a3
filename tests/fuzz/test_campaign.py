"""A few hundred damaged files and absurd command lines; `make fuzz` runs thousands."""

from fuzz.campaign import run_campaign


def test_damaged_files_are_refused_in_one_line(tmp_path) -> None:
    summary = run_campaign(300, seed=2026, folder=tmp_path)
    assert summary.failures == []
    assert summary.cases == 300
    assert summary.refused.total() > 100

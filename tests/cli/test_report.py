import json
from html import escape

import numpy as np

from freqlf.cli.main import main
from freqlf.evaluation.results import write_result


def test_an_evaluation_becomes_a_page(make_scene, tmp_path, capsys) -> None:
    make_scene("a")
    write_result(tmp_path / "ours", "a", np.full((32, 40), 0.52), variance_px2=np.full((32, 40), 0.02**2))
    paths = ["--from", str(tmp_path / "ours"), "--data", str(tmp_path / "data"), "--out", str(tmp_path / "out")]
    assert main(["evaluate", *paths, "--split", "a", "--border", "6"]) == 0
    capsys.readouterr()
    assert main(["report", "--from", str(tmp_path / "out"), "--out", str(tmp_path / "page" / "report.html")]) == 0
    assert "report.html" in capsys.readouterr().out
    text = (tmp_path / "page" / "report.html").read_text()
    assert text.count("<img ") == len(list((tmp_path / "out" / "figures").iterdir())) == 6
    for table in json.loads((tmp_path / "out" / "evaluation.json").read_text())["tables"]:
        assert f"<h3>{escape(table['title'])}</h3>".lower() in text.lower()
    # Tables stand with the topic that their titles name.
    sections = {part.split('"')[0]: part for part in text.split('<section id="')[1:]}
    assert list(sections) == ["estimates", "scores", "regions", "frequency", "uncertainty", "protocol"]
    assert all("<table" in part for name, part in sections.items() if name != "estimates")


def test_a_folder_without_an_evaluation_is_one_line(tmp_path, capsys) -> None:
    assert main(["report", "--from", str(tmp_path), "--out", str(tmp_path / "report.html")]) == 2
    error = capsys.readouterr().err
    assert "holds no evaluation.json" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "report.html").exists()

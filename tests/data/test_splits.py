from itertools import combinations

import pytest

from freqlf.data.splits import GROUPS, SPLITS, expand_groups, get_split
from freqlf.errors import FreqLFError


def test_the_benchmark_has_28_scenes_in_four_groups():
    assert {group: len(scenes) for group, scenes in GROUPS.items()} == {
        "stratified": 4,
        "training": 4,
        "additional": 16,
        "test": 4,
    }
    assert len({scene for scenes in GROUPS.values() for scene in scenes}) == 28


@pytest.mark.parametrize("name", SPLITS)
def test_no_scene_serves_two_purposes(name):
    split = get_split(name)
    for one, other in combinations((split.train, split.validate, split.evaluate), 2):
        assert not set(one) & set(other)


def test_the_two_readings_of_training_data():
    assert set(get_split("paper").train) == {"boxes", "cotton", "dino", "sideboard"}
    assert get_split("literature").train == GROUPS["additional"]
    assert get_split("literature").validate == GROUPS["training"]
    assert get_split("paper").evaluate == GROUPS["stratified"]
    with pytest.raises(FreqLFError, match="choose one of paper, literature"):
        get_split("mine")


def test_groups_stand_for_their_scenes():
    assert expand_groups(["dino", "training", "mine"]) == ["dino", "boxes", "cotton", "sideboard", "mine"]


@pytest.mark.hci
def test_names_agree_with_the_benchmarks_folders(hci_root):
    for group in ("training", "additional"):
        assert sorted(GROUPS[group]) == sorted(path.name for path in (hci_root / group).iterdir() if path.is_dir())

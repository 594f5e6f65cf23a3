import pytest

from freqlf.data.splits import GROUPS, expand_groups


def test_the_benchmark_has_28_scenes_in_four_groups():
    assert {group: len(scenes) for group, scenes in GROUPS.items()} == {
        "stratified": 4,
        "training": 4,
        "additional": 16,
        "test": 4,
    }
    assert len({scene for scenes in GROUPS.values() for scene in scenes}) == 28


def test_groups_stand_for_their_scenes():
    assert expand_groups(["dino", "training", "mine"]) == ["dino", "boxes", "cotton", "sideboard", "mine"]


@pytest.mark.hci
def test_names_agree_with_the_benchmarks_folders(hci_root):
    for group in ("training", "additional"):
        assert sorted(GROUPS[group]) == sorted(path.name for path in (hci_root / group).iterdir() if path.is_dir())

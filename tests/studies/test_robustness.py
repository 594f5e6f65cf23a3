import numpy as np
import pytest

from freqlf.errors import FreqLFError
from freqlf.lightfield import LightField
from freqlf.studies.robustness import KINDS, Degradation, list_degradations


@pytest.fixture
def light_field() -> LightField:
    rng = np.random.default_rng(0)
    return LightField.from_array(rng.uniform(0.3, 0.7, (9, 9, 24, 30, 3)).astype(np.float32))


@pytest.mark.parametrize("kind", ["noise", "misalignment", "exposure", "blur"])
def test_views_change_by_the_amount_and_always_alike(light_field, kind) -> None:
    little, much = (
        Degradation(kind, amount).apply(light_field) for amount in KINDS[kind].amounts[:: len(KINDS[kind].amounts) - 1]
    )
    again = Degradation(kind, KINDS[kind].amounts[0]).apply(light_field)
    changes = []
    for degraded in (little, much):
        assert degraded.view(4, 0).min() >= 0
        changes.append(np.abs(degraded.view(4, 0) - light_field.view(4, 0)).mean())
    assert 0 < changes[0] < changes[1]
    np.testing.assert_array_equal(again.view(2, 2), little.view(2, 2))
    is_centre_kept = np.array_equal(much.view(4, 4), light_field.view(4, 4))
    assert is_centre_kept == (kind in ("misalignment", "exposure"))


def test_noise_has_the_deviation_that_it_says(light_field) -> None:
    degraded = Degradation("noise", 0.05).apply(light_field)
    assert (degraded.view(4, 2) - light_field.view(4, 2)).std() == pytest.approx(0.05, rel=0.05)


def test_grids_change(light_field) -> None:
    few = Degradation("views", 5).apply(light_field)
    assert (few.rows, few.columns) == (5, 5)
    np.testing.assert_array_equal(few.view(2, 0), light_field.view(4, 2))
    shear = Degradation("shear", 8)
    np.testing.assert_array_equal(shear.apply(light_field).view(4, 5)[:, :-8], light_field.view(4, 5)[:, 8:])
    assert shear.shear_px == 8


def test_kinds_are_named() -> None:
    assert {one.kind for one in list_degradations(["noise", "views"])} == {"noise", "views"}
    with pytest.raises(FreqLFError, match="unknown degradation 'rain': choose some of noise"):
        list_degradations(["rain"])

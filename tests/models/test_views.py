import numpy as np
import pytest
import torch

from freqlf.errors import FreqLFError
from freqlf.lightfield import LightField
from freqlf.models.config import STAR_LINES
from freqlf.models.halflines import HalfLines
from freqlf.models.views import read_half_lines, read_stacks


def test_stacks_hold_the_views_and_missing_ones_are_named(render_plane) -> None:
    array = render_plane(0.3)
    views = {(u, v): array[u, v] for u in range(5) for v in range(5) if (u, v) != (0, 0)}
    field = LightField(5, 5, views)
    stacks = read_stacks(field, ["horizontal", "vertical"])
    assert stacks["vertical"].shape == (1, 5, 3, 32, 40)
    assert np.array_equal(stacks["vertical"][0, 1].numpy(), array[1, 2].transpose(2, 0, 1))
    for read in (read_stacks, read_half_lines):
        with pytest.raises(FreqLFError, match=r"view \(0, 0\) is missing"):
            read(field, STAR_LINES)


@pytest.mark.parametrize("lines", [("horizontal", "vertical"), STAR_LINES, ("diagonal",)])
def test_half_lines_are_packed_like_stacks(render_plane, lines) -> None:
    field = LightField.from_array(render_plane(0.3, rows=5, columns=7))
    direct, packed = read_half_lines(field, lines), HalfLines.from_stacks(read_stacks(field, lines), lines)
    assert torch.equal(direct.views, packed.views)
    assert torch.equal(direct.centre, packed.centre)
    for name in ("offsets", "slices", "directions", "steps", "origin"):
        assert getattr(direct, name) == getattr(packed, name)


def test_views_are_forgotten_on_request_only(render_plane) -> None:
    field = LightField.from_array(render_plane(0.3))
    centre, view = field.centre_view(), field.view(2, 1)
    read_half_lines(field, ["horizontal"])
    assert field.view(2, 1) is view
    read_stacks(field, ["horizontal"], forget=True)
    assert field.view(2, 1) is not view
    assert field.centre_view() is centre


def test_damage_in_one_of_many_views_is_reported(render_plane, tmp_path) -> None:
    array = render_plane(0.3)
    broken = tmp_path / "view.png"
    broken.write_bytes(b"no picture")
    field = LightField(5, 5, {(2, v): array[2, v] if v != 4 else broken for v in range(5)})
    with pytest.raises(FreqLFError, match=r"view\.png is not an image"):
        read_half_lines(field, ["horizontal"])

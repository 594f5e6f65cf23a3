import pytest
import torch

from freqlf.models.evidence import gather_evidence, name_context, name_half_line
from freqlf.models.opinion import normalise_contrast
from freqlf.models.visibility import draw_nearest

# height, width, views, images: odd sizes, one row or column, runs of pixels that end anywhere
SHAPES = [(21, 34, 9, 2), (7, 5, 3, 1), (33, 20, 17, 1), (1, 9, 5, 1), (9, 1, 5, 1), (16, 48, 7, 1)]


def draw_disparities(count: int, height: int, width: int, batch: int) -> torch.Tensor:
    """Mostly inside of the views' frames, some far outside."""
    return 1.5 * torch.randn(batch, count, height, width, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("shape", SHAPES)
def test_costs_are_those_of_the_tensor_code(half_lines_of, reference_of, shape: tuple[int, int, int, int]) -> None:
    height, width, views, batch = shape
    half_lines = half_lines_of(height, width, views, batch)
    disparity_px = draw_disparities(1, height, width, batch)
    expected = reference_of(half_lines).costs(disparity_px.double())
    torch.testing.assert_close(half_lines.costs(disparity_px).double(), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_evidence_is_that_of_the_tensor_code(half_lines_of, reference_of, shape: tuple[int, int, int, int]) -> None:
    height, width, views, batch = shape
    half_lines = half_lines_of(height, width, views, batch)
    hypotheses_px = draw_disparities(3, height, width, batch)
    expected = gather_evidence(reference_of(half_lines), hypotheses_px.double(), (-0.25, 0.1))
    measured = gather_evidence(half_lines, hypotheses_px, (-0.25, 0.1))
    torch.testing.assert_close(measured.half_lines.double(), expected.half_lines, rtol=0, atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES[:3])
def test_steps_of_normalised_views_are_those_of_the_tensor_code(
    half_lines_of, reference_of, shape: tuple[int, int, int, int]
) -> None:
    height, width, views, batch = shape
    half_lines = half_lines_of(height, width, views, batch)
    hypotheses_px = draw_disparities(3, height, width, batch)
    reference = reference_of(half_lines)
    # The views themselves may stand for normalised ones.
    expected = gather_evidence(reference, hypotheses_px.double(), (0.1,), reference, has_steps=True)
    measured = gather_evidence(half_lines, hypotheses_px, (0.1,), half_lines, has_steps=True)
    names = name_half_line(3, (0.1,), has_contrast=True, has_steps=True)
    assert measured.half_lines.shape[2] == len(names)
    torch.testing.assert_close(measured.half_lines.double(), expected.half_lines, rtol=0, atol=1e-5)
    # Without steps everything else is as it was.
    without = gather_evidence(half_lines, hypotheses_px, (0.1,), half_lines)
    assert torch.equal(without.half_lines, measured.half_lines[:, :, : len(names) - 2])


@pytest.mark.parametrize("shape", SHAPES)
def test_evidence_by_contrast_is_that_of_the_tensor_code(
    half_lines_of, reference_of, shape: tuple[int, int, int, int]
) -> None:
    height, width, views, batch = shape
    half_lines = half_lines_of(height, width, views, batch)
    normalised = normalise_contrast(half_lines)
    hypotheses_px = draw_disparities(3, height, width, batch)
    for relative_px in ((), (-0.25, 0.1)):
        double = (reference_of(half_lines), hypotheses_px.double(), relative_px, reference_of(normalised))
        expected = gather_evidence(*double)
        measured = gather_evidence(half_lines, hypotheses_px, relative_px, normalised)
        torch.testing.assert_close(measured.half_lines.double(), expected.half_lines, rtol=0, atol=1e-5)
        torch.testing.assert_close(measured.context.double(), expected.context, rtol=0, atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_seen_views_cost_is_that_of_the_tensor_code(
    half_lines_of, reference_of, shape: tuple[int, int, int, int]
) -> None:
    height, width, views, batch = shape
    half_lines = half_lines_of(height, width, views, batch)
    hypotheses_px = draw_disparities(3, height, width, batch)
    believed_px = draw_disparities(4, height, width, batch)[:, 3:]
    nearest_px = draw_nearest(half_lines, believed_px)
    assert torch.equal(nearest_px.double(), draw_nearest(reference_of(half_lines), believed_px.double()))
    double = (reference_of(half_lines), hypotheses_px.double(), (0.1,), reference_of(half_lines))
    expected = gather_evidence(*double, nearest_px=nearest_px.double())
    # The views themselves may stand for normalised ones.
    measured = gather_evidence(half_lines, hypotheses_px, (0.1,), half_lines, nearest_px=nearest_px)
    assert measured.context.shape[1] == len(name_context(3, has_contrast=True, has_occlusion=True))
    torch.testing.assert_close(measured.context.double(), expected.context, rtol=0, atol=1e-5)
    # Everything else is as it was.
    without = gather_evidence(half_lines, hypotheses_px, (0.1,), half_lines)
    assert torch.equal(without.half_lines, measured.half_lines)
    assert torch.equal(without.context, measured.context[:, : without.context.shape[1]])


def test_a_window_gives_what_the_whole_image_gives_there(half_lines_of) -> None:
    half_lines = half_lines_of(30, 40)
    hypotheses_px = draw_disparities(2, 30, 40, 1)
    whole = gather_evidence(half_lines, hypotheses_px).half_lines
    part = gather_evidence(half_lines.window(5, 9, 18, 23), hypotheses_px[..., 5:23, 9:32]).half_lines
    # Equations are averaged over 3x3 pixels with a gradient each: two pixels inside, they see the same.
    torch.testing.assert_close(part[..., 2:-2, 2:-2], whole[..., 7:21, 11:30], rtol=0, atol=1e-6)


def test_threads_do_not_change_anything(half_lines_of) -> None:
    half_lines, disparity_px = half_lines_of(64, 64), draw_disparities(1, 64, 64, 1)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = half_lines.costs(disparity_px)
        torch.set_num_threads(3)
        assert torch.equal(half_lines.costs(disparity_px), alone)
    finally:
        torch.set_num_threads(threads)


def test_no_disparity_reads_outside_of_the_views(half_lines_of) -> None:
    half_lines = half_lines_of(12, 20, lines=("horizontal", "vertical"))
    wild = torch.tensor([float("nan"), float("inf"), -float("inf"), 1e30]).repeat(1, 1, 12, 5)
    costs = half_lines.costs(wild)
    assert costs.shape == (1, 4, 12, 20)
    assert torch.all((costs >= 0) & (costs <= 1))


def test_views_of_any_memory_layout_do(half_lines_of) -> None:
    half_lines, disparity_px = half_lines_of(12, 20, batch=2), draw_disparities(1, 12, 20, 2)
    expected = half_lines.costs(disparity_px)
    for views in (half_lines.views.contiguous(), half_lines.views.transpose(3, 4).contiguous().transpose(3, 4)):
        half_lines = type(half_lines)(**{**vars(half_lines), "views": views})
        assert torch.equal(half_lines.costs(disparity_px), expected)


def test_lines_can_be_left_out_without_a_copy(half_lines_of, reference_of) -> None:
    half_lines = half_lines_of(12, 20, batch=2).of_lines(["horizontal", "vertical"])
    disparity_px = draw_disparities(1, 12, 20, 2)
    expected = reference_of(half_lines).costs(disparity_px.double())
    torch.testing.assert_close(half_lines.costs(disparity_px).double(), expected, rtol=0, atol=1e-6)

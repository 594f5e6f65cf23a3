import torch

from freqlf.lightfield import LINES
from freqlf.models.evidence import (
    count_hypotheses,
    gather_evidence,
    name_context,
    name_half_line,
    surround,
)
from freqlf.models.halflines import HalfLines
from freqlf.models.opinion import normalise_contrast

INTERIOR = (..., slice(8, -8), slice(8, -8))


def evidence_of(stacks, hypotheses_px, relative_px=()):
    return gather_evidence(HalfLines.from_stacks(stacks, list(LINES)), hypotheses_px, relative_px)


def flat(stacks, *disparities_px: float) -> torch.Tensor:
    B, _, _, H, W = stacks["horizontal"].shape
    return torch.tensor(disparities_px, dtype=torch.float32).view(1, -1, 1, 1).expand(B, -1, H, W).contiguous()


def test_surroundings_hold_the_farthest_and_the_nearest_surface() -> None:
    step = torch.zeros(1, 1, 9, 20)
    step[..., 10:] = 1.0
    hypotheses = surround(step, step + 5, windows_px=(5, 9))
    assert hypotheses.shape[1] == count_hypotheses((5, 9))
    assert hypotheses[0, :, 4, 2].tolist() == [0, 0, 0, 0, 0, 5]
    assert hypotheses[0, :, 4, 9].tolist() == [0, 0, 1, 0, 1, 5]
    assert hypotheses[0, :, 4, 10].tolist() == [1, 0, 1, 0, 1, 6]
    assert hypotheses[0, :, 4, 13].tolist() == [1, 1, 1, 0, 1, 6]


def test_shapes_and_scale(plane_stacks) -> None:
    stacks = plane_stacks(0.5, rows=7, columns=7)
    evidence = evidence_of(stacks, flat(stacks, 0.4, 0.0, 1.0, 0.6), (-0.1, 0.1))
    assert evidence.context.shape == (1, len(name_context(4)), 32, 40)
    assert evidence.half_lines.shape == (1, 8, len(name_half_line(4, (-0.1, 0.1))), 32, 40)
    assert evidence.context.abs().max() < 5
    assert evidence.half_lines.abs().max() < 5


def test_the_true_hypothesis_costs_least_in_every_half_line(plane_stacks) -> None:
    stacks = plane_stacks(0.5)
    measured = evidence_of(stacks, flat(stacks, 0.3, -0.5, 1.5, 0.5)).half_lines[0][INTERIOR].mean(dim=(-2, -1))
    # Mean and mean logarithm of each hypothesis; between the first two hypotheses three more of the first.
    for channels in ([0, 5, 7, 9], [1, 6, 8, 10]):
        assert torch.all(measured[:, channels].argmin(dim=1) == 3)


def test_views_behind_an_occluder_do_not_hide_those_that_agree(plane_stacks) -> None:
    stacks = plane_stacks(0.5, rows=9, columns=9)
    for stack in stacks.values():
        stack[:, 5:7] = 0.0  # of each half-line with growing steps, the two inner views are blocked
    half_lines = evidence_of(stacks, flat(stacks, 0.5, 1.5)).half_lines[0, 1::2][INTERIOR].mean(dim=(-2, -1))
    by_mean, by_logarithm = half_lines[:, 5] - half_lines[:, 0], half_lines[:, 6] - half_lines[:, 1]
    assert torch.all(by_logarithm > 2 * by_mean)


def test_the_number_of_views_does_not_change_the_channels(plane_stacks) -> None:
    for rows, columns in ((3, 3), (5, 9), (9, 9)):
        stacks = plane_stacks(0.5, rows=rows, columns=columns)
        assert evidence_of(stacks, flat(stacks, 0, 0, 0, 0)).half_lines.shape[1:3] == (
            8,
            len(name_half_line(4, ())),
        )


def test_common_shear_of_views_and_hypotheses_changes_nothing(plane_stacks) -> None:
    before, after = plane_stacks(0.2), plane_stacks(1.2)
    a = evidence_of(before, flat(before, 0.3, 0.0, 0.6, 0.1))
    b = evidence_of(after, flat(after, 1.3, 1.0, 1.6, 1.1))
    assert torch.allclose(a.context, b.context, atol=1e-5)
    # Whole-pixel shear: the same samples are interpolated at the same places between pixels.
    assert torch.allclose(a.half_lines[INTERIOR], b.half_lines[INTERIOR], atol=1e-3)


def test_normalised_views_say_which_way_the_plane_lies(plane_stacks) -> None:
    stacks = plane_stacks(0.5)
    half_lines = HalfLines.from_stacks(stacks, list(LINES))
    for estimate_px in (0.44, 0.56):
        normalised = normalise_contrast(half_lines)
        evidence = gather_evidence(half_lines, flat(stacks, estimate_px), (), normalised, has_steps=True)
        place = name_half_line(1, (), has_contrast=True, has_steps=True).index("contrast offset")
        offset = evidence.half_lines[0, :, place][INTERIOR].atanh().median() / 10
        assert abs(float(offset) - (0.5 - estimate_px)) < 0.02

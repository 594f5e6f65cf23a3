import pytest
import torch
import torch.nn.functional as F

from freqlf.lightfield import LINES
from freqlf.models.halflines import HalfLines
from freqlf.models.sweep import SweepOptions, sweep_surfaces

TILT, HEIGHT, WIDTH = 0.045, 96, 104


def render_floor(noise: float = 0.0) -> dict[str, torch.Tensor]:
    """Stacks of a textured floor whose disparity is `floor_px` in the central view."""
    generator = torch.Generator().manual_seed(0)
    texture = F.avg_pool2d(torch.rand(1, 3, 256, 256, generator=generator), 3, 1, 1)
    y, x = torch.arange(HEIGHT).view(-1, 1).float(), torch.arange(WIDTH).view(1, -1).float()

    def render(u: int, v: int) -> torch.Tensor:
        # Pixel (y, x) of the centre is seen at y - u d(y), x - v d(y), where d(y) = TILT (y - HEIGHT / 2).
        y_centre = (y - u * TILT * HEIGHT / 2) / (1 - u * TILT)
        x_centre = x + v * TILT * (y_centre - HEIGHT / 2)
        grid = torch.stack(torch.broadcast_tensors(x_centre + 64, y_centre + 64), dim=-1) / 255 * 2 - 1
        return F.grid_sample(texture, grid[None], align_corners=True)[0]

    stacks = {
        line: torch.stack([render(k * du, k * dv) for k in range(-4, 5)]).unsqueeze(0)
        for line, (du, dv) in LINES.items()
    }
    return {line: one + noise * torch.randn(one.shape, generator=generator) for line, one in stacks.items()}


@pytest.mark.parametrize("is_wall", [False, True])
def test_a_floor_in_noise_is_found_on_tilted_planes(is_wall: bool) -> None:
    """Where the noise is as strong as the texture, only wide windows find anything, and these are of many depths."""
    stacks = render_floor(noise=0.1)
    floor_px = (TILT * (torch.arange(HEIGHT) - HEIGHT / 2)).view(1, 1, -1, 1).expand(1, 1, HEIGHT, WIDTH)
    if is_wall:
        turned = {"horizontal": "vertical", "vertical": "horizontal"}
        stacks = {line: stacks[turned.get(line, line)].transpose(-1, -2) for line in LINES}
        floor_px = floor_px.transpose(-1, -2)
    half_lines = HalfLines.from_stacks(stacks, tuple(LINES))
    slope_px = torch.linspace(-2.5, 2.5, floor_px.numel()).view_as(floor_px)  # of no use but for its range
    options = SweepOptions(windows_px=(9,), wide_windows_px=(25,), tilts=(-TILT, TILT), tilted_window_px=25)
    found = sweep_surfaces(half_lines, slope_px, options)
    assert found.hypotheses_px.shape[1] == 4
    assert found.doubts is not None
    assert found.doubts.shape[1] == 3
    wrong = ((found.hypotheses_px - floor_px).abs() > 0.2)[..., 12:-12, 12:-12].float().mean(dim=(0, 2, 3))
    *others, tilted = wrong.tolist()
    assert tilted < 0.05
    assert tilted < 0.5 * min(others)
    assert found.only(2).hypotheses_px.equal(found.hypotheses_px[:, :3])


def test_a_floor_without_noise_is_exact() -> None:
    half_lines = HalfLines.from_stacks(render_floor(), tuple(LINES))
    slope_px = torch.linspace(-2.5, 2.5, HEIGHT * WIDTH).view(1, 1, HEIGHT, WIDTH)
    options = SweepOptions(tilts=(-TILT, TILT), tilted_window_px=25)
    found_px = sweep_surfaces(half_lines, slope_px, options).hypotheses_px[:, -1]
    floor_px = TILT * (torch.arange(HEIGHT) - HEIGHT / 2).view(-1, 1)
    errors_px = (found_px - floor_px)[..., 12:-12, 12:-12].abs()
    assert errors_px.median() < 0.03
    assert errors_px.quantile(0.95) < 0.1

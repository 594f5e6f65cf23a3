"""A light field of two textured planes with known disparity: a square in front of a wall."""

import numpy as np
from numpy.typing import NDArray

HEIGHT, WIDTH, VIEWS = 96, 128, 9
WALL_PX, SQUARE_PX = -0.5, 1.0  # disparities
SQUARE = (slice(28, 68), slice(44, 84))  # y, x in the central view


def render_planes() -> NDArray[np.float32]:
    """[u, v, y, x, c] in [0, 1], sampled exactly."""
    steps = np.arange(VIEWS) - VIEWS // 2
    du, dv, y, x = np.meshgrid(steps, steps, np.arange(HEIGHT), np.arange(WIDTH), indexing="ij")

    def seen_at(disparity_px: float) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        return y + disparity_px * du, x + disparity_px * dv  # where the centre sees what this view sees at (y, x)

    wall_y, wall_x = seen_at(WALL_PX)
    square_y, square_x = seen_at(SQUARE_PX)
    rows, columns = SQUARE
    in_front = (
        (square_y >= rows.start) & (square_y < rows.stop) & (square_x >= columns.start) & (square_x < columns.stop)
    )
    wall = 0.5 + 0.2 * np.sin(0.9 * wall_x + 0.4 * wall_y) + 0.2 * np.sin(0.7 * wall_y - 0.3 * wall_x)
    square = 0.5 + 0.25 * np.sin(1.1 * square_x) + 0.2 * np.sin(1.0 * square_y + 0.4 * square_x)
    grey = np.where(in_front, square, wall)
    return np.stack([grey, 0.8 * grey, np.where(in_front, 0.3, 0.9) * grey], axis=-1).astype(np.float32)


def true_disparity_px() -> NDArray[np.float32]:
    """(H, W), px per view step."""
    disparity_px = np.full((HEIGHT, WIDTH), WALL_PX, np.float32)
    disparity_px[SQUARE] = SQUARE_PX
    return disparity_px

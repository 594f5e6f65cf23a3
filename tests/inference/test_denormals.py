import numpy as np
import torch

from freqlf.inference.denormals import flush_denormals


def halve_the_smallest() -> float:
    smallest = torch.tensor([float(np.finfo(np.float32).tiny)])
    return (smallest * 0.5).item()


def test_they_are_zero_within_and_come_back() -> None:
    assert halve_the_smallest() > 0
    with flush_denormals():
        assert halve_the_smallest() == 0
    assert halve_the_smallest() > 0
    assert flush_denormals()(halve_the_smallest)() == 0
    assert halve_the_smallest() > 0

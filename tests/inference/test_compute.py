import pytest
import torch

from freqlf.errors import FreqLFError
from freqlf.inference.compute import ComputeOptions, choose_device


def test_the_cpu_is_always_there() -> None:
    assert choose_device("cpu") == torch.device("cpu")
    assert choose_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")


def test_cuda_is_taken_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto", index=1) == choose_device("cuda", index=1) == torch.device("cuda", 1)
    assert choose_device("cpu") == torch.device("cpu")


def test_missing_and_unknown_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == torch.device("cpu")
    with pytest.raises(FreqLFError, match="no CUDA device here; use --device cpu"):
        choose_device("cuda")
    with pytest.raises(FreqLFError, match="unknown device 'tpu'"):
        choose_device("tpu")
    with pytest.raises(FreqLFError, match="unknown precision 'fp8'"):
        ComputeOptions(precision="fp8")  # type: ignore[arg-type]

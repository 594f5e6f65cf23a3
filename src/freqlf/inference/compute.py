"""Where and how numbers are computed: the choices of a user, as far as they do not change what is computed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from freqlf.errors import FreqLFError

if TYPE_CHECKING:
    import torch


Device = Literal["auto", "cpu", "cuda"]
Precision = Literal["fp32", "bf16"]


@dataclass(frozen=True)
class ComputeOptions:
    """How a model is run.

    Attributes:
        device: Where to compute; auto takes CUDA if there is any.
        precision: bf16 computes convolutions with half of the digits: faster on GPUs, and on CPUs that have units for
            it (AVX512-BF16, AMX). Geometry, Fourier branch and mixture stay in fp32.
        compile: Use torch.compile for the layers. It takes a minute at the start and needs a C++ compiler: for
            many light fields.
    """

    device: Device = "auto"
    precision: Precision = "fp32"
    compile: bool = False

    def __post_init__(self) -> None:
        if self.precision not in ("fp32", "bf16"):
            raise FreqLFError(f"unknown precision {self.precision!r}: choose fp32 or bf16")


def choose_device(name: str, index: int = 0) -> "torch.device":
    """The CPU, or the CUDA device of this number; "auto" is CUDA if there is any."""
    import torch

    if name not in ("auto", "cpu", "cuda"):
        raise FreqLFError(f"unknown device {name!r}: choose auto, cpu or cuda")
    has_cuda = torch.cuda.is_available()
    if name == "cuda" and not has_cuda:
        raise FreqLFError("there is no CUDA device here; use --device cpu")
    return torch.device("cuda", index) if name != "cpu" and has_cuda else torch.device("cpu")

"""One process or many: what the training loop needs to know of the others. Start many with `torchrun`."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from freqlf.inference.compute import choose_device


@dataclass(frozen=True)
class Processes:
    """This process among all that train the same model."""

    rank: int
    count: int
    device: torch.device

    @property
    def is_writer(self) -> bool:
        """Whether this process writes files and speaks to the user; exactly one does."""
        return self.rank == 0

    def wrap(self, module: nn.Module) -> nn.Module:
        """The module, with its gradients averaged over all processes in `backward`."""
        if self.count == 1:
            return module
        devices = [self.device] if self.device.type == "cuda" else None
        return nn.parallel.DistributedDataParallel(module, device_ids=devices)

    def mean(self, value: Tensor) -> Tensor:
        """The mean over all processes."""
        if self.count == 1:
            return value
        value = value.clone()
        dist.all_reduce(value)
        return value / self.count

    def any(self, *flags: bool) -> tuple[bool, ...]:
        """Each flag, raised if it is raised in any process: all of them then do the same."""
        if self.count == 1:
            return flags
        raised = torch.tensor([float(flag) for flag in flags], device=self.device)
        dist.all_reduce(raised, op=dist.ReduceOp.MAX)
        return tuple(flag > 0 for flag in raised.tolist())

    def gather(self, part: dict[str, Any]) -> dict[str, Any]:
        """The union of all processes' dictionaries."""
        if self.count == 1:
            return part
        parts: list[dict[str, Any] | None] = [None] * self.count
        dist.all_gather_object(parts, part)
        return {key: value for one in parts if one for key, value in one.items()}


@contextmanager
def join_processes(device: str = "auto") -> Iterator[Processes]:
    """Meet the other processes that `torchrun` has started, or be the only one."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    here = choose_device(device, index=int(os.environ.get("LOCAL_RANK", "0")))
    if here.type == "cuda":
        torch.cuda.set_device(here)
    if count == 1:
        yield Processes(0, 1, here)
        return
    dist.init_process_group("nccl" if here.type == "cuda" else "gloo")
    try:
        yield Processes(dist.get_rank(), dist.get_world_size(), here)
    finally:
        dist.destroy_process_group()

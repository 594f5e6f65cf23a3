"""A fresh process for a measurement: a peak of memory is only true in one that has done nothing else."""

import multiprocessing
import multiprocessing.connection
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import torch

from freqlf.errors import FreqLFError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def run_in_fresh_process(
    measure: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Result:
    """What `measure` returns in a process with nothing in memory yet, and as many threads as here.

    `measure` must be a function of a module, for the process to find it.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send_result, args=(sender, torch.get_num_threads(), measure, args, kwargs))
    process.start()
    sender.close()
    try:
        result, mistake = receiver.recv()
    except EOFError:
        process.join()
        raise FreqLFError(
            f"a measuring process ended without a result (code {process.exitcode}); "
            "if memory ran out, choose smaller images"
        ) from None
    process.join()
    if mistake is not None:
        raise FreqLFError(f"a measurement failed: {mistake}")
    return result


def _send_result(
    sender: multiprocessing.connection.Connection,
    threads: int,
    measure: Callable[..., object],
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> None:
    torch.set_num_threads(threads)
    try:
        sender.send((measure(*args, **kwargs), None))
    except (FreqLFError, MemoryError, RuntimeError) as error:  # torch says with the last that memory ran out
        sender.send((None, (str(error) or type(error).__name__).splitlines()[0]))

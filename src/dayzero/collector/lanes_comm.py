"""Collective communication between ranks that torchrun's variables name: NCCL between GPUs, Gloo between processors."""

import importlib.metadata
import os
from collections.abc import Callable
from dataclasses import dataclass

from dayzero.collector.work import Check, Columns, Ranks, Torch, UnsupportedError, Work, compare

_DTYPES = {"half": "float16", "bfloat16": "bfloat16", "int8": "int8"}  # as nccl-tests calls them
_STEPS, _SHARES = 5, 3  # sums of inputs below these stay exact in each of the types, up to 21 ranks
_QUEUED_CYCLES = (
    400_000  # 0.2 ms at 2 GHz: meanwhile the host queues what is timed, which then starts on all GPUs at once
)
_NCCL = ("nvidia-nccl-cu13", "nvidia-nccl-cu12")
_IN_PLACE = "in place, as torch.distributed reduces; nccl-tests' first column is out of place"


def collective(columns: Columns, options: Columns, torch: Torch) -> Work:
    """Run one collective over all ranks.

    ``message_size`` counts the elements of the larger buffer, as the size of nccl-tests does: what each rank has in the end
    of an ``all_gather``, and what it has before a ``reduce_scatter``.
    """
    device = str(options.get("device", "cuda"))
    world = _join(torch, device)
    if world != int(columns["num_gpus"]):
        raise UnsupportedError(f"{world} ranks are running, the case wants {columns['num_gpus']}")
    dtype = getattr(torch, _DTYPES[str(columns["nccl_dtype"])])
    count = max(1, int(columns["message_size"]) // world) * world
    pattern = (torch.arange(count, device=device) % _STEPS).to(dtype)
    name, rank = str(options["operation"]), int(torch.distributed.get_rank())
    case = _case(torch, name, pattern, world, rank)

    def check() -> Check:
        case.source.copy_(case.given)
        if case.target is not case.source:
            case.target.fill_(-1)  # what an earlier call left there does not pass for a result
        case.call()
        return compare(torch, case.target, case.expected, against="each element, exactly", limit=0.0)

    return Work(
        call=case.call,
        check=check,
        graph=device == "cuda",
        device=device,
        package=_package() if device == "cuda" else "torch",
        note=_IN_PLACE if name == "all_reduce" else "",
        ranks=_ranks(torch, device, world),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """A collective: its call, this rank's input with what it is before a call, its output with what it is after it."""

    call: Callable[[], object]
    source: Torch
    given: Torch
    target: Torch
    expected: Torch


def _join(torch: Torch, device: str) -> int:
    group = torch.distributed
    if not group.is_available() or "WORLD_SIZE" not in os.environ:
        raise UnsupportedError("no ranks: start it with --ranks")
    if group.is_initialized():
        return int(group.get_world_size())
    if device == "cuda":
        own = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(own)
        group.init_process_group("nccl", device_id=own)
    else:
        group.init_process_group("gloo")
    return int(group.get_world_size())


def _case(torch: Torch, name: str, pattern: Torch, world: int, rank: int) -> _Case:
    """Give each rank another input, so that a part that is missing, repeated or in another place is seen."""
    group = torch.distributed
    shares = [one % _SHARES for one in range(world)]
    given = pattern + shares[rank]
    parts = pattern.chunk(world)
    if name == "all_reduce":
        whole = given.clone()
        expected = pattern * world + sum(shares)
        return _Case(call=lambda: group.all_reduce(whole), source=whole, given=given, target=whole, expected=expected)
    if name == "all_gather":
        part, into = parts[0] + shares[rank], torch.empty_like(pattern)
        expected = torch.cat([parts[0] + share for share in shares])
        return _Case(
            call=lambda: group.all_gather_into_tensor(into, part),
            source=part,
            given=part.clone(),
            target=into,
            expected=expected,
        )
    if name == "reduce_scatter":
        whole, part = given.clone(), torch.empty_like(parts[rank])
        expected = parts[rank] * world + sum(shares)
        return _Case(
            call=lambda: group.reduce_scatter_tensor(part, whole),
            source=whole,
            given=given,
            target=part,
            expected=expected,
        )
    whole, into = given.clone(), torch.empty_like(pattern)
    expected = torch.cat([parts[rank] + share for share in shares])
    return _Case(
        call=lambda: group.all_to_all_single(into, whole), source=whole, given=given, target=into, expected=expected
    )


def _ranks(torch: Torch, device: str, world: int) -> Ranks:
    group = torch.distributed
    token = torch.zeros(1, device=device)

    def largest(value: float) -> float:
        held = torch.tensor([value], dtype=torch.float64, device=device)
        group.all_reduce(held, op=group.ReduceOp.MAX)
        return float(held.item())

    def mean(values: list[float]) -> list[float]:
        held = torch.tensor(values, dtype=torch.float64, device=device)
        group.all_reduce(held)
        return [round(float(value) / world, 4) for value in held.tolist()]

    def line_up() -> None:
        if device == "cuda":
            torch.cuda._sleep(_QUEUED_CYCLES)  # noqa: SLF001  (as torch's own tests hold a stream back)
        group.all_reduce(token)

    return Ranks(line_up=line_up, largest=largest, mean=mean)


def _package() -> str:
    """Give the distribution whose NCCL this torch loads; torch itself where it was built with one inside."""
    installed = {str(one.metadata["Name"]).lower() for one in importlib.metadata.distributions()}
    return next((name for name in _NCCL if name in installed), "torch")

"""Collective communication between ranks that torchrun's variables name: NCCL between GPUs, Gloo between processors."""

import os

from dayzero.collector.work import Check, Columns, Torch, UnsupportedError, Work

_DTYPES = {"half": "float16", "int8": "int8"}


def collective(columns: Columns, options: Columns, torch: Torch) -> Work:
    """Run one collective over all ranks."""
    device = str(options.get("device", "cuda"))
    world = _join(torch, device)
    if world != int(columns["num_gpus"]):
        raise UnsupportedError(f"{world} ranks are running, the case wants {columns['num_gpus']}")
    dtype = getattr(torch, _DTYPES[str(columns["nccl_dtype"])])
    count = max(world, int(columns["message_size"]) // world * world)
    whole = torch.ones(count, dtype=dtype, device=device)
    part = torch.ones(count // world, dtype=dtype, device=device)
    run, expected = _operation(torch, str(options["operation"]), whole, part, world)

    def check() -> Check:
        whole.fill_(1)
        part.fill_(1)
        found = float(run().float().max())
        state = "agrees" if found == expected else "differs"
        return Check(state=state, against=f"{expected:g} everywhere", error=abs(found - expected), limit=0.0)

    return Work(call=run, check=check, graph=device == "cuda", device=device, package="torch")


def _join(torch: Torch, device: str) -> int:
    group = torch.distributed
    if not group.is_available() or "WORLD_SIZE" not in os.environ:
        raise UnsupportedError("no ranks: start it with --gpus, or under torchrun")
    if device == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    if not group.is_initialized():
        group.init_process_group("nccl" if device == "cuda" else "gloo")
    return int(group.get_world_size())


def _operation(torch: Torch, name: str, whole: Torch, part: Torch, world: int) -> tuple[Torch, float]:
    group = torch.distributed
    into = torch.empty_like(whole)

    def all_reduce() -> Torch:
        group.all_reduce(whole)
        return whole

    def all_gather() -> Torch:
        group.all_gather_into_tensor(into, part)
        return into

    def reduce_scatter() -> Torch:
        group.reduce_scatter_tensor(part, whole)
        return part

    def all_to_all() -> Torch:
        group.all_to_all_single(into, whole)
        return into

    return {
        "all_reduce": (all_reduce, float(world)),
        "all_gather": (all_gather, 1.0),
        "reduce_scatter": (reduce_scatter, float(world)),
        "alltoall": (all_to_all, 1.0),
    }[name]

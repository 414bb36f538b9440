"""Loads: what is sent next, and when. One file a load; none of them knows a clock."""

from dayzero.bench.model import PromptPool
from dayzero.bench.plans.closed_loop import ClosedLoopPlan
from dayzero.bench.plans.constant import constant_times
from dayzero.bench.plans.conversation import ConversationPlan
from dayzero.bench.plans.open_loop import OpenLoopPlan
from dayzero.bench.plans.poisson import poisson_times
from dayzero.bench.plans.ramp import ramp_times
from dayzero.bench.plans.replay import ReplayWriter, replay_times
from dayzero.bench.ports import Plan
from dayzero.bench.prompts import PromptWriter
from dayzero.core.workload import Cell, ClosedLoop, Constant, Poisson, Ramp, Replay, Workload

__all__ = ["plan_of"]


def plan_of(workload: Workload, cell: Cell, pool: PromptPool) -> Plan:
    """Plan one cell of a workload.

    Args:
        workload: Holds the cell; its seed decides prompts and arrivals, its nonce sets the prompts apart.
        cell: What is planned.
        pool: What prompts are drawn from.

    Raises:
        InputError: The cell's prompts cannot be written from the pool.
    """
    writer = PromptWriter(workload, cell, pool)
    key = f"{workload.seed}/{cell.name}/arrivals"
    match cell.load:
        case ClosedLoop():
            return ConversationPlan(writer) if cell.turns > 1 else ClosedLoopPlan(writer)
        case Constant(rate_per_s=rate):
            return OpenLoopPlan(constant_times(rate), writer.drawn, size=cell.size, cap=cell.concurrency)
        case Poisson(rate_per_s=rate):
            return OpenLoopPlan(poisson_times(rate, key), writer.drawn, size=cell.size, cap=cell.concurrency)
        case Ramp() as ramp:
            return OpenLoopPlan(ramp_times(ramp, key), writer.drawn, size=cell.size, cap=cell.concurrency)
        case Replay() as replay:
            write = ReplayWriter(writer, replay)
            return OpenLoopPlan(replay_times(replay), write, size=cell.size, cap=cell.concurrency)

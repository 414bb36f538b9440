"""Does a kernel of linear attention get more blocks in one dimension of its grid than CUDA launches?

CUDA's second and third grid dimensions end at 65,535 (CUDA C++ Programming Guide, "Technical Specifications").
"""

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.python_source import Module, nodes_of
from dayzero.audit.rules import Subject
from dayzero.core.verdict import Place
from dayzero.engines.vllm.capabilities.prefill import FLASHKDA, TRITON, prefill
from dayzero.engines.vllm.capabilities.situation import Situation, situation
from dayzero.engines.vllm.memory.facts import fact

_MOST = 65_535
_CHUNKS = (
    "vllm.third_party.flash_linear_attention.ops.chunk_delta_h",
    "vllm.model_executor.layers.fla.ops.chunk_delta_h",
)
_GIB = 1024**3


class GridLimit:
    """Implements ``audit.rules.Rule``."""

    id: str = "grid-limit"
    question: str = "Does the grid of the linear attention's chunk kernel stay within what CUDA launches?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Multiply the sequences by a rank's heads where the kernel's own grid does so."""
        if subject.engine != "vllm" or subject.model is None:
            return
        made = situation(subject)
        linear = made.text.get("linear_attn_config") if isinstance(made, Situation) else None
        if not isinstance(made, Situation) or not isinstance(linear, Mapping):
            return
        module = next((one for name in _CHUNKS if (one := made.machine.program.module(name))), None)
        place = _grid(module) if module else None
        if place is None:
            return
        used, heads = prefill(made, linear), int(linear.get("num_heads") or 0)
        if used is None:
            yield NotChecked(self.question, "which kernel the prefill takes is not known", needed=False)
        elif used == TRITON:
            yield from self._judge(made, heads, place, "triton prefill")
        elif FLASHKDA in made.machine.program.unloadable:
            yield from self._judge(made, heads, place, "triton prefill, the only one whose kernel can be loaded here,")

    def _judge(self, made: Situation, heads: int, place: Place, kernel: str) -> Iterator[Finding]:
        rank, sequences = max(heads // made.degree, 1), _sequences(made)
        if not heads or rank * sequences <= _MOST:
            return
        message = (
            f"the chunk kernel's grid has {sequences:,} sequences x {rank} heads = {rank * sequences:,} blocks "
            f"in its second dimension, and CUDA launches {_MOST:,}"
        )
        advice = f"Serve with --max-num-seqs {_MOST // rank} or fewer, or with a higher --tensor-parallel-size."
        when = f"{kernel} of linear attention with {rank} heads on a rank and {sequences:,} sequences"
        yield Finding(self.id, Severity.START, message, place, None, advice, when, Applies.YES)


def _grid(module: Module) -> Place | None:
    """Find a grid whose second dimension is sequences times heads."""
    for node in nodes_of(module.tree):
        match node:
            case ast.Tuple(
                elts=[_, ast.BinOp(left=ast.Name(id="N"), op=ast.Mult(), right=ast.Name(id="H" | "HV")), *_]
            ):
                return module.place(node.lineno)
            case _:
                continue
    return None


def _sequences(made: Situation) -> int:
    asked = made.flags.whole("max-num-seqs")
    if asked is not None:
        return asked
    batch = fact("batch", made.subject.installed.engine.version)
    system = made.subject.system
    large = system is not None and system.memory.count >= batch["large_from_gib"] * _GIB and "a100" not in system.name
    return int(batch["large_seqs"] if large else batch["small_seqs"])


RULE: Final = GridLimit()

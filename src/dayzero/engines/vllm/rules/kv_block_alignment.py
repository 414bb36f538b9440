"""Do the block tables that vLLM builds, and a rank's heads, have the shape that FlashInfer's MLA decode takes?

FlashInfer's side is read from its own ``mla/_core.py``; vLLM's from where it aligns the blocks of hybrid models.
"""

import ast
import re
from collections.abc import Iterator
from typing import Final

from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.python_source import Module, last_name, nodes_of, statements_of
from dayzero.audit.rules import Subject
from dayzero.core.verdict import Place
from dayzero.engines.vllm.capabilities.attention import Layer, choose, layers
from dayzero.engines.vllm.capabilities.situation import Situation, situation

_FLASHINFER = "flashinfer.mla._core"
_PLATFORM = "vllm.platforms.interface"
_BACKEND = "FLASHINFER_MLA"
_CHECK = re.compile(r"block_num % \((?P<tokens>\d+) / block_size\) != 0")
_SWITCH = "require_aligned_block_table"
_LINEAR = ("linear_attn_config", "mamba_d_state", "linear_num_key_heads", "mamba_num_heads")


class KvBlockAlignment:
    """Implements ``audit.rules.Rule``."""

    id: str = "kv-block-alignment"
    question: str = "Do vLLM's KV blocks and a rank's heads fit FlashInfer's MLA decode?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Ask only where FlashInfer's MLA backend is the one that runs."""
        if subject.engine != "vllm" or subject.model is None:
            return
        made = situation(subject)
        if isinstance(made, str):
            return  # the rule of the attention backend says so
        core = made.machine.program.module(_FLASHINFER)
        for layer in (one for one in layers(made) if one.mla and not one.sparse):
            choice = choose(made, layer)
            taken = None if isinstance(choice, str) else choice.chosen
            if taken is None or taken.name != _BACKEND:
                continue
            if core is None:
                yield NotChecked(self.question, "flashinfer-python is not among the files", needed=False)
                return
            yield from self._heads(core, taken.place, layer)
            yield from self._blocks(made, core, taken.place)

    def _heads(self, core: Module, engine: Place, layer: Layer) -> Iterator[Finding]:
        for low, high, node in _head_gaps(core):
            if low < layer.heads < high:
                message = (
                    f"FlashInfer's trtllm-gen MLA decode takes no rank with more than {low} and fewer than {high} heads; "
                    f"this one has {layer.heads}"
                )
                advice = f"Raise --tensor-parallel-size until a rank has at most {low} heads, or use another backend."
                when = f"{_BACKEND} with {layer.heads} heads on a rank"
                place = core.place(node.lineno)
                yield Finding(self.id, Severity.PATH, message, engine, place, advice, when, Applies.YES)

    def _blocks(self, made: Situation, core: Module, engine: Place) -> Iterator[Finding]:
        asked = _alignment(core)
        if asked is None or not any(key in made.text for key in _LINEAR):
            return
        tokens, place = asked
        own, where = _aligned_by(made)
        block = made.flags.whole("block-size") or 0
        if (own % tokens == 0 and own) or (block and block % tokens == 0):
            return
        message = (
            f"FlashInfer wants a block table in whole runs of {tokens} tokens, "
            "and vLLM does not align a hybrid model's blocks to that"
        )
        advice = (
            f"Use a release of vLLM that aligns MLA blocks to {tokens} (0.27.0 does), or another --attention-backend."
        )
        when = f"{_BACKEND} in a model with linear attention or Mamba layers"
        yield Finding(self.id, Severity.PATH, message, where or engine, place, advice, when, Applies.UNKNOWN)


def _head_gaps(core: Module) -> Iterator[tuple[int, int, ast.Compare]]:
    """Find ``64 < num_heads_q < 128`` as the condition of a refusal."""
    for node in statements_of(core.tree):
        match node:
            case ast.If(
                test=ast.Compare(
                    left=ast.Constant(value=int() as low),
                    ops=[ast.Lt(), ast.Lt()],
                    comparators=[ast.Name(id="num_heads_q"), ast.Constant(value=int() as high)],
                ) as test
            ):
                yield low, high, test
            case _:
                continue


def _alignment(core: Module) -> tuple[int, Place] | None:
    """Find the check of the block table, unless the caller of trtllm-gen switches it off."""
    spoken = _SWITCH.encode() in core.text.content
    if spoken and any(
        isinstance(node, ast.keyword) and node.arg == _SWITCH and "trtllm-gen" in ast.unparse(node)
        for node in nodes_of(core.tree)
    ):
        return None
    for number, line in enumerate(core.text.content.decode("utf-8", "replace").split("\n"), 1):
        if found := _CHECK.search(line):
            return int(found["tokens"]), core.place(number)
    return None


def _aligned_by(made: Situation) -> tuple[int, Place | None]:
    """Find to how many tokens vLLM aligns blocks where a model uses MLA: ``max(alignment, 128)`` under ``use_mla``."""
    module = made.machine.program.module(_PLATFORM)
    where = None
    for node in statements_of(module.tree) if module else ():
        match node:
            case ast.If(test=ast.Attribute(attr="use_mla"), body=body) if module:
                sizes = [size for one in body for size in _raised_to(one)]
                if sizes:
                    return max(sizes), module.place(node.lineno)
            case ast.Assign(targets=[ast.Name(id="kernel_block_alignment_size")]) if module:
                where = module.place(node.lineno)
            case _:
                continue
    return 0, where


def _raised_to(node: ast.stmt) -> Iterator[int]:
    match node:
        case ast.Assign(value=ast.Call(args=args) as call) if last_name(call) == "max":
            yield from (one.value for one in args if isinstance(one, ast.Constant) and isinstance(one.value, int))
        case _:
            return


RULE: Final = KvBlockAlignment()

"""Is PyTorch told to use expandable segments together with something that cannot use such memory?"""

import json
import re
from collections.abc import Iterator
from typing import Final

from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.python_source import Module
from dayzero.audit.rules import Subject
from dayzero.core.errors import InputError
from dayzero.core.verdict import Place
from dayzero.engines.command_line import given
from dayzero.engines.vllm.memory.flags import Flags, read_flags

_VARIABLES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
_EXPANDABLE = re.compile(r"expandable_segments\s*:\s*true", re.IGNORECASE)
_ALL_REDUCE = "vllm.distributed.device_communicators.custom_all_reduce"
_CONFIG = "vllm.config.vllm"
_WORLDS = (2, 4, 6, 8, 16)  # vllm 0.27.0, custom_all_reduce.py:57
_CUMEM = {"--enable-cumem-allocator", "--enable-sleep-mode"}
_NVLINK = re.compile(r"(a100|h100|h200|h20|b200|b300|gb200|gb300)", re.IGNORECASE)


class Allocator:
    """Implements ``audit.rules.Rule``."""

    id: str = "expandable-segments"
    question: str = "Do expandable segments meet the custom all-reduce or a KV connector, which cannot use such memory?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Look at the allocator's variable beside the flags."""
        variable = next((name for name in _VARIABLES if _EXPANDABLE.search(subject.env.get(name, ""))), "")
        if subject.engine != "vllm" or not variable:
            return
        try:
            flags = read_flags(subject.flags)
            ranks = flags.whole("tensor-parallel-size") or 1
        except InputError as error:
            yield NotChecked(self.question, error.message)
            return
        if not (flags.on("disable-custom-all-reduce") or flags.on("enforce-eager")):
            yield from self._all_reduce(subject, variable, ranks)
        yield from self._connector(subject, variable, flags)

    def _all_reduce(self, subject: Subject, variable: str, ranks: int) -> Iterator[Finding]:
        place = _line(subject, _ALL_REDUCE, "get_graph_buffer_ipc_meta")
        if place is None or ranks not in _WORLDS:
            return
        system = subject.system
        linked = ranks == _WORLDS[0] or (system is not None and bool(_NVLINK.search(system.accelerator)))
        one_node = system is None or ranks <= system.accelerators
        yield Finding(
            self.id,
            Severity.PATH,
            f"{variable} sets expandable_segments, and the custom all-reduce of {ranks} ranks hands its graph buffers to the"
            " others with cudaIpcGetMemHandle, which takes no such memory: all workers die at the end of the graph capture",
            place,
            None,
            f"Pass --disable-custom-all-reduce, or take expandable_segments out of {variable}.",
            "the ranks are linked by NVLink in one node, and no other all-reduce takes the buffers",
            Applies.YES if linked and one_node else Applies.UNKNOWN,
        )

    def _connector(self, subject: Subject, variable: str, flags: Flags) -> Iterator[Finding]:
        place = _line(subject, _CONFIG, "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True")
        connector = _connector_of(flags)
        if not connector or any(one.name in _CUMEM for one in given(subject.flags)):
            return
        refused = place is not None and variable == _VARIABLES[0]
        yield Finding(
            self.id,
            Severity.START if refused else Severity.PATH,
            f"{variable} sets expandable_segments together with the KV connector {connector}"
            + (": the engine refuses that" if refused else ", whose registered memory may then be mapped elsewhere"),
            place,
            None,
            f"Take expandable_segments out of {variable}, or pass --enable-sleep-mode.",
            "" if refused else f"{connector} registers the KV cache with a network card",
            Applies.YES if refused else Applies.UNKNOWN,
        )


def _connector_of(flags: Flags) -> str:
    text = flags.text("kv-transfer-config", "")
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        return text
    named = found.get("kv_connector") if isinstance(found, dict) else None
    return str(named or flags.text("kv-transfer-config.kv_connector", "") or "")


def _line(subject: Subject, module: str, text: str) -> Place | None:
    """Find the line of a module that holds a text, ``None`` where it has none."""
    python = subject.installed.python
    parsed = python.parsed(module) if text.encode() in python.text(module) else None
    return parsed.place(parsed.text.place_of(text.encode())) if isinstance(parsed, Module) else None


RULE: Final = Allocator()

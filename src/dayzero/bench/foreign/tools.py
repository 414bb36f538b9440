"""The tools whose files can be read, and the one door to them."""

from typing import Final

from dayzero.bench.foreign import aiperf, endpoints, genai_perf, guidellm, vllm_bench
from dayzero.bench.foreign.judge import judge
from dayzero.bench.foreign.model import Files, Judged, Tool
from dayzero.core.errors import InputError

TOOLS: Final[tuple[Tool, ...]] = (aiperf.TOOL, guidellm.TOOL, vllm_bench.TOOL, genai_perf.TOOL, endpoints.TOOL)


def read(files: Files) -> tuple[Judged, ...]:
    """Read what another tool wrote and judge it; one entry a benchmark.

    Args:
        files: Content by file name.

    Raises:
        InputError: No known tool wrote these files, or one of them is cut off.
    """
    found = tuple(judge(tool, reading) for tool in TOOLS if tool.recognises(files) for reading in tool.read(files))
    if not found:
        raise InputError(
            f"no known tool wrote {', '.join(sorted(files)) or 'these files: there are none'}",
            hint="Give the files of one of: " + ", ".join(tool.name for tool in TOOLS) + ".",
        )
    return found

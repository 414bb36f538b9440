"""A program that is started as ``vllm serve`` is, and whose flags have planned effects. No GPU, no model: planned waits.

``--max-num-seqs N`` serves N requests at once; ``--block-size 64`` dies under load; ``--attention-backend`` dies at its start and
names the flag; ``--api-server-count`` never answers. Each start that a file counts makes it slower, where there is one.
"""

import asyncio
import contextlib
import os
import sys
from pathlib import Path
from typing import Any

from tests.simulators.openai_server import Behaviour, OpenAiServer

ROOT = Path(__file__).parents[2]
DRIFT = "DAYZERO_TEST_DRIFT"
ANSWER_S = 0.02


class Served(OpenAiServer):
    """The server, on the port that was asked for, with a health path."""

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def _json(self, writer: asyncio.StreamWriter, status: int, document: dict[str, Any]) -> bool:
        healthy = status == 404 and "/health" in str(document)
        return await super()._json(writer, 200 if healthy else status, document)


async def serve(port: int, behaviour: Behaviour, dies_after: int) -> None:
    server = Served(behaviour)
    server.port = port
    await server.start()
    while not dies_after or len(server.seen) < dies_after:  # noqa: ASYNC110  (the server has no event for it)
        await asyncio.sleep(0.005)
    os.write(1, b"RuntimeError: block_size=64 is not supported by this kernel\n")
    os._exit(3)


def main(words: list[str]) -> None:
    given = dict(zip(words[3::2], words[4::2], strict=False))  # -c serve model --flag value ...
    if "--attention-backend" in given:
        os.write(2, b"ValueError: Invalid value for --attention-backend: it cannot be loaded\n")
        sys.exit(1)
    if "--api-server-count" in given:
        asyncio.run(asyncio.sleep(60))
    slower = 1.0
    if DRIFT in os.environ:
        count = Path(os.environ[DRIFT])
        with count.open("a") as stream:
            stream.write("x")
        slower = 1.0 if len(count.read_text()) < 3 else 3.0
    behaviour = Behaviour(
        ttft_s=ANSWER_S * slower,
        itl_s=0.001,
        slots=int(given.get("--max-num-seqs", 1)),
        owned_by="vllm",
        models=(given.get("--served-model-name", "sim"),),
    )
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(int(given["--port"]), behaviour, 12 if given.get("--block-size") == "64" else 0))


def put_program(folder: Path) -> Path:
    """Write ``vllm`` into a folder that can stand on PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.simulators.vllm_program import main; main(sys.argv)"
    )
    program = folder / "vllm"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}" "$@"\n')
    program.chmod(0o755)
    return folder

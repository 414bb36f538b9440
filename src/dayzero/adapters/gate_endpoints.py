"""Ask the two endpoints of a gate over HTTP, and keep every question with its answer the moment it comes."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from dayzero.adapters.gate_raw import PROBE, RawFolder, Record
from dayzero.adapters.measuring.ask import ask, explain, reachable
from dayzero.adapters.measuring.server import Server, servers_of
from dayzero.adapters.openai_discovery import choose_model, list_models
from dayzero.adapters.openai_http import Connection, Wording
from dayzero.bench.http1 import MalformedResponseError
from dayzero.gates.exchange import Job, Key, Listed, Question, Reply, Side

_OWN: Final = Key(PROBE, PROBE, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How one endpoint is reached.

    Attributes:
        connection: Its address, its key, and how long an answer may take.
        model: The model to ask for, ``""`` for the only one.
    """

    connection: Connection
    model: str = ""


class HttpEndpoints:
    """The two endpoints. Implements ``gates.ports.Endpoints``.

    Args:
        reaches: How each is reached.
        raw: Where exchanges are kept.
        on_answer: Called with each answer to a capture's question, from any thread; must return at once.
    """

    def __init__(self, reaches: Mapping[Side, Reach], raw: RawFolder, on_answer: Callable[[], None]) -> None:
        self._reaches = reaches
        self._raw = raw
        self._on_answer = on_answer
        self._found: dict[Side, tuple[Server, Wording]] = {}

    def listed(self, side: Side) -> Listed:
        """Look the server up, ask what it serves and choose the model."""
        reach = self._reaches[side]
        server = reachable(servers_of(reach.connection))
        wording = Wording(server.address, reach.connection.api_key)
        self._found[side] = server, wording
        models = list_models(server, wording, optional=bool(reach.model))
        return Listed(url=str(server.address), model=choose_model(models, reach.model), models=models)

    def ask(self, side: Side, question: Question) -> Reply:
        """Ask one question on a connection of its own."""
        return self._keep(side, Job(_OWN, question))

    def ask_all(self, jobs: Mapping[Side, Sequence[Job]], *, concurrency: int) -> Mapping[Key, Reply]:
        """Ask each side with as many threads as may be in flight; an interrupt waits for those and asks no more."""
        replies: dict[Key, Reply] = {}
        begun: list[tuple[Key, Future[Reply]]] = []
        with ExitStack() as stack:
            for side, own in jobs.items():
                crew = stack.enter_context(ThreadPoolExecutor(concurrency, thread_name_prefix=f"gate-{side}"))
                stack.callback(crew.shutdown, wait=False, cancel_futures=True)
                for job in own:
                    kept = self._raw.answered(job)
                    if kept is None:
                        begun.append((job.key, crew.submit(self._answered, side, job)))
                    else:
                        replies[job.key] = kept
                        self._on_answer()
            replies.update((key, future.result()) for key, future in begun)
        return replies

    def _answered(self, side: Side, job: Job) -> Reply:
        reply = self._keep(side, job)
        self._on_answer()
        return reply

    def _keep(self, side: Side, job: Job) -> Reply:
        server, wording = self._found[side]
        sent_at, began = datetime.now(UTC), time.monotonic()
        reply = self._reply(server, wording.plain("POST", job.question.path, job.question.body), side)
        self._raw.keep(
            Record(
                side=side,
                job=job,
                reply=reply,
                sent_at=sent_at.isoformat(timespec="milliseconds"),
                seconds=time.monotonic() - began,
            )
        )
        return reply

    def _reply(self, server: Server, content: bytes, side: Side) -> Reply:
        try:
            found = ask(server, content, timeout_s=self._reaches[side].connection.timeout_s)
        except (OSError, MalformedResponseError) as error:
            return Reply(error=explain(error))
        return Reply(status=found.status, body=found.body.decode("utf-8", "replace"))

"""Conversations: a closed loop of sessions, each turn with everything that was said before, and a pause to think between.

Where prompts are text, the next turn carries the answer that came back; how many tokens that makes, only the server knows.
Where prompts are token ids there is no text to carry: as many drawn tokens stand where the answer was, the length is exact,
and the server finds the earlier prompt in its cache but not its own answer.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

from dayzero.bench.model import ChatPrompt, Exhausted, Prompt, Request, TextPrompt, TokenPool, Wait, WordPool
from dayzero.bench.plans.closed_loop import STAGGER_NS
from dayzero.bench.plans.constant import NS_PER_S
from dayzero.bench.prompts import PromptWriter
from dayzero.core.workload import Message


@dataclass(slots=True)
class _Session:
    """One conversation so far: as picks where prompts are token ids, as messages where they are text."""

    number: int
    turn: int = 0
    picks: list[int] = field(default_factory=list)
    messages: tuple[Message, ...] = ()


class ConversationPlan:
    """Keeps as many conversations going as the cell has streams; the next one begins when one has had all its turns."""

    def __init__(self, writer: PromptWriter) -> None:
        writer.opening(0)  # what cannot be written is refused before anything is sent
        self._writer = writer
        self._cell = writer.cell
        self._sessions = writer.cell.size // writer.cell.turns
        self._begun = self._going = 0
        self._thinking: list[tuple[int, int]] = []  # (when the next turn is due, session)
        self._open: dict[int, _Session] = {}

    def take(self, elapsed_ns: int) -> Request | Wait | Exhausted:
        """Give the turn that is due, or a first turn; see :class:`dayzero.bench.ports.Plan`."""
        if self._thinking and self._thinking[0][0] <= elapsed_ns:
            due_ns, number = heapq.heappop(self._thinking)
            return self._next_turn(self._open[number], due_ns)
        waits = [self._thinking[0][0]] if self._thinking else []
        if self._begun < self._sessions and self._going < self._cell.concurrency:
            start_ns = self._begun * STAGGER_NS if self._begun < self._cell.concurrency else 0
            if start_ns <= elapsed_ns:
                return self._first_turn()
            waits.append(start_ns)
        if waits:
            return Wait(until_ns=min(waits))
        more = self._begun < self._sessions or any(each.turn + 1 < self._cell.turns for each in self._open.values())
        return Wait(until_ns=None) if more else Exhausted()

    def ended(self, request: Request, elapsed_ns: int, reply: Callable[[], str]) -> None:
        """Add the answer to the conversation; its next turn is due after the pause."""
        session = self._open[request.session]
        if session.turn + 1 == self._cell.turns:
            del self._open[request.session]
            self._going -= 1
            return
        self._answer(session, reply)
        session.turn += 1
        heapq.heappush(self._thinking, (elapsed_ns + round(self._cell.think_s * NS_PER_S), session.number))

    def _first_turn(self) -> Request:
        session = _Session(self._begun)
        self._open[session.number] = session
        self._begun += 1
        self._going += 1
        return self._request(session, self._writer.opening(self._position(session)), None)

    def _next_turn(self, session: _Session, due_ns: int) -> Request:
        count = self._writer.picks(self._cell.input_tokens)
        own = self._writer.numbered(self._position(session), count)
        return self._request(session, own, due_ns)

    def _request(self, session: _Session, own: list[int], due_ns: int | None) -> Request:
        said = session.turn
        return self._writer.request(
            self._position(session),
            self._say(session, own),
            input_tokens=(said + 1) * self._cell.input_tokens + said * self._cell.output_tokens,
            exact=not said or isinstance(self._writer.pool, TokenPool),
            due_ns=due_ns,
            session=session.number,
            turn=said,
        )

    def _say(self, session: _Session, own: list[int]) -> Prompt:
        match self._writer.prompt(own):
            case TextPrompt(text=text) as prompt:
                session.messages += (Message("user", text),)
                return ChatPrompt(messages=session.messages) if session.turn else prompt
            case _:
                session.picks += own
                return self._writer.prompt(session.picks)

    def _answer(self, session: _Session, reply: Callable[[], str]) -> None:
        match self._writer.pool:
            case TokenPool():
                key = f"{self._cell.name}/answer/{self._position(session)}"
                session.picks += self._writer.shared(key, self._cell.output_tokens)
            case WordPool():
                session.messages += (Message("assistant", reply()),)

    def _position(self, session: _Session) -> int:
        return session.number * self._cell.turns + session.turn

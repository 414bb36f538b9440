"""Ask the endpoint what a check needs, and end the check where the answer allows no further step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NoReturn, TypeAlias

from dayzero.core.verdict import Undecided
from dayzero.gates.contract.model import Answer, Body, Broken, Call, NotOffered, Outcome, numbers
from dayzero.gates.contract.ports import Endpoint
from dayzero.gates.contract.reply import Reply, read

Route: TypeAlias = Literal["/v1/chat/completions", "/v1/completions"]
CHAT: Route = "/v1/chat/completions"
COMPLETIONS: Route = "/v1/completions"

_OK = 200
_CLIENT_ERRORS = range(400, 500)
_NOT_IMPLEMENTED = 501
_SOME_TOKENS = 32


class CheckEndedError(Exception):
    """A check is over: what was answered decides it.

    Attributes:
        outcome: How it ended.
    """

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.reason)
        self.outcome = outcome


def end(outcome: Outcome) -> NoReturn:
    """End the check here."""
    raise CheckEndedError(outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """A conversation with one endpoint about one check.

    Attributes:
        endpoint: Sends and keeps.
        model: The model to ask for.
        route: Where prompts go.
        numbers: Lines of what was exchanged so far.
    """

    endpoint: Endpoint
    model: str
    route: Route
    numbers: list[int] = field(default_factory=list)

    @property
    def chat(self) -> bool:
        """Whether prompts are messages."""
        return self.route == CHAT

    def send(self, *calls: Call) -> tuple[Answer, ...]:
        """Send requests at the same time; no answer at all leaves the check undecided."""
        answers = self.endpoint.send(*calls)
        self.numbers.extend(numbers(answers))
        return answers

    def raw(self, path: str, body: Body | None = None) -> Answer:
        """Send one request; where no answer came, the check is undecided."""
        (answer,) = self.send(Call(path=path, body=body))
        if not answer.status:
            end(Undecided(f"{path} gave no answer: {answer.error}"))
        return answer

    def call(self, prompt: str, **fields: object) -> Call:
        """Write a request: greedy and short unless ``fields`` say otherwise; a field that is ``None`` is left out."""
        asked: dict[str, object] = {"model": self.model, "temperature": 0, "max_tokens": _SOME_TOKENS}
        asked |= {"messages": [{"role": "user", "content": prompt}]} if self.chat else {"prompt": prompt}
        asked |= fields
        return Call(path=self.route, body={name: value for name, value in asked.items() if value is not None})

    def ask(self, prompt: str, **fields: object) -> Reply:
        """Send one prompt and read the answer, whatever it is."""
        (answer,) = self.send(self.call(prompt, **fields))
        return read(answer)

    def answered(self, prompt: str, **fields: object) -> Reply:
        """Send one prompt that every endpoint has to answer; else the check ends."""
        return require(self.ask(prompt, **fields))

    def offered(self, what: str, prompt: str, **fields: object) -> Reply:
        """Send one prompt with something that an endpoint may refuse by saying so; then it is not offered."""
        return require(self.ask(prompt, **fields), optional=what)

    def streamed(self, prompt: str, **fields: object) -> Reply:
        """As :meth:`answered`, streamed, with usage asked for."""
        return self.answered(prompt, stream=True, stream_options={"include_usage": True}, **fields)


def require(reply: Reply, *, optional: str = "") -> Reply:
    """Give a reply back if it answers; else end the check.

    Args:
        reply: The reply.
        optional: What an endpoint may refuse by saying so.
    """
    if reply.ok:
        return reply
    if not reply.status:
        end(Undecided(f"no answer: {reply.said}"))
    if optional and refused(reply.status):
        end(NotOffered(f"{optional} is refused with {reply.status}: {reply.said}"))
    if reply.status == _OK:
        end(Broken(f"200 without an answer: {reply.said}"))
    said = f"{reply.status}: {reply.said}"
    end(Broken(f"{optional} ends in {said}") if optional else Undecided(f"a plain request is answered {said}"))


def refused(status: int) -> bool:
    """Say whether a status says that the request itself is refused."""
    return status in _CLIENT_ERRORS or status == _NOT_IMPLEMENTED


def refusal(answer: Answer, what: str, *, good: Sequence[int] = _CLIENT_ERRORS) -> str:
    """Say what is wrong with how something that has to be refused was answered; ``""`` where it was refused."""
    if answer.status in good:
        return ""
    if answer.status == _OK:
        return f"{what} is accepted"
    return f"{what} is answered {answer.status}: {read(answer).said}"


def usage_of(reply: Reply) -> tuple[int, int]:
    """Give prompt and completion tokens; without them the check ends."""
    if reply.usage is None or reply.usage.prompt < 0 or reply.usage.completion < 0:
        end(Broken("the answer carries no usage"))
    return reply.usage.prompt, reply.usage.completion


def one_line(text: str, length: int = 60) -> str:
    """Quote a text on one line, cut where it is long."""
    return repr(text if len(text) <= length else text[:length] + "...")


def fields_of(document: object) -> Mapping[str, object]:
    """Give the fields of a JSON object; none where it is something else."""
    return document if isinstance(document, dict) else {}

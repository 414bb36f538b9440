"""A trace again: its times, its lengths, and what its prompts had in common."""

from collections.abc import Iterator

from dayzero.bench.model import ChatPrompt, Prompt, Request, TextPrompt
from dayzero.bench.plans.constant import NS_PER_S
from dayzero.bench.prompts import PromptWriter
from dayzero.core.errors import InputError
from dayzero.core.workload import BLOCK_TOKENS, Arrival, Replay


def replay_times(replay: Replay) -> Iterator[int | None]:
    """Give the times of a trace's requests at its speed, in nanoseconds; a trace without times has none."""
    timed = replay.arrivals[-1].at_s > 0
    return (round(arrival.at_s / replay.speed * NS_PER_S) if timed else None for arrival in replay.arrivals)


class ReplayWriter:
    """Writes the requests of a trace.

    Raises:
        InputError: A prompt is shorter than what the server adds to each.
    """

    def __init__(self, writer: PromptWriter, replay: Replay) -> None:
        self._writer = writer
        self._arrivals = replay.arrivals
        self._sessions: dict[str, int] = {}  # name to the position of its first request
        self._turns: dict[str, int] = {}
        shortest = min((arrival.input_tokens for arrival in replay.arrivals if not arrival.prompt), default=None)
        if shortest is not None and shortest <= writer.pool.overhead:
            raise InputError(
                f"the trace has a prompt of {shortest} tokens; the server alone adds {writer.pool.overhead} to each",
                hint="Leave the shortest requests out of the trace.",
            )

    def __call__(self, position: int, due_ns: int | None) -> Request:
        """Write the request at a position; positions are asked for in order."""
        arrival = self._arrivals[position]
        first = self._sessions.setdefault(arrival.session, position) if arrival.session else position
        turn = self._turns.get(arrival.session, 0)
        if arrival.session:
            self._turns[arrival.session] = turn + 1
        return self._writer.request(
            position,
            self._prompt(arrival, first),
            input_tokens=arrival.input_tokens,
            output_tokens=arrival.output_tokens,
            exact=not arrival.prompt,
            due_ns=due_ns,
            session=first,
            turn=turn,
        )

    def _prompt(self, arrival: Arrival, first: int) -> Prompt:
        match arrival.prompt:
            case "":
                return self._writer.prompt(self._picks(arrival, first))
            case str(text):
                return TextPrompt(text=text)
            case messages:
                return ChatPrompt(messages=messages)

    def _picks(self, arrival: Arrival, first: int) -> list[int]:
        """Draw a prompt: the trace's own blocks, or the beginning of what its session says, which is different for each."""
        count = self._writer.own(arrival.input_tokens)
        if not arrival.blocks:
            return self._writer.numbered(first, count, may_be_cut=True)
        picks: list[int] = []
        for block in arrival.blocks:
            picks += self._writer.shared(f"block/{block}", BLOCK_TOKENS)
        return picks[:count]

"""Rules of validity that the server's own counters answer; docs/reference/telemetry.md."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dayzero.bench.rule import Finding, kept, untold
from dayzero.bench.telemetry.findings import CACHED_SHARE, FOREIGN_SHARE, FOREIGN_TOKENS, findings
from dayzero.bench.telemetry.model import ClientSide, Unknown, Window
from dayzero.bench.validity import Judgement
from dayzero.core.verdict import Refuted


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRule:
    """A rule that a finding of the same name breaks.

    Attributes:
        id: Its name.
        sentence: What it asks.
        bound: Where it ends, in words.
        check: Says what was held against the bound, or that it cannot be told; ``None`` where it is not asked.
    """

    id: str
    sentence: str
    bound: str
    check: Callable[[Window, ClientSide], Finding | None]


def judge(cell: str, said: Window | Unknown, client: ClientSide) -> tuple[Judgement, ...]:
    """Hold every rule against one cell.

    Args:
        cell: Name of the cell.
        said: What the server said over its measured phase.
        client: What the client knows of it.
    """
    broken = {finding.rule: finding.sentence for finding in findings(said, client) if finding.weight == "spoils"}
    judgements = []
    for rule in RULES:
        found = untold(said.reason) if isinstance(said, Unknown) else rule.check(said, client)
        if found is not None:
            judgements.append(
                Judgement(
                    rule=rule.id,
                    cell=cell,
                    sentence=rule.sentence,
                    bound=rule.bound,
                    measured=found.measured,
                    verdict=Refuted(broken[rule.id]) if rule.id in broken else found.verdict,
                )
            )
    return tuple(judgements)


def _restarted(window: Window, _client: ClientSide) -> Finding:
    if not window.counted:
        return untold("the server gives no counter")
    return kept("one went back" if window.restarted else "none went back")


def _cached(window: Window, client: ClientSide) -> Finding | None:
    if client.declares_reuse:
        return None
    hits, prompts = window.counted.get("cached_tokens"), window.counted.get("prompt_tokens")
    if hits is None or prompts is None:
        return untold("the server does not count prompt tokens out of a cache")
    return kept(f"{hits:.0f} of {prompts:.0f} tokens")


def _foreign(window: Window, client: ClientSide) -> Finding:
    served, received = window.counted.get("generated_tokens"), client.generated_tokens
    if served is None or received is None:
        return untold("the server, or an answer, does not count what was generated")
    return kept(f"{served:.0f} generated, {received} received")


RULES: Final = (
    ServerRule(
        id="server-restarted",
        sentence="The server ran through: none of its counters went back.",
        bound="none",
        check=_restarted,
    ),
    ServerRule(
        id="server-cache-hits",
        sentence="By the server's own count no prompt came out of a prefix cache, unless the workload shares prefixes.",
        bound=f"at most {CACHED_SHARE:.0%} of the prompt tokens",
        check=_cached,
    ),
    ServerRule(
        id="foreign-load",
        sentence="The server served nobody else meanwhile.",
        bound=f"at most {FOREIGN_TOKENS} tokens and {FOREIGN_SHARE:.0%} more than the client received",
        check=_foreign,
    ),
)

"""Make the checks, one after the other."""

from collections.abc import Callable, Sequence

from dayzero.core.verdict import Undecided
from dayzero.gates.contract.check import Check
from dayzero.gates.contract.checks.prompts import STORY
from dayzero.gates.contract.model import Broken, Found, Outcome, Report
from dayzero.gates.contract.ports import Endpoint
from dayzero.gates.contract.reply import Reply, read
from dayzero.gates.contract.talk import CHAT, COMPLETIONS, CheckEndedError, Route, Talk, refused


def run(
    endpoint: Endpoint,
    model: str,
    checks: Sequence[Check],
    *,
    known: Sequence[str] = (),
    told: Callable[[str], None] = lambda _: None,
) -> Report:
    """Make the checks on the chat route, on that of completions where there is no chat.

    Args:
        endpoint: Sends, and keeps what was exchanged.
        model: The model to ask for.
        checks: What to look at.
        known: Names of checks that the caller knows to be broken: they are told apart from new ones.
        told: Hears the name of each check before it is made.
    """
    endpoint.begin("route")
    route, refusal = _route(endpoint, model)
    found = []
    for check in checks:
        told(check.name)
        endpoint.begin(check.name)
        talk = Talk(endpoint=endpoint, model=model, route=route)
        outcome = Undecided(refusal) if refusal else _made(check, talk)
        found.append(
            Found(
                check=check.name,
                promise=check.promise,
                outcome=outcome,
                exchanges=tuple(talk.numbers),
                known=check.name in known and isinstance(outcome, Broken),
            )
        )
    settled = {one.check for one in found if one.known}
    return Report(
        model=model,
        route=route,
        found=tuple(found),
        unknown=tuple(name for name in known if name not in settled),
    )


def _made(check: Check, talk: Talk) -> Outcome:
    try:
        return check.look(talk)
    except CheckEndedError as ended:
        return ended.outcome


def _route(endpoint: Endpoint, model: str) -> tuple[Route, str]:
    """Find the route that answers; where none does, the reason too."""
    reply = Reply(status=0, said="nothing was asked")
    for route in (CHAT, COMPLETIONS):
        talk = Talk(endpoint=endpoint, model=model, route=route)
        reply = read(talk.send(talk.call(STORY, max_tokens=1))[0])
        if reply.ok:
            return route, ""
        if not refused(reply.status):
            break
    return CHAT, f"a plain request is answered {reply.status or 'not at all'}: {reply.said}"

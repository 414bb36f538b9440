"""A body that is no request is refused as the client's fault."""

from dayzero.gates.contract.check import Check
from dayzero.gates.contract.model import Body, Broken, Holds, Outcome
from dayzero.gates.contract.talk import Talk, refusal


def _look(talk: Talk) -> Outcome:
    key = "messages" if talk.chat else "prompt"
    bodies: tuple[tuple[str, Body], ...] = (
        ("broken JSON", b'{"model": '),
        ("a JSON array", b"[1, 2]"),
        (f"a request without {key}", {"model": talk.model, "max_tokens": 1}),
        (f"a request whose {key} is an object", {"model": talk.model, "max_tokens": 1, key: {"role": "user"}}),
    )
    wrong = [said for what, body in bodies if (said := refusal(talk.raw(talk.route, body), what))]
    return Broken("; ".join(wrong)) if wrong else Holds(f"{len(bodies)} bodies that are no request are refused")


CHECK = Check(name="malformed", promise="a body that is no request is refused with 4xx", look=_look)

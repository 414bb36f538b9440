"""Values out of their range are refused."""

from collections.abc import Mapping
from typing import Final

from dayzero.gates.contract.check import Check
from dayzero.gates.contract.checks.prompts import STORY
from dayzero.gates.contract.model import Broken, Holds, Outcome
from dayzero.gates.contract.talk import Talk, refusal

_WRONG: Final[tuple[Mapping[str, object], ...]] = (
    {"temperature": -1},
    {"top_p": 1.5},
    {"top_k": -7},
    {"n": 0},
    {"max_tokens": "five"},
)


def _look(talk: Talk) -> Outcome:
    accepted = []
    for wrong in _WRONG:
        call = talk.call(STORY, **({"max_tokens": 1} | dict(wrong)))
        ((name, value),) = wrong.items()
        accepted.append(refusal(talk.raw(call.path, call.body), f"{name} {value!r}"))
    broken = [said for said in accepted if said]
    if broken:
        return Broken("; ".join(broken))
    return Holds(f"{len(_WRONG)} values out of range are refused")


CHECK = Check(name="ranges", promise="values out of their range are refused with 4xx", look=_look)

"""A tool call that is required comes, with arguments of the schema."""

from dayzero.gates.contract.check import Check
from dayzero.gates.contract.checks.prompts import WEATHER
from dayzero.gates.contract.checks.weather_tool import NAMED, TOKENS, TOOLS, judged, need_chat
from dayzero.gates.contract.model import Holds, Outcome
from dayzero.gates.contract.talk import Talk


def _look(talk: Talk) -> Outcome:
    need_chat(talk)
    for choice in ("required", NAMED):
        asked = talk.offered("tool_choice", WEATHER, tools=TOOLS, tool_choice=choice, max_tokens=TOKENS)
        outcome = judged(asked)
        if not isinstance(outcome, Holds):
            return outcome
    return outcome


CHECK = Check(name="tool-call", promise="a required tool call comes, with arguments of its schema", look=_look)

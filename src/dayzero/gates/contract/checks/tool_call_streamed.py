"""The pieces of a streamed tool call make one call."""

from dayzero.gates.contract.check import Check
from dayzero.gates.contract.checks.prompts import WEATHER
from dayzero.gates.contract.checks.weather_tool import TOKENS, TOOLS, judged, need_chat
from dayzero.gates.contract.model import Outcome
from dayzero.gates.contract.talk import Talk


def _look(talk: Talk) -> Outcome:
    need_chat(talk)
    asked = {"tools": TOOLS, "tool_choice": "required", "max_tokens": TOKENS, "stream": True}
    return judged(talk.offered("tool_choice", WEATHER, **asked))


CHECK = Check(name="tool-call-streamed", promise="the pieces of a streamed tool call make one call", look=_look)

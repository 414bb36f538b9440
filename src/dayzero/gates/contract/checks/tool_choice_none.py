"""``tool_choice`` "none" keeps the model from calling a tool."""

from dayzero.core.verdict import Undecided
from dayzero.gates.contract.check import Check
from dayzero.gates.contract.checks.prompts import WEATHER
from dayzero.gates.contract.checks.weather_tool import TOKENS, TOOLS, need_chat
from dayzero.gates.contract.model import Broken, Holds, Outcome
from dayzero.gates.contract.talk import Talk


def _look(talk: Talk) -> Outcome:
    need_chat(talk)
    required = talk.offered("tool_choice", WEATHER, tools=TOOLS, tool_choice="required", max_tokens=TOKENS)
    if not required.choices[0].calls:
        return Undecided("no call comes even where one is required")
    reply = talk.offered("tool_choice", WEATHER, tools=TOOLS, tool_choice="none")
    if reply.choices[0].calls:
        return Broken(f"{reply.choices[0].calls[0].name} is called although no call was allowed")
    return Holds("a text, and no call")


CHECK = Check(name="tool-choice-none", promise="tool_choice none keeps tools from being called", look=_look)

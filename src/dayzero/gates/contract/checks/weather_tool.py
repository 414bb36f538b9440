"""The tool that the checks of tool calls offer, and what a right call of it is."""

from collections.abc import Mapping
from typing import Final

from dayzero.gates.contract.model import Broken, Holds, NotOffered, Outcome
from dayzero.gates.contract.reply import Reply, json_object
from dayzero.gates.contract.schema import problems
from dayzero.gates.contract.talk import Talk, end, one_line

NAME: Final = "get_weather"
SCHEMA: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}},
    "required": ["city", "unit"],
    "additionalProperties": False,
}
TOOLS: Final = (
    {
        "type": "function",
        "function": {"name": NAME, "description": "Give the weather of a city.", "parameters": SCHEMA},
    },
)
NAMED: Final = {"type": "function", "function": {"name": NAME}}
TOKENS: Final = 96


def need_chat(talk: Talk) -> None:
    """End the check where there is no chat route, the only one that has tools."""
    if not talk.chat:
        end(NotOffered("there is no chat route"))


def judged(reply: Reply) -> Outcome:
    """Say whether an answer is the call that was asked for."""
    choice = reply.choices[0]
    if not choice.calls:
        return Broken(f"a call was required, and a text came: {one_line(choice.text)}")
    call = choice.calls[0]
    if call.name != NAME:
        return Broken(f"the function {call.name!r} is called, which was not offered")
    arguments = json_object(call.arguments)
    if arguments is None:
        cut = f" (finish_reason {choice.finish})" if choice.finish == "length" else ""
        return Broken(f"the arguments are no JSON object: {one_line(call.arguments)}{cut}")
    wrong = list(problems(arguments, SCHEMA))
    if wrong:
        return Broken(f"the arguments are not of the schema: {'; '.join(wrong)}")
    if choice.finish not in {"tool_calls", "stop"}:
        return Broken(f"finish_reason is {choice.finish or 'missing'!r} where a tool is called")
    return Holds(f"{NAME} is called with arguments of its schema")

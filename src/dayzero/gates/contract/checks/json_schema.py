"""``response_format`` with a schema gives an answer of that schema."""

from collections.abc import Mapping
from typing import Final

from dayzero.core.verdict import Undecided
from dayzero.gates.contract.check import Check
from dayzero.gates.contract.checks.prompts import PERSON
from dayzero.gates.contract.model import Broken, Holds, Outcome
from dayzero.gates.contract.reply import json_object
from dayzero.gates.contract.schema import problems
from dayzero.gates.contract.talk import Talk, one_line

_TOKENS: Final = 128
_SCHEMA: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {
        "mood": {"type": "string", "enum": ["cheerful", "gloomy"]},
        "age": {"type": "integer"},
        "left_handed": {"type": "boolean"},
    },
    "required": ["mood", "age", "left_handed"],
    "additionalProperties": False,
}


def _look(talk: Talk) -> Outcome:
    wanted = {"type": "json_schema", "json_schema": {"name": "person", "strict": True, "schema": _SCHEMA}}
    reply = talk.offered("response_format json_schema", PERSON, response_format=wanted, max_tokens=_TOKENS)
    choice = reply.choices[0]
    document = json_object(choice.text)
    if document is None and choice.finish == "length" and choice.text.lstrip().startswith("{"):
        return Undecided(f"the answer was cut at {_TOKENS} tokens: {one_line(choice.text)}")
    if document is None:
        return Broken(f"the answer is no JSON object: {one_line(choice.text)}")
    wrong = list(problems(document, _SCHEMA))
    return Broken("; ".join(wrong)) if wrong else Holds("the answer is of the schema")


CHECK = Check(name="json-schema", promise="response_format json_schema gives an answer of the schema", look=_look)

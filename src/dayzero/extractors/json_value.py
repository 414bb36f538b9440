"""Take one value out of a JSON file, or out of one line of a JSON-lines file, by its RFC 6901 pointer.

A number is given as it is written in the file, digit for digit; a string without its quotation marks; ``true`` and ``false`` as
those words. Parameter, optional: ``decimals`` (0 to 15) rounds a number in decimal arithmetic, half to even.
"""

import json

from dayzero.core.errors import EvidenceError
from dayzero.evidence.locate import locate_jsonl, locate_pointer
from dayzero.evidence.locator import JsonlLocator, Locator, PointerLocator
from dayzero.extractors.rounding import printed


class JsonValue:
    """Reads one number, string or truth value. Implements ``extractors.interface.Extractor``."""

    name = "json-value"
    version = 1

    def extract(self, raw: bytes, locator: Locator, parameters: tuple[tuple[str, str], ...]) -> str:
        """Give the value.

        Raises:
            EvidenceError: The file is not JSON with one meaning, nothing is there, or what is there is no single value.
        """
        match locator:
            case PointerLocator(pointer=pointer):
                literal = locate_pointer(raw, locator).literal
            case JsonlLocator(pointer=pointer):
                literal = locate_jsonl(raw, locator)
            case _:
                raise EvidenceError("json-value reads one value", hint="Locate the claim by a JSON pointer.")
        return printed(_plain(literal, pointer), parameters, by=self.name)


def _plain(literal: str, pointer: str) -> str:
    if literal == "null" or literal.startswith(("{", "[")):
        what = {"{": "an object", "[": "an array"}.get(literal[0], "null")
        raise EvidenceError(
            f"{what} stands at {pointer!r}, not a value", hint="Point at a number, a string or a truth value."
        )
    value = str(json.loads(literal)) if literal.startswith('"') else literal
    if not value:
        raise EvidenceError(f"an empty string stands at {pointer!r}", hint="Point at a value that says something.")
    return value


EXTRACTOR = JsonValue()

"""Hold a JSON value to a schema, as far as the schemas of these checks go: types, required and allowed members, enumerations."""

from collections.abc import Iterator, Mapping

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "boolean": bool,  # before the numbers, since Python counts it among them
    "object": dict,
    "string": str,
    "integer": int,
    "number": (int, float),
    "array": list,
}


def problems(value: object, schema: Mapping[str, object], at: str = "$") -> Iterator[str]:
    """Say where a value differs from its schema.

    Args:
        value: The value.
        schema: ``type``, ``enum``, ``properties``, ``required`` and ``additionalProperties``; nothing else is read.
        at: Where the value stands.
    """
    kind = str(schema["type"])
    if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        yield f"{at} is {_kind(value)}, not {kind}"
        return
    choices = schema.get("enum")
    if isinstance(choices, list) and value not in choices:
        yield f"{at} is {value!r}, none of {choices}"
    if isinstance(value, dict):
        yield from _members(value, schema, at)


def _members(value: Mapping[str, object], schema: Mapping[str, object], at: str) -> Iterator[str]:
    properties, required = schema.get("properties"), schema.get("required")
    known = properties if isinstance(properties, dict) else {}
    for name in required if isinstance(required, list) else []:
        if name not in value:
            yield f"{at}.{name} is missing"
    for name, member in value.items():
        if name in known:
            yield from problems(member, known[name], f"{at}.{name}")
        elif schema.get("additionalProperties") is False:
            yield f"{at}.{name} is not in the schema"


def _kind(value: object) -> str:
    return next((name for name, kinds in _TYPES.items() if isinstance(value, kinds)), "null")

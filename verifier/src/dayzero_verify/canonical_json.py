"""Canonical JSON as OLPC defined it and TUF signs it: sorted keys, no white space, two escapes, whole numbers only."""

from dayzero_verify.strict_json import MAX_INTEGER, Json


class CanonicalJsonError(ValueError):
    """A value has no canonical form."""


def canonical_json(value: Json) -> bytes:
    """Write the one form of a value.

    Raises:
        CanonicalJsonError: It holds a number with a fraction, an integer beyond 2^53 - 1, or a surrogate without its pair.
    """
    try:
        return _text(value).encode("utf-8")
    except UnicodeEncodeError as error:
        raise CanonicalJsonError("a text holds a surrogate without its pair") from error


def _text(value: Json) -> str:
    match value:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case str():
            return _quoted(value)
        case int() if abs(value) <= MAX_INTEGER:
            return str(value)
        case list():
            return f"[{','.join(map(_text, value))}]"
        case dict():
            return f"{{{','.join(f'{_quoted(key)}:{_text(value[key])}' for key in sorted(value))}}}"
        case _:
            raise CanonicalJsonError(f"no whole number of at most 2^53 - 1: {value!a}"[:80])


def _quoted(text: str) -> str:
    """Escape the backslash and the quotation mark; every other character, a newline too, stands for itself."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

"""Write a statement as the bytes that are signed."""

from collections.abc import Mapping

import rfc8785

from dayzero.attestation.model import Statement
from dayzero.core.errors import InputError
from dayzero.core.pins import Sha256
from dayzero_verify.statement import STATEMENT_TYPE


def document(statement: Statement) -> dict[str, object]:
    """Give the statement as in-toto's JSON members."""
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": entry.name, "digest": {"sha256": entry.sha256.hex}} for entry in statement.subjects],
        "predicateType": statement.predicate_type,
        "predicate": dict(statement.predicate),
    }


def payload(statement: Statement) -> bytes:
    """Write the statement in its RFC 8785 form: the same bytes for the same statement.

    Raises:
        InputError: The predicate holds something that would not come back as it was: a float, an integer beyond 2^53 - 1, or
            what JSON does not have.
    """
    members = document(statement)
    _refuse_floats(members, "statement")
    try:
        return rfc8785.dumps(members)  # type: ignore[arg-type]  # the library checks each value
    except rfc8785.CanonicalizationError as error:
        raise InputError(
            f"the statement cannot be written as canonical JSON: {error}",
            hint="Use text, integers up to 2^53 - 1, lists and objects.",
        ) from error


def payload_digest(statement: Statement) -> Sha256:
    """Name a statement by the digest of its signed bytes, so that another statement can require it."""
    return Sha256.of(payload(statement))


def _refuse_floats(value: object, where: str) -> None:
    match value:
        case float():
            raise InputError(
                f"{where} is a float, and the canonical form drops its trailing digits",
                hint="Write the number as text.",
            )
        case Mapping():
            for key, member in value.items():
                _refuse_floats(member, f"{where}.{key}")
        case list() | tuple():
            for index, member in enumerate(value):
                _refuse_floats(member, f"{where}[{index}]")

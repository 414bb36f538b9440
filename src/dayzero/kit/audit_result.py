"""State what an audit found, as an in-toto test result; an audit that was left undecided is a warning, never a pass."""

from collections.abc import Mapping

from dayzero.attestation.model import Statement, Subject
from dayzero.core.errors import InputError
from dayzero.core.package import Package
from dayzero.core.pins import Sha256
from dayzero.kit.model import Kit
from dayzero_verify.strict_json import Json, StrictJsonError, loads

TEST_RESULT_TYPE = "https://in-toto.io/attestation/test-result/v0.1"
AUDIT_SCHEMA = "dayzero/audit/v2"
_RESULTS = {"proven": "PASSED", "undecided": "WARNED", "refuted": "FAILED"}
_HINT = "Give what dayzero audit PACKAGE --output-format json wrote."


def audit_result(kit: Kit, package: Package, report: bytes) -> Statement:
    """State the result of an audit of the package's build.

    Args:
        kit: The kit that it belongs to.
        package: Its definition.
        report: The audit's JSON, schema ``dayzero/audit/v2``.

    Raises:
        InputError: It is no such report, or one of another engine build.
    """
    try:
        found = loads(report)
    except StrictJsonError as error:
        raise InputError(f"the audit report is not strict JSON: {error}", hint=_HINT) from error
    if not isinstance(found, dict) or found.get("schema") != AUDIT_SCHEMA:
        raise InputError(f"the audit report is not one of schema {AUDIT_SCHEMA}", hint=_HINT)
    engine = found.get("engine")
    if engine != str(package.recipe.engine):
        raise InputError(f"the audit report is about {engine!a}, the package pins {package.recipe.engine}", hint=_HINT)
    result = _RESULTS.get(str(found.get("verdict")))
    if result is None:
        raise InputError("the audit report holds no verdict", hint=_HINT)
    failed, warned = _fallen(found)
    asked = [rule for rule in _texts(found.get("rules")) if rule not in {*failed, *warned}]
    return Statement(
        subjects=(Subject(kit.file_name, kit.sha256),),
        predicate_type=TEST_RESULT_TYPE,
        predicate={
            "result": "WARNED" if result == "PASSED" and warned else result,
            "configuration": [{"name": "dayzero audit report", "digest": {"sha256": Sha256.of(report).hex}}],
            "passedTests": asked,
            "warnedTests": warned,
            "failedTests": failed,
        },
    )


def _fallen(report: Mapping[str, Json]) -> tuple[list[str], list[str]]:
    """Give the rules that refute, and the rules with other findings and the needed questions that nobody could answer."""
    findings = [entry for entry in _list(report.get("findings")) if isinstance(entry, dict)]
    failed = sorted({str(entry.get("rule")) for entry in findings if entry.get("refutes") is True})
    warned = {str(entry.get("rule")) for entry in findings} - set(failed)
    unread = [entry for entry in _list(report.get("not_checked")) if isinstance(entry, dict)]
    return failed, sorted(warned | {str(entry.get("what")) for entry in unread if entry.get("needed") is True})


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _texts(value: Json) -> list[str]:
    return [str(entry) for entry in _list(value)]

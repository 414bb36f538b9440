"""Checks that take more than the standard library: made by what is installed beside the verifier, once a kit is verified."""

from importlib.metadata import EntryPoint, entry_points

from dayzero_verify.kit import Content
from dayzero_verify.report import RECHECKS_ABSENT, ExitCode, Outcome, Row, Status

GROUP = "dayzero_verify.rechecks"
CHECKS = ("deploy_files", "claims")


class RecheckError(Exception):
    """An installed recheck answered a question that it was not asked."""


def outcomes(content: Content) -> tuple[Outcome, ...]:
    """Make each further check that something installed makes; each of the others gets its reason.

    An entry point of the group is called ``deploy_files`` or ``claims``; it takes the verified content and gives its outcome.

    Raises:
        RecheckError: An entry point answered for another check.
    """
    installed = entry_points(group=GROUP)
    return tuple(_outcome(check, tuple(installed.select(name=check)), content) for check in CHECKS)


def _outcome(check: str, installed: tuple[EntryPoint, ...], content: Content) -> Outcome:
    if not installed:
        return _unmade(check, RECHECKS_ABSENT)
    if len({point.value for point in installed}) > 1:
        return _unmade(
            check, f"more than one program is installed that makes it: {', '.join(p.value for p in installed)}"
        )
    try:
        make = installed[0].load()
    except (ImportError, AttributeError) as error:
        return _unmade(check, f"what makes this check cannot be loaded: {error}")
    outcome = make(content)
    if not isinstance(outcome, Outcome) or outcome.row.check != check:
        raise RecheckError(f"{installed[0].value} does not answer for the check {check}")
    return outcome


def _unmade(check: str, reason: str) -> Outcome:
    return Outcome(Row(check, Status.NOT_CHECKED, reason), ExitCode.VERIFIED)

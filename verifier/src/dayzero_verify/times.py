"""Moments as trust documents write them: UTC to the second, in one spelling."""

import re
from datetime import UTC, datetime

_TIME = re.compile(r"(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})Z", re.ASCII)


class TimeError(ValueError):
    """A text is no moment in the one spelling."""


def parse_time(text: object) -> datetime:
    """Read ``2026-11-30T12:00:00Z``.

    Raises:
        TimeError: Another spelling, or no moment of the calendar.
    """
    match = _TIME.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise TimeError(f"not a time like 2026-11-30T12:00:00Z: {text!a}"[:80])
    year, month, day, hour, minute, second = map(int, match.groups())
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError as error:
        raise TimeError(f"no moment of the calendar: {text!a}") from error


def format_time(moment: datetime) -> str:
    """Write a moment in UTC, cut to the second."""
    return moment.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"

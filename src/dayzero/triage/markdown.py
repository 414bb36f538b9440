"""Write a diagnosis in a few lines of Markdown, to be pasted into an issue."""

from collections.abc import Sequence

from dayzero.triage.model import CauseNotInLog, Diagnosis, Link, NamedWall, RootFound, Started

_MOST_TEXT = 400
_MOST_LINKS = 12


def paste(diagnosis: Diagnosis, name: str) -> str:
    """Write one diagnosis; what it quotes is redacted as everywhere.

    Args:
        diagnosis: The answer.
        name: What the log is called.
    """
    name = name.replace("`", "'")
    match diagnosis:
        case RootFound(root=root, wall=wall, chain=chain):
            lines = [f"**Root cause**, line {root.line} of `{name}`:", *_quoted((root,))]
            if isinstance(wall, NamedWall):
                lines += [f"**Wall**: {wall.wall} ({wall.category}). {wall.title}"]
                lines += [f"**Resolution** ({_standing(wall)}): {wall.resolution.text}"]
            lines += ["**Chain**:", *_quoted(chain)]
        case CauseNotInLog(reason=reason, collect=collect, chain=chain):
            lines = [f"**The cause is not in `{name}`**: {reason}"]
            lines += [f"- collect: {what}" for what in collect]
            lines += _quoted(chain)
        case Started(marker=marker):
            lines = [f"**Started**, line {marker.line} of `{name}`:", *_quoted((marker,))]
    return "\n".join([*lines, _footer(diagnosis)])


def _standing(wall: NamedWall) -> str:
    return f"confirmed by {wall.resolution.confirmed_by}" if wall.resolution.confirmed else "unconfirmed"


def _quoted(links: Sequence[Link]) -> list[str]:
    # No text of the log can close the fence: its backticks are replaced.
    rows = [f"{link.line}: [{link.role.value}] {link.text[:_MOST_TEXT]}".replace("`", "'") for link in links]
    rows[_MOST_LINKS:] = [f"and {len(rows) - _MOST_LINKS} more"] if len(rows) > _MOST_LINKS else []
    return ["```text", *rows, "```"] if rows else []


def _footer(diagnosis: Diagnosis) -> str:
    log = diagnosis.log
    engine = " ".join(word for word in (log.engine, log.version) if word) or "engine not recognised"
    return f"{engine}, {log.lines} lines, sha256 `{log.sha256}`"

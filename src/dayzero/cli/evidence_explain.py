"""``dayzero evidence explain``: assert a cause, with the trials that were made to settle it."""

from pathlib import Path

from dayzero.cli.console import stderr_console
from dayzero.cli.main import PROVEN
from dayzero.core.verdict import Proven
from dayzero.evidence.design import judge
from dayzero.evidence.trials_document import verdict_word
from dayzero.wiring.explaining import file_explanation


def explain_cause(file: Path, root: Path = Path(), *, command: str = "not said") -> int:
    """Assert a cause: keep the raw files of its trials, append it to the ledger, and say at once what they support.

    An explanation is never a number, and withdrawing it leaves the claims that it explains standing. It is filed whatever
    its trials support; 'dayzero evidence trials' and every page that shows it say so.

    Args:
        file: TOML file with slug, statement, facts and [[trial]] tables.
        root: Folder that holds evidence/.
        command: Command that produced the raw files; it is published.
    """
    explanation, filed = file_explanation(root, file, command=command)
    for path in filed.moved_aside:
        stderr_console().print(f"A half line at the end of the ledger was moved to {path}.")
    answer = judge(explanation)
    print(f"{explanation.slug}: {explanation.statement}")
    print(f"{verdict_word(answer)}: {answer.reason}")
    if not isinstance(answer, Proven):
        print(f"To see what would settle it: dayzero evidence trials {explanation.slug} --plan")
    return PROVEN

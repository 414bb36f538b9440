"""Enum members, methods and other attributes that the engine reads and its libraries' classes do not have."""

from collections.abc import Iterator

from dayzero.audit.finding import Finding, NotChecked
from dayzero.audit.python.judge import judge
from dayzero.audit.python.study import engine_study
from dayzero.audit.python.values import Absent
from dayzero.audit.rules import Rule, Subject


class PythonMembers:
    """Implements ``Rule``."""

    id = "python-member"
    question = "Does each member and attribute that the engine reads from a library's class exist there?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Give what is read in vain."""
        study = engine_study(subject.installed)
        for lack in study.lacks:
            if isinstance(lack.what, Absent) and lack.what.kind in {"member", "attribute"}:
                yield judge(study, lack, subject, self.id)


RULE: Rule = PythonMembers()

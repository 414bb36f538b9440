"""Calls of the engine that its libraries' signatures do not take."""

from collections.abc import Iterator

from dayzero.audit.finding import Finding, NotChecked
from dayzero.audit.python.judge import judge
from dayzero.audit.python.signatures import Misfit
from dayzero.audit.python.study import engine_study
from dayzero.audit.rules import Rule, Subject


class PythonSignatures:
    """Implements ``Rule``."""

    id = "python-signature"
    question = "Does each call that the engine makes into a library fit the signature there?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Give the calls that do not fit."""
        study = engine_study(subject.installed)
        for lack in study.lacks:
            if isinstance(lack.what, Misfit):
                yield judge(study, lack, subject, self.id)


RULE: Rule = PythonSignatures()

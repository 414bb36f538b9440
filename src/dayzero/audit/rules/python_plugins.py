"""What installed libraries ask of the engine, in the other direction."""

from collections.abc import Iterator
from dataclasses import replace

from dayzero.audit.finding import Finding, NotChecked, Severity
from dayzero.audit.python.judge import judge
from dayzero.audit.python.study import plugin_studies
from dayzero.audit.rules import Rule, Subject


class PythonPlugins:
    """Implements ``Rule``. A library's own integration matters only where it is used."""

    id = "python-plugin"
    question = "Does the engine have what its installed libraries and plug-ins import from it?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Give what a library asks of the engine in vain."""
        for study in plugin_studies(subject.installed):
            for lack in study.lacks:
                found = judge(study, lack, subject, self.id)
                if found.severity is not Severity.GUARDED:
                    when = f"{lack.module.name} of {study.asker} is used"
                    found = replace(found, severity=Severity.OPT_IN, when=when)
                yield found


RULE: Rule = PythonPlugins()

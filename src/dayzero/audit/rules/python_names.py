"""Names and modules that the engine imports and its libraries do not have."""

from collections.abc import Iterator

from dayzero.audit.finding import Finding, NotChecked
from dayzero.audit.python.judge import concerns, judge
from dayzero.audit.python.study import engine_study
from dayzero.audit.python.values import Absent
from dayzero.audit.rules import Rule, Subject


class PythonNames:
    """Implements ``Rule``."""

    id = "python-name"
    question = "Does each module and name that the engine imports from a library exist there?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Give what is imported in vain, and which files could not be read for it."""
        study = engine_study(subject.installed)
        for name, place in study.unread:
            own = study.distribution_of(name) is study.asker
            what = (
                f"what {place.file} asks of the libraries"
                if own
                else f"what is asked of {place.artifact}: {place.file}"
            )
            yield NotChecked(what=what, why=place.quote, needed=not own or concerns(study, name, subject))
        for lack in study.lacks:
            if isinstance(lack.what, Absent) and lack.what.kind in {"module", "name"}:
                yield judge(study, lack, subject, self.id)


RULE: Rule = PythonNames()

"""Is the model's architecture one of SGLang's models?"""

from collections.abc import Iterator
from typing import Final

from dayzero.audit.architectures import QUESTION, Known, architectures_of, unregistered
from dayzero.audit.architectures import RULE as RULE_ID
from dayzero.audit.finding import Finding, NotChecked
from dayzero.audit.first_releases import first_release
from dayzero.audit.rules import Subject
from dayzero.engines.sglang.registry import REGISTRY


class SglangArchitecture:
    """Implements ``audit.rules.Rule``."""

    id: str = RULE_ID
    question: str = QUESTION

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Look the model's architectures up in the entry classes."""
        if subject.engine != "sglang" or subject.model is None:
            return
        names = architectures_of(subject.model)
        if not names:
            yield NotChecked(QUESTION, "the model's config.json names no architectures")
            return
        engine = subject.installed.engine
        first = first_release("dayzero.engines.sglang", names[0], after=engine.version)
        resolution = f"Use sglang {first}, the first release that registers it." if first else ""
        table = REGISTRY.read_architectures(engine.files)
        yield from unregistered(
            subject,
            names,
            Known(table=table, resolution=resolution),
        )


RULE: Final = SglangArchitecture()

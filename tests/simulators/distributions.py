"""Installed distributions, in memory."""

from collections.abc import Mapping, Sequence

from tests.simulators.build_files import BuildInMemory

from dayzero.audit.installed import Distribution, Installed
from dayzero.audit.rules import Rule, Subject


def distribution(
    name: str, version: str, files: Mapping[str, str] | None = None, *, requires: Sequence[str] = ()
) -> Distribution:
    content = {path: text.encode() for path, text in (files or {}).items()}
    held = BuildInMemory(content, artifact=f"{name} {version}")
    return Distribution(name=name, version=version, requires=tuple(requires), files=held)


def found_by(rule: Rule, engine: Distribution, *others: Distribution, **about: object) -> list[object]:
    """Put one rule to an engine with some libraries."""
    subject = Subject(installed=Installed(engine=engine, others=others), engine=engine.name, **about)
    return list(rule.check(subject))

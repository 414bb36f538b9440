"""Mini packages that a test writes out: an engine, and the libraries beside it."""

import textwrap
from collections.abc import Iterable, Mapping

from dayzero.audit.finding import Finding
from dayzero.audit.installed import Distribution, Installed
from dayzero.audit.rules import Subject
from dayzero.audit.rules.python_lanes import PythonLanes
from dayzero.audit.rules.python_members import PythonMembers
from dayzero.audit.rules.python_names import PythonNames
from dayzero.audit.rules.python_plugins import PythonPlugins
from dayzero.audit.rules.python_signatures import PythonSignatures

RULES = (PythonNames(), PythonMembers(), PythonSignatures(), PythonLanes(), PythonPlugins())


class Files:
    """Files in memory. Implements ``audit.ports.BuildFiles``."""

    def __init__(self, artifact: str, texts: Mapping[str, str]) -> None:
        self.artifact = artifact
        self._texts = {name: textwrap.dedent(text).lstrip("\n").encode() for name, text in texts.items()}

    def names(self) -> tuple[str, ...]:
        return tuple(self._texts)

    def read(self, name: str) -> bytes:
        return self._texts[name]


def distribution(name: str, version: str, texts: Mapping[str, str], requires: Iterable[str] = ()) -> Distribution:
    return Distribution(name=name, version=version, requires=tuple(requires), files=Files(f"{name} {version}", texts))


def pair(engine: str | Mapping[str, str], library: str | Mapping[str, str], requires: Iterable[str] = ()) -> Installed:
    """An engine ``eng`` and a library ``lib``; one text stands for the engine's ``run.py`` and the library's ``__init__.py``."""
    engines = {"eng/__init__.py": "", **({"eng/run.py": engine} if isinstance(engine, str) else engine)}
    libraries = {"lib/__init__.py": library} if isinstance(library, str) else library
    return Installed(
        engine=distribution("eng", "1.0", engines, requires), others=(distribution("lib", "2.0", libraries),)
    )


def findings(installed: Installed, **subject: object) -> list[Finding]:
    asked = Subject(installed=installed, engine="eng", **subject)
    return [one for rule in RULES for one in rule.check(asked) if isinstance(one, Finding)]


def seen(installed: Installed, **subject: object) -> list[str]:
    """Each finding as ``rule severity file:line``."""
    return [
        f"{one.rule} {one.severity.value} {one.engine.file}:{one.engine.position.removeprefix('line ')}"
        for one in findings(installed, **subject)
        if one.engine
    ]

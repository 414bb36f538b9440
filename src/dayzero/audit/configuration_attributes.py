"""Does a model's configuration have what the engine's code for the model reads from it while it is made?"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from dayzero.audit.architectures import architectures_of, trusts_remote_code
from dayzero.audit.configuration_classes import OPENS_LAYERS, Configuration, configuration_of
from dayzero.audit.finding import Applies, Finding, Severity
from dayzero.audit.installed import PythonFiles
from dayzero.audit.python.configuration_reads import TEXT, WHOLE, ConfigurationReads, Read, Way, looked_for
from dayzero.audit.python.study import wanted
from dayzero.audit.rules import Subject
from dayzero.audit.transformers_library import DISTRIBUTION

RULE = "configuration-attribute"
QUESTION = "Does the model's configuration have what the engine's code for the model reads from it?"
_TYPE = "model_type"
# Modules in which an engine changes configurations: a name that stands there in quotes may be one that it gives.
_WHERE_GIVEN = re.compile(r"\.configs?\b|\.config$|hf_transformers|transformers_utils")
# How many reads tell of which part they are, by how many of them every other part lacks at least.
_TELLING = ((4, 2), (8, 1))
# A configuration's class, and what of it is stored.
_Section: TypeAlias = tuple[Configuration, Mapping[str, object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Where an engine keeps its models.

    Attributes:
        package: The package that holds them.
        registered: By an architecture's name: the module and the class.
        own_types: Types of models for which the engine has a configuration class of its own.
    """

    package: str
    registered: Mapping[str, tuple[str, str]]
    own_types: frozenset[str]


def read_in_vain(subject: Subject, models: Models) -> Iterator[Finding]:
    """Give what the making of the model reads from its configuration in vain.

    Args:
        subject: What is to be served.
        models: Where the engine keeps its models.
    """
    held = _sections(subject, models)
    named = [one for one in architectures_of(subject.model or {}) if one in models.registered]
    if not held or not named:
        return
    module, name = models.registered[named[0]]
    python = subject.installed.python
    reads = ConfigurationReads(python, models.package, {one.name for one, _ in held.values()}, models.registered)
    every = reads.of(module, name)
    told: set[tuple[str, str]] = set()
    for read in sorted(every, key=lambda one: one.way.value):
        section = _section(held, read) or _section_by_reads(held, read, every)
        if section is None or read.way is Way.ELSE or (section[0].name, read.attribute) in told:
            continue
        configuration, stored = section
        by_layer = read.attribute in configuration.by_layer
        if configuration.has(read.attribute, stored) or (
            _opens_layers(python, models) if by_layer else _may_be_given(python, models, read, module)
        ):
            continue
        told.add((configuration.name, read.attribute))
        yield _finding(subject, read, configuration)


def _finding(subject: Subject, read: Read, configuration: Configuration) -> Finding:
    library = subject.installed.find(DISTRIBUTION)
    asked = wanted(subject.installed.engine, library) if library is not None else ""
    always = read.way is Way.ALWAYS
    by_layer = read.attribute in configuration.by_layer
    lacks = f"gives {read.attribute} to its layers alone" if by_layer else f"has no {read.attribute} for this model"
    return Finding(
        RULE,
        Severity.START if always else Severity.PATH,
        f"{configuration.name} of {library} {lacks}, and making the model reads it",
        read.place,
        configuration.place,
        f"Install a release of {DISTRIBUTION} that has it{f' ({DISTRIBUTION}{asked})' if asked else ''}.",
        "" if always else "the condition around the line holds",
        Applies.YES if always else Applies.UNKNOWN,
    )


def _sections(subject: Subject, models: Models) -> Mapping[str, _Section]:
    """Give the parts of a stored configuration with their classes, by their place in it; nothing where a part is not told."""
    model = subject.model or {}
    remote = isinstance(model.get("auto_map"), Mapping) and trusts_remote_code(subject.flags)
    parts = {WHOLE: model} | {key: part for key, part in model.items() if isinstance(part, Mapping) and _TYPE in part}
    found: dict[str, _Section] = {}
    for key, part in parts.items() if not remote else ():
        kind = part.get(_TYPE)
        if not isinstance(kind, str) or kind in models.own_types:
            return {}
        configuration = configuration_of(subject.installed, kind)
        if configuration is not None:
            found[key] = (configuration, part)
        elif key == WHOLE:
            return {}
    return found


def _section(held: Mapping[str, _Section], read: Read) -> _Section | None:
    """Give the part that a read is of; where there are several, only a class that is named tells which."""
    by_name = [one for one in held.values() if one[0].name == read.of]
    if by_name:
        return by_name[0] if len(by_name) == 1 else None
    if read.of == TEXT and "text_config" in held:
        return held["text_config"]
    return held[WHOLE] if len(held) == 1 else None


def _section_by_reads(held: Mapping[str, _Section], read: Read, every: Collection[Read]) -> _Section | None:
    """Tell of which part a read is by what else is read beside it: one part has all of that, and every other lacks some."""
    if read.of != WHOLE:
        return None
    beside = {
        one.attribute for one in every if (one.of, one.inside) == (WHOLE, read.inside) and one.way is not Way.ELSE
    }
    beside.discard(read.attribute)
    lacking = {key: sum(not one.holds(name, stored) for name in beside) for key, (one, stored) in held.items()}
    whole = [key for key, count in lacking.items() if not count]
    least = min((count for count in lacking.values() if count), default=0)
    sure = len(whole) == 1 and any(len(beside) >= many and least >= lack for many, lack in _TELLING)
    return held[whole[0]] if sure else None


def _opens_layers(python: PythonFiles, models: Models) -> bool:
    """Say whether the engine lets itself read from the whole model's configuration what differs by layer."""
    return next(python.holding(OPENS_LAYERS.encode(), below=models.package.split(".", 1)[0]), None) is not None


def _may_be_given(python: PythonFiles, models: Models, read: Read, module: str) -> bool:
    """Say whether the engine gives configurations that attribute, or its model's file looks for it first."""
    word = read.attribute.encode()
    name = read.place.file.removesuffix(".py").replace("/", ".")
    if any(looked_for(python.text(one), read.attribute) for one in {module, name}):
        return True
    engine = models.package.split(".", 1)[0]
    given = re.compile(
        rb"config\w*\." + word + rb"[ \t]*=(?!=)|setattr\(\s*[\w.]*config\w*,\s*[\"']" + word + rb"[\"']"
    )
    named = re.compile(rb"[\"']" + word + rb"[\"']")
    return any(
        given.search(python.text(one)) or (_WHERE_GIVEN.search(one) and named.search(python.text(one)))
        for one in python.holding(word, below=engine)
    )

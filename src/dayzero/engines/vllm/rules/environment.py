"""Does this version of vLLM read the environment variables, and take these values?"""

import ast
import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dayzero.audit.finding import Finding, NotChecked, Severity
from dayzero.audit.rules import Subject
from dayzero.engines.command_line import given
from dayzero.engines.vllm.source import Source, UnreadableError, parse, simple_name, text_of

_ENVS = "vllm/envs.py"
_TABLE = "environment_variables"
_PREFIX = "VLLM_"
_STRICT, _RAISES = "--fail-on-environ-validation", "def validate_environ(hard_fail"
_RESEMBLANCE = 0.75


@dataclass(frozen=True, slots=True)
class _Variable:
    line: int
    choices: tuple[str, ...] = ()
    any_case: bool = False
    whole: bool = False


class VllmEnvironment:
    """Implements ``audit.rules.Rule``."""

    id: str = "engine-environment"
    question: str = "Does this version of the engine read these environment variables, and take these values?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Hold each variable of vLLM's own to the table that this version has of them."""
        own = {name: value for name, value in subject.env.items() if name.startswith(_PREFIX)}
        if subject.engine != "vllm" or not own:
            return
        try:
            source = parse(subject.installed.engine.files, _ENVS)
            known = _variables(source)
        except UnreadableError as error:
            yield NotChecked(self.question, str(error))
            return
        strict = _is_strict(subject, source)
        for name, value in own.items():
            if name in known:
                yield from self._valued(source, known[name], name, value)
            else:
                yield self._unread(source, known, name, strict=strict)

    def _unread(self, source: Source, known: Mapping[str, _Variable], name: str, *, strict: bool) -> Finding:
        near = difflib.get_close_matches(name, known, n=1, cutoff=_RESEMBLANCE)
        advice = f"Did you mean {near[0]}? " if near else ""
        does = f"raises for it, as {_STRICT} has it" if strict else "warns, and goes on without it"
        message = f"{source.artifact} does not read {name}: it {does}"
        place = source.place(min((one.line for one in known.values()), default=1))
        severity = Severity.START if strict else Severity.DOWNGRADE
        return Finding(self.id, severity, message, place, None, f"{advice}Leave it away.")

    def _valued(self, source: Source, variable: _Variable, name: str, value: str) -> Iterator[Finding]:
        taken = tuple(one.lower() for one in variable.choices) if variable.any_case else variable.choices
        said = value.lower() if variable.any_case else value
        place = source.place(variable.line)
        if taken and said not in taken:
            message = f"{name} takes no {value!r}, but only {', '.join(variable.choices)}: reading it raises ValueError"
            yield Finding(self.id, Severity.START, message, place, None, f"Set it to {variable.choices[0]}.")
        elif variable.whole and not _is_whole(value):
            message = f"{name} takes a whole number, and {value!r} is none: reading it raises ValueError"
            yield Finding(self.id, Severity.START, message, place, None, "Set it to a whole number, 0 or 1.")


def _is_strict(subject: Subject, source: Source) -> bool:
    """Say whether the release ends for a variable that it does not know (0.27.0, envs.py:2122)."""
    asked = any(one.name == _STRICT for one in given(subject.flags))
    return asked and any(_RAISES in line for line in source.lines)


def _variables(source: Source) -> Mapping[str, _Variable]:
    for node in source.tree.body:
        match node:
            case (
                ast.AnnAssign(target=ast.Name(id=name), value=ast.Dict(keys=keys, values=values))
                | ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict(keys=keys, values=values))
            ) if name == _TABLE:
                pairs = ((text_of(key), value) for key, value in zip(keys, values, strict=True) if key is not None)
                return {text: _read(text, value) for text, value in pairs if text is not None}
    raise UnreadableError(f"{source.path} has no table {_TABLE}")


def _read(name: str, value: ast.expr) -> _Variable:
    match value:
        case ast.Call(func=func, args=[_, _, ast.List(elts=listed), *_], keywords=keywords) if (
            simple_name(func) == "env_with_choices"
        ):
            texts = tuple(text for one in listed if (text := text_of(one)) is not None)
            sensitive = next((one.value for one in keywords if one.arg == "case_sensitive"), None)
            any_case = isinstance(sensitive, ast.Constant) and sensitive.value is False
            return _Variable(value.lineno, texts if len(texts) == len(listed) else (), any_case)
        case ast.Lambda(body=body):
            return _Variable(value.lineno, whole=_reads_whole(name, body))
        case _:
            return _Variable(value.lineno)


def _reads_whole(name: str, value: ast.expr) -> bool:
    """Recognise ``int(os.getenv("NAME", "0"))``, with or without ``bool(...)`` around it."""
    match value:
        case ast.Call(func=ast.Name(id="int"), args=[ast.Call(args=[ast.Constant(value=read), *_])]):
            return read == name
        case ast.Call(func=ast.Name(id="bool"), args=[inner]):
            return _reads_whole(name, inner)
        case _:
            return False


def _is_whole(value: str) -> bool:
    try:
        int(value)
    except ValueError:
        return False
    return True


RULE: Final = VllmEnvironment()

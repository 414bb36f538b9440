"""Does somebody register with the Transformers library what the library has itself?"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.installed import Installed, PythonFiles
from dayzero.audit.python_source import Module
from dayzero.audit.rules import Subject
from dayzero.audit.transformers_library import DISTRIBUTION, mapping
from dayzero.core.verdict import Place

_AUTO = "transformers.models.auto"
_CONFIGURATIONS = (
    (f"{_AUTO}.configuration_auto", "CONFIG_MAPPING_NAMES"),
    (f"{_AUTO}.auto_mappings", "CONFIG_MAPPING_NAMES"),
)
# transformers 4.49.0, models/auto/auto_factory.py:826: the same rule in each of them, by the name of the configuration class.
_BY_CLASS = {
    "AutoImageProcessor": (f"{_AUTO}.image_processing_auto", "IMAGE_PROCESSOR_MAPPING_NAMES"),
    "AutoProcessor": (f"{_AUTO}.processing_auto", "PROCESSOR_MAPPING_NAMES"),
    "AutoTokenizer": (f"{_AUTO}.tokenization_auto", "TOKENIZER_MAPPING_NAMES"),
    "AutoFeatureExtractor": (f"{_AUTO}.feature_extraction_auto", "FEATURE_EXTRACTOR_MAPPING_NAMES"),
    "AutoModel": (f"{_AUTO}.modeling_auto", "MODEL_MAPPING_NAMES"),
    "AutoModelForCausalLM": (f"{_AUTO}.modeling_auto", "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES"),
}


class RegistryCollision:
    """Implements ``audit.rules.Rule``."""

    id: str = "registry-collision"
    question: str = "Does a module register a name with the Transformers library that the library has itself?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Find ``AutoX.register(...)`` without ``exist_ok`` among what runs when a module is imported."""
        library = subject.installed.find(DISTRIBUTION)
        if library is None or not library.files.names():
            return
        python = subject.installed.python
        for module in python.holding(b".register("):
            entry = python.modules[module]
            if entry.distribution is library or b"Auto" not in python.read(module):
                continue
            parsed = python.parsed(module)
            if isinstance(parsed, Place):
                yield NotChecked(f"what {parsed} registers", parsed.quote, needed=False)
                continue
            for call in _registrations(parsed.tree.body):
                yield from self._collision(subject, parsed, call)

    def _collision(self, subject: Subject, module: Module, call: ast.Call) -> Iterator[Finding]:
        found = _taken(subject.installed.python, call)
        if found is None:
            return
        name, model_type, place = found
        at_start = _imported_at_start(subject.installed, module.name)
        asked = subject.model.get("model_type") if subject.model is not None else None
        applies = Applies.YES if asked == model_type else Applies.UNKNOWN if asked is None else Applies.NO
        yield Finding(
            self.id,
            Severity.START if at_start else Severity.PATH,
            f"{module.name} registers {name} while it is imported, and {subject.installed.find(DISTRIBUTION)} has that name"
            " itself: 'already used by a Transformers'",
            module.place(call.lineno),
            place,
            f"Install a {DISTRIBUTION} without {model_type!r}, or an engine that registers it with exist_ok.",
            "" if at_start else f"{module.name} is imported, as for models of type {model_type}",
            Applies.YES if at_start else applies,
        )


def _registrations(body: Sequence[ast.stmt]) -> Iterator[ast.Call]:
    """Give the calls that always run while the module is imported; what a ``try`` or a condition holds may be handled."""
    for statement in body:
        match statement:
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="register"), keywords=keywords) as call
            ) if owner.startswith("Auto") and not any(_lets_it_be(one) for one in keywords):
                yield call


def _lets_it_be(keyword: ast.keyword) -> bool:
    named = keyword.arg in {None, "exist_ok"}
    return named and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False)


def _taken(python: PythonFiles, call: ast.Call) -> tuple[str, str, Place] | None:
    """Say which name is taken, of which model type, and where the library has it."""
    own = _types(python)
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="AutoConfig")), args=[ast.Constant(value=str(key)), *_]):
            return (key, key, own[key][1]) if key in own else None
        case ast.Call(func=ast.Attribute(value=ast.Name(id=auto)), args=[ast.Name(id=cls), *_]) if auto in _BY_CLASS:
            types = {key for key, (name, _) in own.items() if name == cls}
            module, table = _BY_CLASS[auto]
            for line, key, _ in mapping(python, module, table):
                if key in types:
                    place = python.modules[module].place
                    return cls, key, Place(artifact=place.artifact, file=place.file, position=f"line {line}", quote=key)
    return None


def _types(python: PythonFiles) -> Mapping[str, tuple[str, Place]]:
    found: dict[str, tuple[str, Place]] = {}
    for module, table in _CONFIGURATIONS:
        for line, key, name in mapping(python, module, table):
            at = python.modules[module].place
            place = Place(artifact=at.artifact, file=at.file, position=f"line {line}", quote=f"{key}: {name}")
            found.setdefault(key, (name, place))
    return found


def _imported_at_start(installed: Installed, module: str) -> bool:
    """Say whether another module imports this one by name in its own body, and not when it is first asked for."""
    python = installed.python
    package, _, own = module.rpartition(".")
    for other in python.holding(module.encode(), f"from .{own} import".encode(), below=module.split(".", 1)[0]):
        parsed = python.parsed(other)
        if other != module and isinstance(parsed, Module):
            for statement in parsed.tree.body:
                match statement:
                    case ast.ImportFrom(module=named, level=0) if named == module:
                        return True
                    case ast.ImportFrom(module=named, level=1) if named == own and other == package:
                        return True
                    case ast.Import(names=names) if any(one.name == module for one in names):
                        return True
    return False


RULE: Final = RegistryCollision()

"""What the Transformers library knows: model classes and configuration types, read from its files."""

import re

from dayzero.audit.installed import Installed, PythonFiles
from dayzero.audit.model import Facts, FactTable, Unread
from dayzero.audit.python_source import Module
from dayzero.core.verdict import Place

DISTRIBUTION = "transformers"
MODELS = "transformers.models"
CONFIGURATIONS = "transformers.models.auto.configuration_auto"
GENERATED = "transformers.models.auto.auto_mappings"
_COMPATIBLE = b"_supports_attention_backend = True"


def model_class(python: PythonFiles, name: str) -> tuple[Place, bool] | None:
    """Find a model class: where it stands, and whether its file says that engines may run it; ``None`` where there is none."""
    wanted = f"class {name}(".encode()
    for module in python.holding(wanted, below=MODELS):
        parsed = python.parsed(module)
        if not isinstance(parsed, Module):
            continue
        # At the margin: where the file begins, or behind the end of a line.
        before = 0 if parsed.text.content.startswith(wanted) else parsed.text.place_of(b"\n" + wanted)
        if before or parsed.text.content.startswith(wanted):
            return parsed.place(before + 1), _COMPATIBLE in python.read(module)
    return None


def configuration_types(installed: Installed) -> Facts:
    """Read which ``model_type`` it has a configuration class for."""
    library = installed.find(DISTRIBUTION)
    noun = "configuration type"
    if library is None:
        return Unread(noun=noun, reason=f"{DISTRIBUTION} is not among what is audited")
    entries: dict[str, Place] = {}
    whole = Place(artifact=library.files.artifact, file=f"{CONFIGURATIONS.replace('.', '/')}.py")
    for module in (CONFIGURATIONS, GENERATED):
        if module not in installed.python.modules:
            continue
        place = installed.python.modules[module].place
        for line, key, _ in mapping(installed.python, module, "CONFIG_MAPPING_NAMES"):
            entries.setdefault(key, Place(artifact=place.artifact, file=place.file, position=f"line {line}", quote=key))
    if not entries:
        return Unread(noun=noun, reason=f"{library} keeps them in another way")
    return FactTable(noun=noun, entries=tuple(entries.items()), place=whole)


def mapping(python: PythonFiles, module: str, name: str) -> tuple[tuple[int, str, str], ...]:
    """Read a table of pairs ``("key", "Class")`` that a module binds to a name: (line, key, class)."""
    if module not in python.modules:
        return ()
    text = python.read(module).decode("utf-8", "replace")
    start = re.search(rf"^(?P<indent> *){name}\b[^=\n]*=", text, re.MULTILINE)
    if start is None:
        return ()
    end = re.search(rf"^{start['indent']}[)\]}}]", text[start.end() :], re.MULTILINE)
    stop = start.end() + (end.start() if end else len(text))
    pairs = re.compile(r"""[(\s]["']([^"']+)["']\s*[,:]\s*\(?\s*(?:\{?["']\w+["']:\s*)?["'](\w+)["']""")
    found = pairs.finditer(text, start.end(), stop)
    return tuple((text.count("\n", 0, one.start(1)) + 1, one[1], one[2]) for one in found)

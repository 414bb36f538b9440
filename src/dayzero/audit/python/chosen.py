"""Does the command line choose a file: by its name, as the connector of that name, or as the loader or tokenizer of that name?"""

import re

from dayzero.audit.finding import Applies
from dayzero.audit.installed import PythonFiles
from dayzero.audit.python.conditions import Served, chosen_by_flags
from dayzero.audit.python_source import Module

_CONNECTORS, _FLAG = ".kv_connector.", "--kv-transfer-config"
_REGISTERED = re.compile(r"""register_connector\(\s*["'](\w+)["'],\s*["']([\w.]+)["']""")
# Folders of which a flag takes one file: the flag, and what follows its value in the file's name.
_FOLDERS = {"tokenizers": ("--tokenizer-mode", ""), "model_loader": ("--load-format", "_loader")}
_NAMED = re.compile(r"""kv_connector["']?\s*[:= ]\s*["']?(\w+)""")


def by_flags(python: PythonFiles, module: Module, subject: Served) -> tuple[Applies, str] | None:
    """Say whether a file is the one that is chosen, and by what; ``None`` where the command line does not tell.

    Args:
        python: The modules.
        module: The file.
        subject: What is to be served.
    """
    flag = chosen_by_flags(module.file, subject)
    if flag:
        return Applies.YES, flag
    if _CONNECTORS not in f".{module.name}.":
        return _one_of_many(python, module, subject)
    given = " ".join(subject.flags)
    if _FLAG not in given:
        return Applies.NO, f"{_FLAG} is given"
    asked = [name for name in _NAMED.findall(given) if name]
    registered = _registered(python, module.name)
    if not registered:
        return None
    chosen = [name for name in asked if name in registered]
    return (Applies.YES, f"{_FLAG} {chosen[0]}") if chosen else (Applies.NO, f"{_FLAG} {' or '.join(registered)}")


def _registered(python: PythonFiles, module: str) -> tuple[str, ...]:
    """Name the connectors for which a module is registered."""
    texts = (python.text(one).decode("utf-8", "replace") for one in python.holding(module.encode()))
    return tuple(name for text in texts for name, held in _REGISTERED.findall(text) if held == module)


def _one_of_many(python: PythonFiles, module: Module, subject: Served) -> tuple[Applies, str] | None:
    """Say that a flag would have to name the file, where the folder lists it by that name and the model is not called so."""
    folder, _, name = module.name.rpartition(".")
    flag, ending = _FOLDERS.get(folder.rpartition(".")[2], ("", ""))
    word = name.removesuffix(ending)
    if not flag or not name.endswith(ending) or word in str(subject.model).lower():
        return None
    quoted = f'"{word}"'.encode()
    listed = any(quoted in python.text(one) for one in (folder, f"{folder}.registry"))
    return (Applies.NO, f"{flag} {word}") if listed and word not in subject.flags else None

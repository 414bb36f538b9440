"""Is a module there for other models only? Follow its imports back, also those in functions, to the files of models."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dayzero.audit.finding import Applies
from dayzero.audit.python.conditions import Served, model_applies, model_of
from dayzero.audit.python.reach import spelled
from dayzero.audit.python.world import World

_MOST_MODULES = 12
# A model's class, by the way that such classes are named (LlamaForCausalLM), or the list of a file's own.
_MODEL_CLASS = re.compile(rb"^class \w+For[A-Z]\w*|^EntryClass\b", re.MULTILINE)
# What imports by a name that is worked out: all that stands beside it may be meant.
_WORKED_OUT = re.compile(rb"import_module\([^)]*(?:__name__|__package__)|\b(?:iter_modules|walk_packages)\(")


@dataclass(slots=True)
class Loads:
    """Follows imports backwards. Text is read, nothing is parsed.

    Args:
        world: The modules.
        packages: Top-level packages of the one that starts.
    """

    world: World
    packages: frozenset[str]
    _importers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _models: dict[str, str] = field(default_factory=dict)
    _spelled: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _owned: dict[frozenset[str], frozenset[str]] = field(default_factory=dict)

    def for_others(self, module: str, subject: Served) -> tuple[str, ...]:
        """Name the other models whose files alone lead to a module; none where another way may lead there, or is not known."""
        if subject.model is None:
            return ()
        models: set[str] = set()
        own = self._own(subject)
        seen, waiting = {module}, [module]
        while waiting:
            name = waiting.pop()
            if name in own:
                return ()
            if name in self._by_module():
                models.add(self._by_module()[name])
                continue
            importers = self._imported_by(name)
            new = [one for one in importers if one not in seen]
            seen.update(new)
            waiting += new
            if not importers or len(seen) > _MOST_MODULES:
                return ()
        return tuple(sorted(models))

    def _own(self, subject: Served) -> frozenset[str]:
        """Name the model's own files, and those of other models that they take something from."""
        models = self._by_module()
        own = frozenset(one for one in set(models.values()) if model_applies(one, subject) is not Applies.NO)
        if own not in self._owned:
            found = {name for name, model in models.items() if model in own}
            waiting = list(found)
            while waiting:
                lent = {one for one in self._asked(waiting.pop()) if one in models} - found
                found |= lent
                waiting += lent
            self._owned[own] = frozenset(found)
        return self._owned[own]

    def _by_module(self) -> Mapping[str, str]:
        """Give the model of each module that belongs to one; what lies beside models and is none is left out."""
        if not self._models:
            python = self.world.python
            named = {
                name: model
                for name, entry in python.modules.items()
                if name.split(".", 1)[0] in self.packages and (model := model_of(entry.path))
            }
            known = {model for name, model in named.items() if _MODEL_CLASS.search(python.text(name))}
            self._models |= {name: model for name, model in named.items() if model in known}
        return self._models

    def _imported_by(self, module: str) -> tuple[str, ...]:
        if module not in self._importers:
            self._importers[module] = tuple(self._search(module))
        return self._importers[module]

    def _search(self, module: str) -> Iterator[str]:
        python = self.world.python
        parent, _, last = module.rpartition(".")
        inside = f"{module}."
        for package in sorted(self.packages):
            for name in python.holding(last.encode(), below=package):
                by_path = any(f"{quote}{module}".encode() in python.text(name) for quote in "\"'")
                if name != module and (by_path or any(f"{one}.".startswith(inside) for one in self._asked(name))):
                    yield name
        beside = (name for name in python.modules if name.rpartition(".")[0] == parent and not self._is_package(name))
        yield from (one for one in (parent, *beside) if one != module and _WORKED_OUT.search(python.text(one)))

    def _asked(self, name: str) -> tuple[str, ...]:
        if name not in self._spelled:
            found = spelled(self.world.python.text(name), name, package=self._is_package(name), margin=False)
            self._spelled[name] = tuple(dict.fromkeys(found))
        return self._spelled[name]

    def _is_package(self, name: str) -> bool:
        return self.world.python.modules[name].path.endswith("__init__.py")

"""Which architectures an SGLang build implements: the ``EntryClass`` of each of its model modules."""

import re
from typing import Final

from dayzero.audit.model import Facts, FactTable, Unread
from dayzero.audit.ports import BuildFiles
from dayzero.core.verdict import Place

_MODELS = re.compile(r"sglang/srt/models/\w+\.py")
_BOUND = re.compile(r"^EntryClass\b[^=\n]*=[ \t]*", re.MULTILINE)
_ENTRY = re.compile(r"(\[[^\]]*\]|\([^)]*\)|\w+)[ \t]*(?:#.*)?\r?$", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_]\w*")
_COMMENT = re.compile(r"#.*")
_NOUN = "architecture"
_FOLDER = "sglang/srt/models"


class SglangRegistry:
    """Reads SGLang's models; implements ``audit.architectures.ModelRegistry``.

    A module registers the name of each class that its ``EntryClass`` holds (sglang 0.5.18, srt/models/registry.py:82).
    """

    def read_architectures(self, files: BuildFiles) -> Facts:
        """Read the names of all entry classes; one that is not written out leaves the table unread."""
        entries: dict[str, Place] = {}
        for path in files.names():
            if not _MODELS.fullmatch(path):
                continue
            text = files.read(path).decode("utf-8", "replace")
            for bound in _BOUND.finditer(text):
                line = text.count("\n", 0, bound.start()) + 1
                entry = _ENTRY.match(text, bound.end())
                if entry is None:
                    return Unread(noun=_NOUN, reason=f"{path}:{line}: its EntryClass is not a list of classes")
                for name in _NAME.findall(_COMMENT.sub("", entry[1])):
                    place = Place(
                        artifact=files.artifact, file=path, position=f"line {line}", quote=f"EntryClass: {name}"
                    )
                    entries.setdefault(name, place)
        if not entries:
            return Unread(noun=_NOUN, reason=f"{files.artifact} has no model with an EntryClass under {_FOLDER}")
        whole = Place(artifact=files.artifact, file=_FOLDER)
        return FactTable(noun=_NOUN, entries=tuple(sorted(entries.items())), place=whole)


REGISTRY: Final = SglangRegistry()

"""Read what an xllamacpp build knows from the bytes of its extension, without importing it."""

import re

from dayzero.audit.elf import X86_64, ElfImage, parse_elf
from dayzero.audit.model import Facts, FactTable, Unread
from dayzero.audit.ports import BuildFiles
from dayzero.core.errors import InputError
from dayzero.core.verdict import Place
from dayzero.engines.llamacpp.initialiser import find_initialiser

_EXTENSION = re.compile(r"(?:.*/)?xllamacpp/xllamacpp\.[^/]*so")
_FLAG = re.compile(r"--[a-z][a-z0-9]*(?:[-.][a-z0-9]+)*")
_MODULE = "xllamacpp.xllamacpp."
_ROOT = "CommonParams"

# Which class the objects inside the settings are of; an attribute's type is not in the tables. xllamacpp, xllamacpp.pyx.
_CLASS_OF = {
    "cpuparams": "CpuParams",
    "cpuparams_batch": "CpuParams",
    "model": "CommonParamsModel",
    "mmproj": "CommonParamsModel",
    "mparams": "CommonParamsModel",
    "sampling": "CommonParamsSampling",
    "speculative": "CommonParamsSpeculative",
    "draft": "CommonParamsSpeculativeDraft",
    "ngram_cache": "CommonParamsSpeculativeNgramCache",
    "ngram_map_k": "CommonParamsSpeculativeNgramMap",
    "ngram_map_k4v": "CommonParamsSpeculativeNgramMap",
    "ngram_mod": "CommonParamsSpeculativeNgramMod",
    "ngram_simple": "CommonParamsSpeculativeNgramMap",
    "diffusion": "CommonParamsDiffusion",
    "vocoder": "CommonParamsVocoder",
}

# CPython's structures for types made at run time (PEP 384; Include/object.h, Include/descrobject.h, 64-bit layout).
_SPEC_SLOTS = 24  # PyType_Spec: name, basicsize, itemsize, flags, slots
_SLOT_BYTES = 16  # PyType_Slot: slot, pfunc
_TP_GETSET = 73  # Py_tp_getset (Include/typeslots.h)
_GETSET_BYTES = 40  # PyGetSetDef: name, get, set, doc, closure
_SETTER = 16


def read_architectures(files: BuildFiles) -> Facts:
    """Read the table of model architectures, in the engine's own order."""
    noun = "architecture"
    try:
        name, image = _image(files)
    except InputError as error:
        return Unread(noun=noun, reason=error.message)
    if image.machine != X86_64:
        reason = (
            f"{name} of {files.artifact} is not for x86-64, and the code that builds its table is read for x86-64 only"
        )
        return Unread(noun=noun, reason=reason)
    table = find_initialiser(image)
    if table is None:
        return Unread(noun=noun, reason=f"no whole table of architecture names was found in {name} of {files.artifact}")
    entries = tuple((entry.name, _place(files, name, image, entry.address, entry.name)) for entry in table.entries)
    quote = f"code that stores {len(entries)} names, {entries[0][0]} to {entries[-1][0]}"
    return FactTable(noun=noun, entries=entries, place=_place(files, name, image, table.code_address, quote))


def read_settings(files: BuildFiles) -> Facts:
    """Read which attributes of ``CommonParams`` can be set, with those of its inner objects as ``cpuparams.n_threads``."""
    noun = "setting"
    try:
        name, image = _image(files)
    except InputError as error:
        return Unread(noun=noun, reason=error.message)
    root = _attributes(image, _ROOT)
    if not root:
        return Unread(noun=noun, reason=f"no attribute table of {_ROOT} was found in {name} of {files.artifact}")
    found = _settings(image, _ROOT, "")
    entries = tuple((path, _place(files, name, image, address, path.rpartition(".")[2])) for path, address in found)
    quote = f"attribute table of {_MODULE}{_ROOT}, {len(root)} attributes"
    return FactTable(noun=noun, entries=entries, place=_place(files, name, image, root[0][2], quote))


def settings_in(flags: tuple[str, ...]) -> tuple[str, ...]:
    """Name the settings that a command line sets: ``--cpuparams.n-threads 1`` sets ``cpuparams.n_threads``.

    Raises:
        InputError: The words are not ``--setting value`` pairs, which is all that the launcher reads.
    """
    for word in flags[::2]:
        if not _FLAG.fullmatch(word):
            raise InputError(
                f"not a llamacpp setting: {word!r}",
                hint="Write flags as pairs, a setting with dashes and its value: --n-ctx 4096 --kv-unified true.",
            )
    if len(flags) % 2:
        raise InputError(f"setting {flags[-1]} has no value", hint="Give every setting a value: --kv-unified true.")
    return tuple(word.removeprefix("--").replace("-", "_") for word in flags[::2])


def _image(files: BuildFiles) -> tuple[str, ElfImage]:
    names = [name for name in files.names() if _EXTENSION.fullmatch(name)]
    if len(names) != 1:
        raise InputError(
            f"{files.artifact} holds {len(names)} files that look like the extension xllamacpp/xllamacpp.*.so, not one",
            hint="Look at a Linux wheel of xllamacpp.",
        )
    try:
        return names[0], parse_elf(files.read(names[0]))
    except InputError as error:
        raise InputError(f"{names[0]} of {files.artifact}: {error.message}", hint=error.hint) from error


def _place(files: BuildFiles, name: str, image: ElfImage, address: int, quote: str) -> Place:
    return Place(artifact=files.artifact, file=name, position=f"byte {image.offset(address) or 0:#x}", quote=quote)


def _settings(image: ElfImage, owner: str, prefix: str) -> list[tuple[str, int]]:
    """List the settable attributes of a class with the addresses of their names, inner objects in place of their own name."""
    found: list[tuple[str, int]] = []
    for attribute, settable, address in _attributes(image, owner):
        inner = _CLASS_OF.get(attribute)
        if inner is not None:
            found.extend(_settings(image, inner, f"{prefix}{attribute}."))
        elif settable:
            found.append((prefix + attribute, address))
    return found


def _attributes(image: ElfImage, owner: str) -> list[tuple[str, bool, int]]:
    """Read the attribute table of a class: each name, whether it can be set, and the name's address."""
    table = _getset_table(image, owner)
    found: list[tuple[str, bool, int]] = []
    while table is not None:
        name = image.text_behind(table)
        if name is None:
            break
        found.append((name, table + _SETTER in image.pointers, image.pointers[table]))
        table += _GETSET_BYTES
    return found


def _getset_table(image: ElfImage, owner: str) -> int | None:
    """Follow a class's specification to its attribute table."""
    for specification in image.slots_of(image.addresses_of(_MODULE + owner)):
        slot = image.pointers.get(specification + _SPEC_SLOTS)
        while slot is not None and image.int64(slot):
            if image.int64(slot) == _TP_GETSET:
                return image.pointers.get(slot + _SLOT_BYTES // 2)
            slot += _SLOT_BYTES
    return None

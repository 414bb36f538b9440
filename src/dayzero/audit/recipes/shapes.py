"""The shapes in which repositories keep launches: manifests, compose files, scripts, and the tables of recipe collections."""

import re
from collections.abc import Iterator
from dataclasses import replace

from dayzero.audit.recipes import shell
from dayzero.audit.recipes.command import Found, found_in, served, split
from dayzero.audit.recipes.context import Context, environment, kind_of, within
from dayzero.audit.recipes.image import code_of, names
from dayzero.audit.recipes.model import Code, Launch, Release, UnknownCode, Unstated, Word
from dayzero.audit.recipes.tree import Node, Row, Table, Text, texts

_COMMANDS = ("argv", "cmd", "serve_command", "launch_command", "serve")
_PROSE = {"guide", "description", "note", "notes", "comment", "comments", "readme", "title", "summary"}
_STARTS = re.compile(
    r"\bvllm\s+serve\b|vllm\.entrypoints|\bsglang\s+serve\b|sglang\.launch_server|dynamo\.(vllm|sglang)\b"
)
_INSTALLED = re.compile(r"pip3?\s+install\b[^\n;&|]*?\b(?P<engine>vllm|sglang)(?:\[[^]]*\])?==(?P<version>[\w.]+)")
_OWN = re.compile(r"--(model|model-path|served-model-name|tensor-parallel-size|tp-size)\b")
_FAMILIES = {"hopper": ("h100", "h200"), "blackwell": ("b200", "b300", "gb200", "gb300")}
# The profiles of that collection are nodes of so many GPUs.
_GPUS = 8
_NO_COMMAND = "its command line is not in this file"


def launches(node: Node, outer: Context) -> Iterator[Launch]:
    """Give every launch below a value of a YAML or JSON file."""
    match node:
        case Text(text=text, line=line):
            if _STARTS.search(text):
                yield from of_script(text, line, outer)
        case Row(items=items):
            for one in items:
                yield from launches(one, outer)
        case Table():
            yield from _of_table(node, within(outer, node))


def _of_table(table: Table, context: Context) -> Iterator[Launch]:
    model = table.members.get("model")
    if isinstance(model, Table) and model.text("model_id"):
        yield from _collection_entry(table, model, context)
        return
    if table.text("model_path") and isinstance(table.members.get("hardware"), Table):
        yield from _per_hardware(table, context)
        return
    found, used = _commanded(table, context)
    yield from found
    for key, value in table.members.items():
        if key in used or key in _PROSE:
            continue
        inner = replace(context, name=key) if isinstance(value, Table) and not value.text("name") else context
        yield from launches(value, inner)


def _commanded(table: Table, context: Context) -> tuple[tuple[Launch, ...], set[str]]:
    """Read the command of a mapping in whichever of its members it stands."""
    joined = tuple(word for key in ("entrypoint", "command", "args") for word in _words(table.members.get(key)))
    candidates: list[tuple[tuple[str, ...], tuple[Word, ...]]] = [(("entrypoint", "command", "args"), joined)]
    candidates += [((key,), _words(table.members.get(key))) for key in _COMMANDS]
    for keys, words in candidates:
        found = found_in(words)
        if found is not None:
            return tuple(_of_found(found, context, table.line)), {*keys}
    has_image = bool(table.text("image")) or table.table("image") is not None
    loose = ("flags", "extra_args", "serve_args", "argv")
    words = joined or tuple(word for key in loose for word in _words(table.members.get(key)))
    if (
        words
        and ((context.image and has_image) or context.engine in names().model_flags)
        and _is_engine(words, context)
    ):
        found = Found(words=words, line=words[0].line)
        return (_launch(found, context, table.line),), {"entrypoint", "command", "args", *loose}
    if has_image and table.text("model") and not words and not isinstance(code_of(context.image), UnknownCode):
        return (replace(_launch(Found(line=table.line), context, table.line), gaps=(_NO_COMMAND,)),), set()
    return (), set()


def _is_engine(words: tuple[Word, ...], context: Context) -> bool:
    if context.engine in names().model_flags or not isinstance(code_of(context.image), UnknownCode):
        return True
    return any(_OWN.match(one.text) for one in words)


def _words(node: Node | None) -> tuple[Word, ...]:
    match node:
        case Row(items=items) if all(isinstance(one, Text) for one in items):
            return tuple(Word(one.text, one.line, open=_open(one.text)) for one in items if isinstance(one, Text))
        case Text(text=text, line=line) if text.strip():
            if "\n" in text.strip() or re.search(r"&&|\|\||;", text):
                return (Word("sh", line), Word("-c", line), Word(text, line))
            return tuple(replace(one, open=_open(one.text)) for one in _split(text, line))
        case _:
            return ()


def _split(text: str, line: int) -> tuple[Word, ...]:
    try:
        return split(text, line)
    except ValueError:
        return ()


def _open(text: str) -> bool:
    return re.search(r"\$[A-Za-z_{(@*]", text) is not None or "{{" in text


def _of_found(found: Found, context: Context, line: int) -> Iterator[Launch]:
    inner = replace(context, image=found.image or context.image)
    if found.script:
        yield from of_script(found.script, found.line, inner)
    else:
        yield _launch(found, inner, line)


def of_script(text: str, line: int, outer: Context) -> Iterator[Launch]:
    """Give every launch in the text of a shell script.

    Args:
        text: The script.
        line: Its first line in its file.
        outer: What is said around it.
    """
    installed = _INSTALLED.search(text)
    context = replace(outer, engine=installed["engine"], version=installed["version"]) if installed else outer
    for command in shell.commands(text, line):
        found = found_in(command.words)
        if found is not None:
            known = {**dict(context.env), **dict(command.env)}
            yield from _of_found(found, replace(context, env=tuple(known.items())), found.line)


def _launch(found: Found, context: Context, line: int) -> Launch:
    image = found.image or context.image
    code = _code(found.engine, image, context)
    engine = found.engine or getattr(code, "engine", "") or context.engine
    told = served(engine, found.words)
    return Launch(
        line=found.line or line,
        name=context.name,
        code=code,
        model=told.model or context.model,
        flags=told.flags,
        env=tuple({**dict(context.env), **dict(found.env)}.items()),
        system=replace(context, count=found.gpus or context.count).system(told.gpus),
        gaps=told.gaps,
    )


def _code(engine: str, image: str, context: Context) -> Code:
    """Say which code runs: what was installed or the image holds, and else the version that stands beside it."""
    named = engine or context.engine
    held = code_of(image) if image else None
    match held:
        case UnknownCode():
            return held
        case Release(engine=other) | Unstated(engine=other) if engine not in {"", other}:
            return UnknownCode(f"the image {image} is one of {other}, and {engine} is started in it")
        case Release():
            return held
        case _ if named in names().model_flags and context.version:
            return Release(named, context.version)
        case None if named not in names().model_flags:
            return UnknownCode(f"{named or 'the engine'} is none whose releases are read")
        case _:
            return held or Unstated(named, f"it names no version of {named}")


def of_settings(table: Table, outer: Context) -> Launch | None:
    """Read a file that is an engine's own ``--config``: a model and settings, one a key; ``None`` for anything else."""
    scalars = {key: value for key, value in table.members.items() if isinstance(value, Text)}
    engine = "sglang" if table.text("model_path") else "vllm" if table.text("model") else ""
    known = {"tensor_parallel_size", "tp_size", "tp", "max_model_len", "mem_fraction_static", "gpu_memory_utilization"}
    if not engine or len(scalars) != len(table.members) or not known & set(scalars) or "image" in scalars:
        return None
    words: list[Word] = []
    for key, value in scalars.items():
        flag = Word(f"--{key.replace('_', '-')}", value.line)
        words += (
            [] if value.text == "false" else [flag] if value.text == "true" else [flag, Word(value.text, value.line)]
        )
    return _launch(Found(engine=engine, words=tuple(words), line=table.line), outer, table.line)


def _collection_entry(table: Table, model: Table, context: Context) -> Iterator[Launch]:
    """Read an entry of the vLLM project's collection: one launch for each GPU that it names."""
    meta = table.table("meta")
    hardware = meta.table("hardware") if meta is not None else None
    kinds = [kind for key in (hardware.members if hardware is not None else {}) if (kind := kind_of(key))]
    image = next((one.text for one in texts(model.members.get("docker_image")) if one.text), "")
    overrides = table.table("hardware_overrides")
    strategy = table.text("default_strategy")
    parallel = ("--tensor-parallel-size", str(_GPUS)) if strategy == "single_node_tp" else ()
    gaps = (f"the words of its strategy {strategy} are not in this file",) if strategy and not parallel else ()
    for kind in kinds or [""]:
        tables = (model, *_overrides(overrides, kind))
        words = [word for one in tables for key in ("base_args", "extra_args") for word in _loose(one.members.get(key))]
        env = {
            name: value
            for one in tables
            for key in ("base_env", "extra_env")
            for name, value in environment(one.members.get(key)).items()
        }
        words += [Word(one, table.line) for one in parallel]
        inner = replace(
            context, model=model.text("model_id"), kind=kind, count=_GPUS, env=tuple(env.items()), name=kind
        )
        told = _launch(Found(engine="vllm", words=tuple(words), image=image, line=model.line), inner, table.line)
        yield replace(told, gaps=(*told.gaps, *gaps))


def _overrides(overrides: Table | None, kind: str) -> tuple[Table, ...]:
    if overrides is None or not kind:
        return ()
    families = [family for family, kinds in _FAMILIES.items() if kind in kinds]
    found = (overrides.table(key) for key in (*families, kind))
    return tuple(one for one in found if one is not None)


def _loose(node: Node | None) -> Iterator[Word]:
    """Read words of which several may stand in one text, as where a collection joins them to one command."""
    for one in texts(node):
        yield from (
            _split(one.text, one.line) if one.text.startswith("--") and " " in one.text else (Word(one.text, one.line),)
        )


def _per_hardware(table: Table, context: Context) -> Iterator[Launch]:
    """Read an entry of SGLang's cookbook: for each GPU, named settings of the engine or of its two halves."""
    hardware = table.table("hardware")
    for key, value in hardware.members.items() if hardware is not None else ():
        rows = value.members.get("configurations") if isinstance(value, Table) else None
        for row in rows.items if isinstance(rows, Row) else ():
            if isinstance(row, Table):
                model = row.text("quantized_model_path") or table.text("model_path")
                inner = replace(
                    within(context, row), model=model, kind=kind_of(key), name=f"{key} {row.text('name')}".strip()
                )
                yield from _halves(row, inner)


def _halves(row: Table, context: Context) -> Iterator[Launch]:
    for part in ("engine", "prefill", "decode"):
        table = row.table(part)
        if table is not None:
            words = [Word("--model-path", table.line), Word(context.model, table.line)]
            for key, flag in (("tp", "--tp-size"), ("dp", "--dp-size"), ("ep", "--ep-size")):
                words += [Word(flag, table.line), Word(table.text(key), table.line)] if table.text(key) else []
            words += [Word("--enable-dp-attention", table.line)] if table.text("enable_dp_attention") == "true" else []
            words += _loose(table.members.get("extra_args"))
            env = tuple(environment(table.members.get("env_vars")).items())
            found = Found(engine="sglang", words=tuple(words), line=table.line)
            yield _launch(found, replace(context, engine="sglang", env=env), table.line)

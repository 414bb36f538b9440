"""Which flags ``vllm serve`` takes: its argument parser, read from the functions that build it."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dayzero.audit.model import Facts, FactTable, Unread
from dayzero.audit.ports import BuildFiles
from dayzero.core.verdict import Place
from dayzero.engines.vllm.fields import ConfigFields
from dayzero.engines.vllm.source import Source, UnreadableError, method, parse, simple_name, text_of

ENGINE_ARGS = "vllm/engine/arg_utils.py"
ENTRY_POINTS = "vllm/entrypoints/"
BUILDER = "make_arg_parser"
NOUN = "setting"
_PAIRS = "nullable_kvs("

_REPEATS = {"append", "extend", "append_const"}
# Takes the parser to change defaults for the platform; no platform of the wheel adds a flag.
_ADDS_NO_FLAG = {"pre_register_and_update"}


def settings_in(flags: tuple[str, ...]) -> tuple[str, ...]:
    """Name the flags of a command line as vLLM's parser spells them.

    ``--a_b=1`` is ``--a-b``, ``--conf.key 1`` is ``--conf`` and ``-O3`` is ``--optimization-level``. Abbreviations, which the
    parser takes as long as they are unique in its version, are named as they stand, so that no table has them.
    """
    named: dict[str, None] = {}
    for word in flags:
        if word.startswith("--") and word != "--":
            named["--" + re.split(r"[=.]", word[2:], maxsplit=1)[0].replace("_", "-")] = None
        elif word.startswith("-O"):
            named["--optimization-level"] = None
        elif re.match(r"-[A-Za-z]", word):
            named[word.split("=", 1)[0]] = None
    return tuple(named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One flag of the parser.

    Attributes:
        place: Where it is added; its aliases and its ``--no-`` form have the same.
        switch: True when it takes no value.
        repeatable: True when it may be given several times.
        choices: The only values that it takes; none where it takes others, too.
        is_json: True when its value is read as JSON.
    """

    place: Place
    switch: bool = False
    repeatable: bool = False
    choices: tuple[str, ...] = ()
    is_json: bool = False


def read_flags(files: BuildFiles) -> Mapping[str, Flag]:
    """Read what each flag of the parser takes.

    Raises:
        UnreadableError: One argument cannot be read for certain.
    """
    try:
        return _Parser(files).flags()
    except RecursionError as error:
        raise UnreadableError(str(error)) from error


def read_settings(files: BuildFiles) -> Facts:
    """Read every flag of the parser with its aliases and the ``--no-`` forms, or none of them.

    Flags come from literal ``add_argument`` calls and from the fields of the frontend classes; whether a flag has a ``--no-``
    form follows from the type of the config field behind it. One call that cannot be read for certain leaves the table unread:
    a partial table would refute flags that the engine takes.
    """
    try:
        parser = _Parser(files)
        entries = tuple((name, flag.place) for name, flag in parser.flags().items())
        return FactTable(noun=NOUN, entries=entries, place=parser.place)
    except (UnreadableError, RecursionError) as error:
        return Unread(noun=NOUN, reason=str(error))


class _Parser:
    """The argument parser of one build."""

    def __init__(self, files: BuildFiles) -> None:
        self._engine = parse(files, ENGINE_ARGS)
        self._frontend = self._find_frontend(files)
        self._builder = next(
            node for node in self._frontend.tree.body if isinstance(node, ast.FunctionDef) and node.name == BUILDER
        )
        self._fields = ConfigFields(files)
        self.place: Place = self._frontend.place(self._builder.lineno)

    @staticmethod
    def _find_frontend(files: BuildFiles) -> Source:
        """Find the module that builds the parser: it has moved between folders from version to version."""
        needle = f"def {BUILDER}(".encode()
        found = tuple(
            name
            for name in files.names()
            if name.startswith(ENTRY_POINTS) and name.endswith("/cli_args.py") and needle in files.read(name)
        )
        if len(found) != 1:
            raise UnreadableError(
                f"{len(found)} files under {ENTRY_POINTS} define {BUILDER}: {', '.join(found) or 'none'}"
            )
        return parse(files, found[0])

    def flags(self) -> dict[str, Flag]:
        """Collect all flags in the order in which they are added."""
        return dict(self._added_by(self._frontend, self._builder, owner=""))

    def _added_by(self, source: Source, function: ast.FunctionDef, *, owner: str) -> Iterator[tuple[str, Flag]]:
        bindings = _Bindings(function)
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            match call.func:
                case ast.Attribute(attr="add_argument"):
                    yield from self._argument(source, call, bindings, owner=owner)
                case ast.Attribute(value=ast.Name(id=name), attr="add_cli_args"):
                    yield from self._added_by_class(name)
                case func if simple_name(func) not in _ADDS_NO_FLAG and "parser" in map(simple_name, call.args):
                    raise UnreadableError(f"{source.path}:{call.lineno}: {ast.unparse(func)} may add further flags")

    def _added_by_class(self, name: str) -> Iterator[tuple[str, Flag]]:
        source = next(
            (s for s in (self._frontend, self._engine) if any(_class_name(n) == name for n in s.tree.body)), None
        )
        if source is None:
            raise UnreadableError(f"no class {name} in {self._frontend.path} or {ENGINE_ARGS}")
        for ancestor in _ancestry(source, name):
            function = method(ancestor, "add_cli_args")
            if function is not None:
                yield from self._added_by(source, function, owner=name)
                return
        raise UnreadableError(f"{source.path}: {name} has no add_cli_args")

    def _argument(
        self, source: Source, call: ast.Call, bindings: "_Bindings", *, owner: str
    ) -> Iterator[tuple[str, Flag]]:
        """Read one ``add_argument`` call: literal names, or one flag for each field of the class."""
        names = [text for arg in call.args for text in bindings.texts(arg)]
        if not all(names):
            yield from self._field_loop(source, call, bindings, owner=owner)
            return
        flags = [name for name in names if name is not None and name.startswith("-")]
        negatable = self._negatable(source, call, bindings)
        action = next((text_of(keyword.value) or "" for keyword in call.keywords if keyword.arg == "action"), "")
        added = Flag(
            place=source.place(call.lineno),
            switch=negatable or action.startswith("store_") or action == "count",
            repeatable=action in _REPEATS,
            choices=self._choices(call, bindings),
            is_json=self._is_json(call, bindings),
        )
        for flag in flags:
            yield flag, added
            if negatable and flag.startswith("--"):
                yield f"--no-{flag[2:]}", added

    def _choices(self, call: ast.Call, bindings: "_Bindings") -> tuple[str, ...]:
        """Give the values that ``choices=[...]`` or the type of the field behind the argument allows."""
        by_keyword = {keyword.arg: keyword.value for keyword in call.keywords}
        match by_keyword:
            case {"choices": ast.List(elts=listed) | ast.Tuple(elts=listed)}:
                texts = [text for one in listed if (text := text_of(one)) is not None]
                return tuple(texts) if len(texts) == len(listed) else ()
            case {None: options} if (behind := bindings.field_behind(options)) is not None and len(by_keyword) == 1:
                return self._fields.choices(*behind)
            case _:
                return ()

    def _is_json(self, call: ast.Call, bindings: "_Bindings") -> bool:
        """Say whether the value is read as JSON, and in no other way: up to 0.8.5 ``a=1,b=2`` was taken, too."""
        by_keyword = {keyword.arg: keyword.value for keyword in call.keywords}
        if any(_PAIRS in line for line in self._engine.lines):
            return False
        match by_keyword:
            case {"type": kind}:
                return ast.unparse(kind).endswith("json.loads)") or ast.unparse(kind) == "json.loads"
            case {None: options} if (behind := bindings.field_behind(options)) is not None and len(by_keyword) == 1:
                return self._fields.is_json(*behind)
            case _:
                return False

    def _negatable(self, source: Source, call: ast.Call, bindings: "_Bindings") -> bool:
        """Say whether the argument is a boolean with a ``--no-`` form."""
        by_keyword = {keyword.arg: keyword.value for keyword in call.keywords}
        if "action" in by_keyword:
            return simple_name(by_keyword["action"]) == "BooleanOptionalAction"
        if None not in by_keyword:
            return False
        config_field = bindings.field_behind(by_keyword[None])
        if config_field is None:
            raise UnreadableError(
                f"{source.path}:{call.lineno}: it is not certain which field this argument comes from"
            )
        return self._fields.is_boolean(*config_field)

    def _field_loop(
        self, source: Source, call: ast.Call, bindings: "_Bindings", *, owner: str
    ) -> Iterator[tuple[str, Flag]]:
        """Read ``add_argument(*extra, f"--{key.replace('_', '-')}", **value)`` over the fields of the class."""
        if not (owner and bindings.reads_fields_of(owner) and _is_dashed_name(call.args[-1])):
            raise UnreadableError(f"{source.path}:{call.lineno}: the name of this argument is not a literal")
        for ancestor in reversed(_ancestry(source, owner)):
            for extra in ast.walk(ancestor):
                if isinstance(extra, ast.Assign) and '["flags"]' in ast.unparse(extra.targets[0]).replace("'", '"'):
                    raise UnreadableError(f"{source.path}:{extra.lineno}: further names are added to a field here")
            actions = dict(_actions(ancestor))
            for name, annotation in ConfigFields.own(ancestor):
                flag, switch = name.replace("_", "-"), ConfigFields.boolean(annotation)
                repeatable = actions.get(name, "") in _REPEATS
                added = Flag(place=source.place(annotation.lineno), switch=switch, repeatable=repeatable)
                yield f"--{flag}", added
                if switch:
                    yield f"--no-{flag}", added


def _actions(owner: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Give the fields of a class whose argument gets another action: ``kwargs["name"]["action"] = "append"``."""
    for node in ast.walk(owner):
        match node:
            case ast.Assign(
                targets=[
                    ast.Subscript(
                        value=ast.Subscript(slice=ast.Constant(value=str(name))), slice=ast.Constant(value="action")
                    )
                ],
                value=ast.Constant(value=str(action)),
            ):
                yield name, action


def _class_name(node: ast.stmt) -> str:
    """Give the name of a class statement, ``""`` for any other."""
    return node.name if isinstance(node, ast.ClassDef) else ""


def _ancestry(source: Source, name: str) -> tuple[ast.ClassDef, ...]:
    """List a class and its ancestors in the same file, nearest first."""
    owner = source.top_class(name)
    above = tuple(base for node in owner.bases for base in _ancestry(source, simple_name(node)))
    return (owner, *above)


def _is_dashed_name(node: ast.expr) -> bool:
    """Recognise the f-string that turns a field's name into its flag."""
    known = ast.parse("""f"--{key.replace('_', '-')}\"""", mode="eval").body
    return ast.dump(node) == ast.dump(known)


def _literal(key: ast.expr | None) -> str:
    """Give a literal key; any other counts as ``action``, which is the one that matters."""
    return (text_of(key) if key is not None else None) or "action"


class _Bindings:
    """What the local names of a parser function stand for: the options of a config class, or of one field of it."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self._classes: dict[str, str] = {}
        self._fields: dict[str, tuple[str, str]] = {}
        self._rounds: dict[str, tuple[str | None, ...]] = {}
        for node in ast.walk(function):
            match node:
                case ast.Assign(targets=[ast.Name(id=name), *_], value=value):
                    self._bind(name, value)
                # for flag, kind in [("--a", str), ("--b", int)]:
                case ast.For(target=ast.Tuple(elts=[ast.Name(id=name), *_]), iter=ast.List(elts=rounds)):
                    firsts = (one.elts[0] if isinstance(one, ast.Tuple) and one.elts else one for one in rounds)
                    self._rounds[name] = tuple(map(text_of, firsts))
                case _:
                    continue

    def texts(self, node: ast.expr) -> tuple[str | None, ...]:
        """Give the text of a literal, or each text that a loop over literals binds a name to; ``None`` for any other."""
        return self._rounds.get(node.id, (None,)) if isinstance(node, ast.Name) else (text_of(node),)

    def _bind(self, name: str, value: ast.expr) -> None:
        config, behind = self._class_behind(value), self.field_behind(value)
        if config:
            self._classes[name] = config
        if behind is not None:
            self._fields[name] = behind

    def reads_fields_of(self, owner: str) -> bool:
        """True when the options of the class itself are read, as ``cls`` or by its name."""
        return not {"cls", owner}.isdisjoint(self._classes.values())

    def _class_behind(self, node: ast.expr) -> str:
        match node:
            case ast.Call(func=ast.Name(id="get_kwargs"), args=[config]):
                return simple_name(config)
            case ast.Name(id=name):
                return self._classes.get(name, "")
            case _:
                return ""

    def field_behind(self, node: ast.expr) -> tuple[str, str] | None:
        """Give the config class and the field whose options an expression stands for."""
        match node:
            case ast.Subscript(value=options, slice=ast.Constant(value=str(name))) if self._class_behind(options):
                return self._class_behind(options), name
            case ast.Name(id=name):
                return self._fields.get(name)
            # {**options, "default": None}: the same field with some options replaced, none of which is its action.
            case ast.Dict(keys=[None, *keys], values=[options, *_]) if "action" not in map(_literal, keys):
                return self.field_behind(options)
            case _:
                return None

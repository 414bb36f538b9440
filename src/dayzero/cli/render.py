"""``dayzero render``: write the deploy files, proven equal to the launch."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.cli.console import stderr_console
from dayzero.cli.main import FINDINGS, PROVEN
from dayzero.cli.output import OutputFormat, print_json
from dayzero.cli.sites import site_of
from dayzero.core.errors import InputError, IntegrityError, RemoteError
from dayzero.core.launch import (
    AddedVariable,
    AddedWords,
    Delta,
    LaunchSpec,
    Placeholder,
    Replaced,
    Unchecked,
    Word,
    at_site,
)
from dayzero.core.verdict import Proven, Refuted, Undecided, Verdict
from dayzero.targets.interface import NotCarriedError, Target
from dayzero.targets.proof import prove_text
from dayzero.wiring import deploy, plugins

_ALL = "all"
_RUNNABLE = 0o755


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rendered:
    target: Target
    text: str
    verdict: Verdict
    inputs: tuple[tuple[str, str], ...]
    validators: tuple[tuple[str, Verdict], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """Everything that is said about one call."""

    spec: LaunchSpec
    folder: Path
    rendered: tuple[_Rendered, ...]
    not_carried: tuple[tuple[str, NotCarriedError], ...]
    companions: tuple[str, ...]

    def path(self, one: _Rendered) -> str:
        return str(self.folder / one.target.file_name(self.spec))


def render(  # noqa: PLR0913  (each argument is one option)
    package: str,
    *,
    output: Annotated[Path, cyclopts.Parameter(name=["--output", "-o"])],
    target: Annotated[str, cyclopts.Parameter(name=["--target", "-t"])] = _ALL,
    site: Annotated[tuple[str, ...], cyclopts.Parameter(negative="")] = (),
    force: Annotated[bool, cyclopts.Parameter(negative="")] = False,
    output_format: OutputFormat = "text",
) -> int:
    """Write the deploy files of a package, each parsed back equal to the launch.

    Exit code 1: a file does not carry the launch (it is not written), or a validator that is installed refuses one.

    Args:
        package: Name, folder or file of the package.
        output: Folder to write into; it is made where it is missing.
        target: One deploy target, or "all": every one that can carry the launch, the others with the reason.
        site: What only your site knows, as NAME=VALUE; may be given several times. The output names what each file reads.
        force: Replace files there that differ.
        output_format: How the result is written to stdout.
    """
    spec = at_site(deploy.launch_of(package), site_of(site))
    rendered, not_carried = _render_all(spec, target)
    if not rendered:
        reasons = "; ".join(f"{name}: {error.message}" for name, error in not_carried)
        raise InputError(f"no deploy target can carry this launch: {reasons}", hint=not_carried[0][1].hint)
    _need_read(site, rendered)
    proven = tuple(one for one in rendered if isinstance(one.verdict, Proven))
    files = {one.target.file_name(spec): one.text for one in proven}
    companions = _companions(spec, proven, files)
    _write(output, files | companions, force=force)
    answer = _Answer(
        spec=spec,
        folder=output,
        rendered=tuple(_asked(one, output / one.target.file_name(spec)) for one in rendered),
        not_carried=not_carried,
        companions=tuple(companions),
    )
    _warn_of_others(answer)
    if output_format == "json":
        print_json(_document(answer))
    else:
        _print(answer)
    verdicts = [verdict for one in answer.rendered for verdict in (one.verdict, *(v for _, v in one.validators))]
    return FINDINGS if any(isinstance(verdict, Refuted) for verdict in verdicts) else PROVEN


def _need_read(given: tuple[str, ...], rendered: tuple[_Rendered, ...]) -> None:
    read = {name for one in rendered for name, _ in one.inputs}
    unread = sorted({text.partition("=")[0] for text in given} - read)
    if unread:
        raise InputError(
            f"no file of this launch reads the site's {', '.join(unread)}",
            hint=f"These files read: {', '.join(sorted(read)) or 'nothing of the site'}.",
        )


def _render_all(spec: LaunchSpec, wanted: str) -> tuple[tuple[_Rendered, ...], tuple[tuple[str, NotCarriedError], ...]]:
    rendered: list[_Rendered] = []
    not_carried: list[tuple[str, NotCarriedError]] = []
    for name in plugins.target_names() if wanted == _ALL else (wanted,):
        chosen = plugins.target(name)
        try:
            text = chosen.render(spec)
        except NotCarriedError as error:
            if wanted != _ALL:
                raise
            not_carried.append((name, error))
            continue
        inputs = deploy.inputs_read(chosen, spec)
        rendered.append(_Rendered(target=chosen, text=text, verdict=prove_text(spec, chosen, text), inputs=inputs))
    return tuple(rendered), tuple(not_carried)


def _companions(spec: LaunchSpec, proven: tuple[_Rendered, ...], files: dict[str, str]) -> dict[str, str]:
    beside: dict[str, str] = {}
    for one in proven:
        for name, text in one.target.companions(spec):
            if (files | beside).get(name, text) != text:
                raise IntegrityError(
                    f"two targets write different files {name}, one of them {one.target.name}",
                    hint="Render one target into each folder, and report this.",
                )
            beside[name] = text
    return {name: text for name, text in beside.items() if name not in files}


def _asked(one: _Rendered, file: Path) -> _Rendered:
    if not isinstance(one.verdict, Proven):
        return one
    return replace(one, validators=deploy.ask_validators(one.target, file))


def _write(folder: Path, files: dict[str, str], *, force: bool) -> None:
    content = {folder / name: text.encode() for name, text in files.items()}
    try:
        differing = [path for path, new in content.items() if path.exists() and path.read_bytes() != new]
        if differing and not force:
            raise InputError(
                f"a different file is there already: {', '.join(map(str, differing))}",
                hint="Choose another folder, or replace it with --force.",
            )
        folder.mkdir(parents=True, exist_ok=True)
        for path, new in content.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(new)
            if new.startswith(b"#!"):
                path.chmod(_RUNNABLE)
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise InputError(
            f"cannot write {error.filename or folder}: {error.strerror}", hint="Give a folder with -o."
        ) from error
    except OSError as error:
        raise RemoteError(
            f"cannot write {error.filename or folder}: {error.strerror}", hint="Choose another folder with -o."
        ) from error


def _warn_of_others(answer: _Answer) -> None:
    """Say which files there would start another launch: those of targets that cannot carry this one."""
    names = (plugins.target(name).file_name(answer.spec) for name, _ in answer.not_carried)
    others = [str(answer.folder / name) for name in names if (answer.folder / name).exists()]
    if others:
        stderr_console().print(
            f"warning: not of this launch, and left as they are: {', '.join(others)}", markup=False, soft_wrap=True
        )


def _word_of(verdict: Verdict) -> str:
    match verdict:
        case Proven():
            return "accepted"
        case Refuted():
            return "refused"
        case Undecided():
            return "not checked"


def _document(answer: _Answer) -> dict[str, object]:
    spec = answer.spec
    return {
        "schema": "dayzero/render/v1",
        "launch": {
            "name": spec.name,
            "argv_words": len(spec.argv),
            "env_entries": len(spec.env),
            "nodes": spec.nodes.count,
        },
        "files": [
            {
                "target": one.target.name,
                "path": answer.path(one),
                "proven": isinstance(one.verdict, Proven),
                "reason": one.verdict.reason,
                "deltas": [_delta(delta) for delta in one.target.deltas(spec)],
                "inputs": dict(one.inputs),
                "validators": [
                    {"name": name, "answer": _word_of(verdict), "reason": verdict.reason}
                    for name, verdict in one.validators
                ],
            }
            for one in answer.rendered
        ],
        "not_carried": [
            {"target": name, "reason": error.message, "hint": error.hint} for name, error in answer.not_carried
        ],
        "companions": [str(answer.folder / name) for name in answer.companions],
    }


def _delta(delta: Delta) -> dict[str, object]:
    match delta:
        case Replaced(flag=flag, value=value):
            return {"flag": flag, "value": value, "why": delta.why}
        case AddedVariable(name=name, value=value):
            return {"variable": name, "value": value, "why": delta.why}
        case AddedWords(leader=leader, worker=worker):
            return {
                "leader": [_word(word) for word in leader],
                "worker": [_word(word) for word in worker],
                "why": delta.why,
            }
        case Unchecked(why=why):
            return {"weights": "not checked", "why": why}


def _word(word: Word) -> str | dict[str, str]:
    return {"placeholder": word.value} if isinstance(word, Placeholder) else word


def _print(answer: _Answer) -> None:
    for one in answer.rendered:
        print(f"{one.target.name}: {answer.path(one)}")
        for line in _lines(one, answer.spec):
            print(f"  {line}")
    for name, error in answer.not_carried:
        print(f"{name}: not written: {error.message}")
    for name in answer.companions:
        print(f"beside: {answer.folder / name}")
    stderr_console().print(
        "These files run in the unpacked kit, which holds the lock, the checksums and the engine's launch files.",
        markup=False,
    )


def _lines(one: _Rendered, spec: LaunchSpec) -> Iterator[str]:
    yield f"{'proven' if isinstance(one.verdict, Proven) else 'refuted, not written'}: {one.verdict.reason}"
    for delta in one.target.deltas(spec):
        yield f"declared difference: {delta}: {delta.why}"
    for name, value in one.inputs:
        yield f"input: {name}: {value or 'left to the site'} (--site {name}=VALUE)"
    if not one.validators and isinstance(one.verdict, Proven):
        yield "not checked: no program of somebody else's is known that checks this kind of file by itself"
    for _, verdict in one.validators:
        yield f"{_word_of(verdict)}: {verdict.reason}"

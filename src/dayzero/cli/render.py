"""``dayzero render``: write the deploy files, proven equal to the launch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.cli.console import stderr_console
from dayzero.cli.main import FINDINGS, PROVEN
from dayzero.cli.output import OutputFormat, print_json
from dayzero.core.errors import InputError, RemoteError
from dayzero.core.launch import LaunchSpec
from dayzero.core.verdict import Proven, Refuted, Undecided, Verdict
from dayzero.targets.interface import Target
from dayzero.targets.proof import prove_text
from dayzero.wiring import deploy, plugins

_ALL = "all"
_RUNNABLE = 0o755


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rendered:
    target: Target
    text: str
    verdict: Verdict
    validators: tuple[tuple[str, Verdict], ...] = ()


def render(
    package: str,
    *,
    output: Annotated[Path, cyclopts.Parameter(name=["--output", "-o"])],
    target: Annotated[str, cyclopts.Parameter(name=["--target", "-t"])] = _ALL,
    force: Annotated[bool, cyclopts.Parameter(negative="")] = False,
    output_format: OutputFormat = "text",
) -> int:
    """Write the deploy files of a package, each parsed back equal to the launch.

    Exit code 1: a file does not carry the launch (it is not written), or a validator that is installed refuses one.

    Args:
        package: Name, folder or file of the package.
        output: Folder to write into; it is made where it is missing.
        target: One deploy target, or "all".
        force: Replace files there that differ.
        output_format: How the result is written to stdout.
    """
    spec = deploy.launch_of(package)
    names = plugins.target_names() if target == _ALL else (target,)
    rendered = tuple(_rendered(spec, plugins.target(name)) for name in names)
    proven = tuple(one for one in rendered if isinstance(one.verdict, Proven))
    files = {one.target.file_name(spec): one.text for one in proven}
    companions = {name: text for one in proven for name, text in one.target.companions(spec)}
    _write(output, files | companions, force=force)
    answered = tuple(
        _Rendered(
            target=one.target,
            text=one.text,
            verdict=one.verdict,
            validators=deploy.ask_validators(one.target, output / one.target.file_name(spec)) if one in proven else (),
        )
        for one in rendered
    )
    if output_format == "json":
        print_json(_document(spec, answered, output, tuple(companions)))
    else:
        _print(spec, answered, output, tuple(companions))
    verdicts = [verdict for one in answered for verdict in (one.verdict, *(v for _, v in one.validators))]
    return FINDINGS if any(isinstance(verdict, Refuted) for verdict in verdicts) else PROVEN


def _rendered(spec: LaunchSpec, target: Target) -> _Rendered:
    text = target.render(spec)
    return _Rendered(target=target, text=text, verdict=prove_text(spec, target, text))


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
            path.write_bytes(new)
            if new.startswith(b"#!"):
                path.chmod(_RUNNABLE)
    except OSError as error:
        raise RemoteError(
            f"cannot write {error.filename or folder}: {error.strerror}", hint="Choose another folder with -o."
        ) from error


def _answer(verdict: Verdict) -> str:
    match verdict:
        case Proven():
            return "accepted"
        case Refuted():
            return "refused"
        case Undecided():
            return "not checked"


def _document(
    spec: LaunchSpec, rendered: tuple[_Rendered, ...], output: Path, companions: tuple[str, ...]
) -> dict[str, object]:
    return {
        "schema": "dayzero/render/v1",
        "launch": {"name": spec.name, "argv_words": len(spec.argv), "env_entries": len(spec.env)},
        "files": [
            {
                "target": one.target.name,
                "path": str(output / one.target.file_name(spec)),
                "proven": isinstance(one.verdict, Proven),
                "reason": one.verdict.reason,
                "deltas": [{"flag": d.flag, "value": d.value, "why": d.why} for d in one.target.deltas(spec)],
                "validators": [
                    {"name": name, "answer": _answer(verdict), "reason": verdict.reason}
                    for name, verdict in one.validators
                ],
            }
            for one in rendered
        ],
        "companions": [str(output / name) for name in companions],
    }


def _print(spec: LaunchSpec, rendered: tuple[_Rendered, ...], output: Path, companions: tuple[str, ...]) -> None:
    for one in rendered:
        word = "proven" if isinstance(one.verdict, Proven) else "refuted, not written"
        print(f"{one.target.name}: {output / one.target.file_name(spec)}")
        print(f"  {word}: {one.verdict.reason}")
        for delta in one.target.deltas(spec):
            print(f"  declared difference: {delta.flag} {delta.value}: {delta.why}")
        for _, verdict in one.validators:
            print(f"  {_answer(verdict)}: {verdict.reason}")
    for name in companions:
        print(f"beside: {output / name}")
    stderr_console().print(
        "These files run in the unpacked kit, which holds the lock, the checksums and the engine's launch files.",
        markup=False,
    )

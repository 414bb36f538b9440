"""``dayzero kit verify``: hand a command line on to dayzero-verify, which knows what belongs together."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from dayzero.cli.output import OutputFormat
from dayzero_verify.cli import run


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Checking:
    """What is trusted, what lies beside the kit, and what else is checked; one option of dayzero-verify a member."""

    key: Annotated[
        tuple[Path, ...],
        Parameter(negative=(), help="A public key in PEM that you trust, from elsewhere than the kit."),
    ] = ()
    trust: Annotated[Path | None, Parameter(help="A trust document, in place of a key; it follows from --root.")] = None
    root: Annotated[str | None, Parameter(help="The fingerprint of a root in the trust document.")] = None
    policy: Annotated[
        Literal["now", "at-signing"] | None,
        Parameter(help="What a revoked key's signature is worth; nothing by default."),
    ] = None
    max_trust_age: Annotated[int | None, Parameter(help="From how many days on a trust document is stale.")] = None
    online_expiry: Annotated[
        bool, Parameter(negative=(), help="Refuse a trust document whose snapshot or timestamp has expired, too.")
    ] = False
    attestation: Annotated[
        Path | None, Parameter(help="The signed statements; default: KIT with .intoto.jsonl for .zip.")
    ] = None
    proof: Annotated[Path | None, Parameter(help="The log's proof; default: KIT with .tlog-proof, if it is there.")] = (
        None
    )
    log: Annotated[Path | None, Parameter(help="A copy of the log, to compare its heads.")] = None
    state: Annotated[
        Path | None, Parameter(help="Remember here what was verified; nothing older is accepted later.")
    ] = None
    weights: Annotated[Literal["quick", "full"] | None, Parameter(help="Check the model files; needs --model.")] = None
    model: Annotated[Path | None, Parameter(help="The folder of the model files.")] = None
    resume: Annotated[Path | None, Parameter(help="Remember here which model files were hashed.")] = None
    fresh: Annotated[bool, Parameter(negative=(), help="Hash every model file anew.")] = False
    threads: Annotated[int | None, Parameter(help="Model files hashed at once; default: one a core.")] = None
    live: Annotated[str | None, Parameter(help="URL of a running server, to ask whether it serves this.")] = None
    api_key_env: Annotated[str | None, Parameter(help="Environment variable that holds that server's API key.")] = None
    explain: Annotated[
        Path | None, Parameter(help="Write the signed bytes into this folder, and print the commands.")
    ] = None
    emit_svr: Annotated[Path | None, Parameter(help="Write what was checked as an in-toto statement, unsigned.")] = None
    require: Annotated[tuple[str, ...], Parameter(negative=(), help="Fail where this check was not made.")] = ()
    exec: Annotated[
        tuple[str, ...],
        Parameter(
            negative=(),
            consume_multiple=True,
            allow_leading_hyphen=True,
            help="Once verified, run this in place of dayzero; has to come last.",
        ),
    ] = ()


_NOTHING_SAID = Checking()


def verify(
    kit: Annotated[Path, Parameter(help="The kit's archive.")],
    *,
    checking: Checking = _NOTHING_SAID,
    output_format: OutputFormat = "text",
) -> int:
    """Check signature, archive and every byte of a kit; ends with the exit codes of dayzero-verify, not of dayzero."""
    # A path that begins with a dash would be read as an option, and so would all that follows on --exec if it came before.
    words = [str(kit) if not str(kit).startswith("-") else f"./{kit}"]
    for field in fields(checking):
        if field.name != "exec":
            words += _words(f"--{field.name.replace('_', '-')}", getattr(checking, field.name))
    words += ["--json"] if output_format == "json" else []
    words += ["--exec", *checking.exec] if checking.exec else []
    return run(words, program="dayzero kit verify")


def _words(option: str, value: object) -> list[str]:
    match value:
        case None | False:
            return []
        case True:
            return [option]
        case tuple():
            return [f"{option}={entry}" for entry in value]
        case _:
            return [f"{option}={value}"]

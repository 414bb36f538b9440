"""``dayzero keys``: who signs, until when, and what was taken back."""

from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.adapters.keys import load_key, load_public_key, make_key, save_key
from dayzero.adapters.trust_files import DRAFT
from dayzero.cli.keys_text import SCHEMA, published_document, published_lines, waiting_document, waiting_lines
from dayzero.cli.main import PROVEN
from dayzero.cli.output import OutputFormat, print_json
from dayzero.core.errors import InputError
from dayzero.wiring import clock
from dayzero.wiring.trust import Published, alone, published_in, waiting_in
from dayzero_verify.keys import PublicKey

APP = cyclopts.App(
    name="keys",
    help=(
        "Who signs it, until when, and what was taken back? Make keys, and keep the folder with trust.json and the log that "
        "buyers check kits against.\n\n"
        "The folder holds nothing secret: publish it as it is. See docs/how-to/publish-trust.md."
    ),
)

APP.command("dayzero.cli.keys_root:found", name="found")
APP.command("dayzero.cli.keys_root:rotate", name="rotate")
APP.command("dayzero.cli.keys_root:cosign", name="cosign")
APP.command("dayzero.cli.keys_publish:release_kit", name="release")
APP.command("dayzero.cli.keys_publish:retract", name="retract")
APP.command("dayzero.cli.keys_publish:refresh_folder", name="refresh")


@APP.command
def new(
    name: str,
    *,
    output: Annotated[Path, cyclopts.Parameter(name=("--output", "-o"))] = Path(),
    output_format: OutputFormat = "text",
) -> int:
    """Make a key: NAME.key.pem, which only its owner can read, and NAME.pub.pem, which everyone may.

    Args:
        name: Name of the two files, such as alice-root.
        output: Folder for them; it has to be there.
        output_format: How the result is written to stdout.
    """
    if not name or Path(name).name != name:
        raise InputError(f"{name!r} is not a plain name", hint="Name the folder with -o.")
    private, public = output / f"{name}.key.pem", output / f"{name}.pub.pem"
    key = make_key("release")
    save_key(key, private=private, public=public)
    keyid = PublicKey(key.public_key).keyid
    if output_format == "json":
        print_json({"schema": SCHEMA, "keyid": keyid, "private": str(private), "public": str(public)})
        return PROVEN
    print(f"{private}  private: only its owner reads it; keep a copy offline, and hand it to nobody")
    print(f"{public}  public: hand it to whoever founds or rotates")
    print(f"key id {keyid}")
    return PROVEN


@APP.command
def show(path: Path, *, output_format: OutputFormat = "text") -> int:
    """Show a key, or a trust document: who signs, until when, which kits are listed, what was taken back.

    Of a folder the log is checked too, and a root that waits for signatures is shown. Whether the root is the one that you
    know is yours to compare: a trust document can only be checked against itself.

    Args:
        path: A key file, a trust.json, or the folder that holds one.
        output_format: How the result is written to stdout.
    """
    if path.is_file() and path.suffix == ".pem":
        return _show_key(path, output_format)
    now = clock.now()
    published: Published | None
    if path.is_file():
        published, waiting = alone(path), None
    else:
        only_waits = (path / DRAFT).exists() and not (path / "trust.json").exists()
        published = None if only_waits else published_in(path)
        waiting = waiting_in(path, published)
    if output_format == "json":
        print_json(
            {
                "schema": SCHEMA,
                "trust": published_document(published, now) if published else None,
                "waiting": waiting_document(waiting) if waiting else None,
            }
        )
        return PROVEN
    lines = published_lines(published, now) if published else []
    print("\n".join([*lines, *(waiting_lines(waiting, path) if waiting else [])]))
    return PROVEN


def _show_key(path: Path, output_format: OutputFormat) -> int:
    private = b"PRIVATE KEY" in path.read_bytes()
    if private:
        key = load_key(path)
        keyid, demo = PublicKey(key.public_key).keyid, key.kind == "demo"
    else:
        public = load_public_key(path)
        keyid, demo = public.keyid, public.demo
    if output_format == "json":
        print_json({"schema": SCHEMA, "keyid": keyid, "half": "private" if private else "public", "demo": demo})
        return PROVEN
    print(f"{'private' if private else 'public'} Ed25519 key{', a demo key, which proves no identity' if demo else ''}")
    print(f"key id {keyid}")
    return PROVEN

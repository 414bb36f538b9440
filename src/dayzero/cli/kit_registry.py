"""``dayzero kit push`` and ``pull``: move a kit whole; whether it can be trusted is ``verify``'s question."""

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dayzero.adapters import kit_places
from dayzero.adapters.kit_files import read_kit, write_kit
from dayzero.adapters.kit_places import parse_place
from dayzero.cli.output import OutputFormat, print_json

PlainHttp = Annotated[
    bool,
    Parameter(
        name="--plain-http",
        negative=(),
        help="Speak http to a host beyond this machine; anyone between can read along.",
    ),
]


def push(
    kit: Annotated[Path, Parameter(help="The kit's archive; its statements and log proof lie beside it.")],
    place: Annotated[str, Parameter(help="oci://HOST/REPOSITORY:TAG, or a folder.")],
    *,
    replace: Annotated[
        bool, Parameter(name="--replace", negative=(), help="Move the tag if it names another kit.")
    ] = False,
    plain_http: PlainHttp = False,
    output_format: OutputFormat = "text",
) -> int:
    """Put a kit with its signed statements into a container registry or a folder.

    Log-ins come from where docker login keeps them. Bytes that are there already are not sent again, a tag that names another kit
    is not moved unasked, and the tag is set last.
    """
    files = read_kit(kit)
    done = kit_places.push(files, parse_place(place), plain_http=plain_http, replace=replace)
    if output_format == "json":
        print_json(
            {
                "schema": "dayzero/kit-push/v1",
                "kit": files.archive_name,
                "place": place,
                "reference": done.reference,
                "referrers": done.referrers,
                "blobs": {"uploaded": done.uploaded, "present": done.present},
            }
        )
        return 0
    print(f"pushed {files.archive_name} to {place}")
    if done.referrers:
        listed = (
            "by the registry itself" if done.referrers == "api" else "under a tag: this registry has no referrers API"
        )
        print(f"{done.uploaded} blobs uploaded, {done.present} were there; the statements are listed {listed}")
        print(f"\nThe same bytes for everyone:\n  dayzero kit pull {shlex.quote(done.reference)}")
    return 0


def pull(
    place: Annotated[
        str,
        Parameter(help="oci://HOST/REPOSITORY:TAG or @sha256:..., https://.../NAME.kit.zip, or a folder with one kit."),
    ],
    *,
    output: Annotated[
        Path, Parameter(name=("--output", "-o"), help="The folder to write to; made if missing.")
    ] = Path(),
    plain_http: PlainHttp = False,
    output_format: OutputFormat = "text",
) -> int:
    """Get a kit with its signed statements; writes all of it or nothing, and replaces no file.

    Every digest on the way is compared, but no signature: the command that verifies is printed.
    """
    done = kit_places.pull(parse_place(place), plain_http=plain_http)
    written = write_kit(done.files, output)
    verify = f"dayzero kit verify {shlex.quote(str(written[-1]))} --key KEY.pub.pem"
    if output_format == "json":
        print_json(
            {
                "schema": "dayzero/kit-pull/v1",
                "kit": done.files.archive_name,
                "place": place,
                "reference": done.reference,
                "files": [str(path) for path in written],
                "verified": False,
                "verify": verify,
            }
        )
        return 0
    for path in written:
        print(path)
    print(f"\nNot verified yet. With the owner's public key (or --trust and --root), from somewhere else than {place}:")
    print(f"  {verify}")
    return 0

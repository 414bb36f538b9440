"""``dayzero catalog verify``: is this the site that was signed?"""

from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.cli.main import PROVEN
from dayzero.cli.output import OutputFormat, print_json
from dayzero.wiring.catalog_verify import verify_site


def verify_built(
    site: Path,
    *,
    key: Annotated[tuple[Path, ...], cyclopts.Parameter(name="--key", negative=())] = (),
    output_format: OutputFormat = "text",
) -> int:
    """Hold every file of a site to its signed index; exit code 4 names the first that differs.

    Args:
        site: Folder of the site.
        key: A public key that you trust, from another source than the site.
        output_format: How the result is written to stdout.
    """
    found = verify_site(site, key)
    if output_format == "json":
        print_json(
            {
                "schema": "dayzero/catalog-verify/v1",
                "site": str(site),
                "files": found.files,
                "as_of": found.as_of,
                "keyid": found.keyid,
                "demo_key": found.demo,
            }
        )
        return PROVEN
    whose = "a demo key, which proves integrity and not identity" if found.demo else "the key"
    print(
        f"verified {site}: {found.files} files as signed by {whose} {found.keyid}, as of {found.as_of or 'no instant'}"
    )
    return PROVEN

"""``dayzero market``: who may use it? What the operator does; buyers have pages of their own."""

from pathlib import Path
from typing import Annotated, TypeAlias

import cyclopts

from dayzero.cli.main import FINDINGS, INTEGRITY, PROVEN
from dayzero.cli.output import OutputFormat, print_json
from dayzero.core.errors import InputError
from dayzero.market.audit import Audited, audit
from dayzero.market.audit_since import audit_since
from dayzero.wiring.market import init_market, open_market, read_checkpoint_file, read_checkpoints, write_checkpoint

SCHEMA = "dayzero/market/v1"

Database: TypeAlias = Annotated[
    str,
    cyclopts.Parameter(
        name=("--database", "-d"),
        env_var="DAYZERO_MARKET",
        help="File of SQLite, or postgresql://USER@HOST/NAME with the owner's role.",
    ),
]

APP = cyclopts.App(
    name="market",
    help=(
        "Who may use it? Prices, signed licences, credit, refunds, and the audit of the books.\n\n"
        "The books are a file of SQLite, or a database of PostgreSQL: --database, or DAYZERO_MARKET. See docs/reference/market.md."
    ),
)

APP.command("dayzero.cli.market_offer:terms", name="terms")
APP.command("dayzero.cli.market_offer:threshold", name="threshold")
APP.command("dayzero.cli.market_offer:version", name="version")
APP.command("dayzero.cli.market_offer:tier", name="tier")
APP.command("dayzero.cli.market_offer:withdraw", name="withdraw")
APP.command("dayzero.cli.market_offer:say", name="notice")
APP.command("dayzero.cli.market_offer:provider", name="provider")
APP.command("dayzero.cli.market_money:account", name="account")
APP.command("dayzero.cli.market_money:password", name="password")
APP.command("dayzero.cli.market_money:grant_credit", name="grant")
APP.command("dayzero.cli.market_money:refund_order", name="refund")
APP.command("dayzero.cli.market_money:sweep_payments", name="sweep")
APP.command("dayzero.cli.market_money:revoke_right", name="revoke")
APP.command("dayzero.cli.market_money:export", name="export")


@APP.command
def init(database: Database, *, app_role: str = "") -> int:
    """Make the books, or bring them to the schema of this release; nothing that is recorded changes.

    Args:
        database: File of SQLite, or postgresql://USER@HOST/NAME with the owner's role.
        app_role: Role of PostgreSQL that the web server will use: it can read and append, and nothing else. Made where missing.
    """
    revision = init_market(database, app_role)
    print(f"the books have schema {revision}")
    if app_role:
        print(f"the role {app_role} reads and appends; it cannot change, delete or empty anything, nor give credit")
    return PROVEN


@APP.command(name="audit")
def audit_books(
    database: Database,
    *,
    checkpoints: Path | None = None,
    since: Path | None = None,
    key: Annotated[tuple[Path, ...], cyclopts.Parameter(negative=())] = (),
    output_format: OutputFormat = "text",
) -> int:
    """Go through the books: chains, rows, money, and what every right to use rests on.

    Exit 0: nothing was found; 1: money that a person has to look at; 4: somebody changed what was recorded.

    Args:
        database: File of SQLite, or postgresql://USER@HOST/NAME.
        checkpoints: Folder of the checkpoints that were kept outside the database.
        since: One of those checkpoints, from which the audit goes on; the verdict is about what came after it.
        key: Public key that signs the checkpoints; can be given again.
        output_format: How the result is written to stdout.
    """
    if since is not None and checkpoints is not None:
        raise InputError("--since goes on from one checkpoint", hint="Leave --checkpoints out, or make a full audit.")
    signed = read_checkpoints(checkpoints, key) if checkpoints is not None else ()
    begin = read_checkpoint_file(since, key) if since is not None else None
    with open_market(database) as market:
        seen = audit(market, signed) if begin is None else audit_since(market, begin)
    code = PROVEN
    if seen.findings:
        code = FINDINGS if {finding.kind for finding in seen.findings} == {"provider"} else INTEGRITY
    if output_format == "json":
        print_json(_document(seen))
        return code
    for finding in seen.findings:
        print(f"{finding.where}: {finding.reason} [{finding.kind}]")
    if seen.unlisted:
        print(f"and {seen.unlisted} more")
    verdict = {PROVEN: "proven", FINDINGS: "refuted", INTEGRITY: "refuted: the books were changed"}[code]
    print(f"{verdict} since block #{seen.since}" if seen.since else verdict)
    print(
        f"checked: {seen.entries} entries of {seen.accounts} chains, {seen.rows} rows, {seen.blocks} blocks, "
        f"{seen.checkpoints} signed checkpoints"
    )
    if seen.since:
        print(
            "what that block covers was not read again, and rows that no entry recorded were not looked for: the full audit does"
        )
    if not seen.checkpoints:
        print("no checkpoint from outside was given: a past that was written anew as a whole would not be seen")
    return code


@APP.command
def checkpoint(
    database: Database, *, sign: Path, output: Annotated[Path, cyclopts.Parameter(name=("--output", "-o"))]
) -> int:
    """Sign the state of all chains, and keep that outside the database.

    Args:
        database: File of SQLite, or postgresql://USER@HOST/NAME with the owner's role.
        sign: Private key; keep it where the database's owner cannot read it.
        output: Folder for the signed file; publish it, or keep it on another machine.
    """
    with open_market(database) as market:
        file = write_checkpoint(market, sign, output)
    print(file)
    return PROVEN


def _document(seen: Audited) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "findings": [
            {"kind": finding.kind, "where": finding.where, "reason": finding.reason} for finding in seen.findings
        ],
        "unlisted": seen.unlisted,
        "entries": seen.entries,
        "accounts": seen.accounts,
        "rows": seen.rows,
        "blocks": seen.blocks,
        "checkpoints": seen.checkpoints,
        "since": seen.since,
    }

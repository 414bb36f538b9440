"""What the verifier itself states: an in-toto Simple Verification Result, unsigned, of the checks that passed."""

import json
from datetime import datetime

from dayzero_verify import __version__
from dayzero_verify.report import Report, Status
from dayzero_verify.statement import STATEMENT_TYPE, KitStatement
from dayzero_verify.times import format_time

SVR_TYPE = "https://in-toto.io/attestation/svr/v0.2"
VERIFIER = f"urn:dayzero:verifier:{__version__}"
_PREFIX = "DAYZERO_"


def result_statement(report: Report, statement: KitStatement, now: datetime, *, hashed: bool) -> bytes:
    """Write the statement about a verified kit; its subjects are the archive and, where they were hashed, the model files.

    Args:
        report: The report; only checks that passed become properties.
        statement: What was signed about the kit.
        now: When it was verified.
        hashed: True where a pass of the weights means that every model file was hashed.
    """
    passed = [row for row in report.rows if row.status is Status.PASS]
    subjects = [(f"{statement.kit}-{statement.version}.kit.zip", report.sha256)]
    if hashed and "weights" in {row.check for row in passed}:
        subjects += [(file.path, file.sha256) for file in statement.model_files]
    document = {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in subjects],
        "predicateType": SVR_TYPE,
        "predicate": {
            "verifier": {"id": VERIFIER, "policies": []},
            "timeCreated": format_time(now),
            "properties": [f"{_PREFIX}{row.check.upper()}" for row in passed],
        },
    }
    return json.dumps(document, separators=(",", ":"), sort_keys=True).encode() + b"\n"

import json
from dataclasses import replace

import pytest
from tests.kit.contents import CLAIM, LOG, PACKAGE, RECORDS, START, contents, digest, raw_file

from dayzero.core.errors import EvidenceError, IntegrityError
from dayzero.core.pins import Sha256
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.model import RawFile, Record, Retraction
from dayzero.kit.assemble import assemble
from dayzero.kit.backing import Backing, backing
from dayzero.kit.readme import kit_readme
from dayzero.kit.statements import receipt_statements
from dayzero.wiring.kit_contents import RawInKit

FOREIGN = replace(CLAIM, slug="other/start-to-healthy", subject=Sha256("9" * 64))
GONE = Retraction(slug=CLAIM.slug, kind="retract", reason="The clock was wrong.", at="2026-11-30T00:00:00Z")
BETWEEN = b'{"seconds": 9.1}\n'


def found(*records: Record, files: tuple[bytes, ...] = (START, LOG), torn: bytes = b"") -> Backing:
    ledger, lines = Ledger().append(records)
    raw = RawInKit({f"evidence/raw/{digest(content)}": content for content in files})
    return backing(PACKAGE, lines + torn, ledger, raw)


def bench_receipt(name: str, *raw: bytes, at: str) -> tuple[RawFile, bytes]:
    document = {
        "schema": "dayzero/bench-receipt/v1",
        "environment": {"cpu": name},
        "raw": [{"file": "rows", "sha256": digest(content).hex} for content in raw],
    }
    content = json.dumps(document).encode()
    return replace(raw_file(f"{name}/receipt.json", content), captured_at=at), content


def test_claims_about_another_recipe_are_counted_and_not_stated():
    said = found(*RECORDS, FOREIGN)
    assert [claim.slug for run in said.runs for claim in run.claims] == [CLAIM.slug]
    assert said.elsewhere == 1


def test_without_evidence_nothing_is_stated():
    said = found()
    assert (said.ledger, said.runs, said.raw_files, said.taken_back, said.elsewhere) == (b"", (), (), (), 0)


def test_what_was_filed_in_one_go_with_a_claims_raw_file_travels_and_the_rest_does_not():
    later = replace(raw_file("other.log", BETWEEN), captured_at="2026-11-29T18:00:00Z")
    assert {digest for digest, _ in found(*RECORDS, later).raw_files} == {digest(START), digest(LOG)}


def test_a_half_line_of_the_ledger_does_not_travel():
    assert found(*RECORDS, torn=b'{"seq"').ledger == found(*RECORDS).ledger


@pytest.mark.parametrize("kind", ["retract", "withdraw"])
def test_a_claim_that_was_taken_back_is_not_stated_and_readme_and_card_say_so(kind: str):
    gone = contents(replace(GONE, kind=kind))
    assert gone.runs == ()
    assert receipt_statements(assemble(gone), gone) == ()
    word = {"retract": "retracted", "withdraw": "withdrawn"}[kind]
    assert f"`{CLAIM.slug}`, {word} on 2026-11-30T00:00:00Z: The clock was wrong." in kit_readme(gone)
    assert f"{word}: The clock was wrong." in gone.card
    assert "12.30" not in gone.card + kit_readme(gone)


def test_each_run_has_a_receipt_of_its_own_with_its_own_machine():
    at = "2026-11-29T20:00:00Z"
    first, first_bytes = bench_receipt("a", START, at=at)
    second, second_bytes = bench_receipt("b", BETWEEN, at=at)
    other = replace(raw_file("rows", BETWEEN), captured_at=at)
    claim = replace(CLAIM, slug="demo-tiny/other", value="9.10", raw=digest(BETWEEN))
    said = found(*RECORDS, first, second, other, claim, files=(START, LOG, BETWEEN, first_bytes, second_bytes))
    assert [(run.name, run.environment, [one.slug for one in run.claims]) for run in said.runs] == [
        ("a/receipt.json", (("cpu", "a"),), [CLAIM.slug]),
        ("b/receipt.json", (("cpu", "b"),), ["demo-tiny/other"]),
    ]


def test_a_claim_that_no_receipt_names_belongs_to_the_one_run_that_was_filed_with_it():
    receipt, content = bench_receipt("a", LOG, at="2026-11-29T17:10:40Z")
    on_log = replace(CLAIM, slug="demo-tiny/log", raw=digest(LOG))
    said = found(*RECORDS, receipt, on_log, files=(START, LOG, content))
    assert [(run.name, len(run.claims)) for run in said.runs] == [("a/receipt.json", 2)]
    apart = replace(receipt, captured_at="2026-11-29T23:00:00Z")
    said = found(*RECORDS, apart, on_log, files=(START, LOG, content))
    assert [(run.name, len(run.claims)) for run in said.runs] == [("a/receipt.json", 1), ("", 1)]


def test_a_raw_file_of_somebody_else_may_be_gone_and_one_of_ours_may_not():
    foreign = raw_file("other.json", BETWEEN)
    elsewhere = replace(foreign, captured_at="2026-11-29T18:00:00Z")
    assert found(*RECORDS, elsewhere).runs
    with pytest.raises(EvidenceError, match="holds no raw file"):
        found(*RECORDS, files=(LOG,))
    with pytest.raises(EvidenceError, match="was never filed"):
        found(CLAIM)


def test_a_raw_file_that_was_changed_is_refused():
    ledger, lines = Ledger().append(RECORDS)
    raw = RawInKit({f"evidence/raw/{digest(START)}": b"changed", f"evidence/raw/{digest(LOG)}": LOG})
    with pytest.raises(IntegrityError, match="was changed"):
        backing(PACKAGE, lines, ledger, raw)

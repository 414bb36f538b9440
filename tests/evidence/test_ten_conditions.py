"""Each condition that pages and ledger have to meet, broken once: the check names the place, and every line that cites it."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.evidence.samples import CAUSE, OFF, ON, cause_claim, off_claim, on_claim, retraction, seeds_world

from dayzero.adapters.evidence_folder import EvidenceFolder
from dayzero.adapters.keys import make_key
from dayzero.attestation.envelope import sign_statements
from dayzero.attestation.model import Statement, Subject
from dayzero.cli.main import run
from dayzero.core.pins import Sha256
from dayzero.evidence.ledger import file_records
from dayzero.evidence.model import Claim, Record
from dayzero.evidence.wire import to_wire
from dayzero_verify.statement import KIT_TYPE, RECEIPT_TYPE

_CONFIG = f"""\
kits = ["dist/*.kit.zip"]

[[topic]]
name = "throughput"
claims = "k3/autotune"

[[comparison]]
claim = "{CAUSE}"
arms = ["{ON}", "{CAUSE}"]
control = "{OFF}"
"""


@dataclass
class Tree:
    """The seeds' world on disk, with a policy and a kit."""

    root: Path

    def append(self, *records: Record) -> None:
        file_records(EvidenceFolder(self.root / "evidence").ledger, lambda _: records)

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.root / name).read_text()
        assert old in text
        (self.root / name).write_text(text.replace(old, new, 1))

    def raw(self, index: int) -> str:
        return f"evidence/raw/{seeds_world().raw_digests()[index]}"

    def kit(self, *claims: Claim, ledger: bytes) -> None:
        signer = {"signer": {"kind": "demo"}}
        kit = Subject("k3.kit.zip", Sha256.of(b"kit"))
        statements = (
            Statement(
                subjects=(kit,),
                predicate_type=KIT_TYPE,
                predicate={"ledger": {"sha256": Sha256.of(ledger).hex}, **signer},
            ),
            Statement(
                subjects=(kit,),
                predicate_type=RECEIPT_TYPE,
                predicate={"claims": [to_wire(claim)[1] for claim in claims], **signer},
            ),
        )
        (self.root / "dist").mkdir(exist_ok=True)
        (self.root / "dist" / "k3.kit.zip").write_bytes(b"kit")
        attestation = sign_statements(statements, make_key("demo"))
        (self.root / "dist" / "k3.kit.intoto.jsonl").write_bytes(attestation)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    world = seeds_world()
    folder = EvidenceFolder(tmp_path / "evidence")
    for content in world.raw.files.values():
        folder.raw.put(content)
    folder.ledger.transact(lambda _: world.ledger)
    for name, text in world.pages.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "evidence.toml").write_text(_CONFIG)
    monkeypatch.chdir(tmp_path)
    made = Tree(tmp_path)
    made.kit(off_claim(), on_claim(), cause_claim(), ledger=world.ledger)
    return made


def _places(capsys: pytest.CaptureFixture[str]) -> list[tuple[str, list[str]]]:
    capsys.readouterr()
    assert run(["evidence", "check", "--output-format", "json"]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    return [
        (
            finding["kind"],
            [f"{place['file']}:{place['position'].removeprefix('line ')}".rstrip(":") for place in finding["places"]],
        )
        for finding in findings
    ]


def test_the_tree_meets_all_ten(tree: Tree, capsys: pytest.CaptureFixture[str]):
    assert tree.root.is_dir()
    assert run(["evidence", "check"]) == 0, capsys.readouterr().out


def _git_ignores(tree: Tree) -> None:
    subprocess.run(["git", "init", "-q", str(tree.root)], check=True)
    (tree.root / ".gitignore").write_text("raw/\n")


_OFF_CITED = ["README.md:3", "site/index.html:4"]
_ON_CITED = ["README.md:3", "site/index.html:5"]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        pytest.param(
            lambda tree: tree.edit(tree.raw(1), "140.4400", "140.4401"),
            ("raw-changed", ["RAW1", *_ON_CITED]),
            id="1 raw changed",
        ),
        pytest.param(
            lambda tree: (tree.root / tree.raw(1)).unlink(), ("raw-missing", ["RAW1", *_ON_CITED]), id="1 raw gone"
        ),
        pytest.param(_git_ignores, ("raw-ignored", ["RAW1"]), id="1 not in git"),
        pytest.param(
            lambda tree: tree.edit(tree.raw(0), "arm A: did not serve\n", ""),
            ("claim-unsupported", ["RAW0:3", "evidence/ledger.jsonl:3", *_OFF_CITED]),
            id="2 line moved",
        ),
        pytest.param(
            lambda tree: tree.edit(
                "README.md", "\narm B: single stream p50 140.30", "\narm B: single stream p50 140.31"
            ),
            ("quote-differs", ["README.md:5"]),
            id="2 quote differs",
        ),
        pytest.param(
            lambda tree: tree.append(replace(on_claim(), value="140.43")),
            ("claim-differs", ["RAW1:4", "evidence/ledger.jsonl:6", *_ON_CITED]),
            id="3 value differs",
        ),
        pytest.param(
            lambda tree: tree.edit("README.md", "-->140.42", "-->140.43"),
            ("citation-differs", ["README.md:3", "evidence/ledger.jsonl:4"]),
            id="3 rendered text differs",
        ),
        pytest.param(
            lambda tree: tree.edit("README.md", "# Kimi K3", "# Kimi K3, 2x faster"),
            ("number-bare", ["README.md:1"]),
            id="4 number outside a claim",
        ),
        pytest.param(
            lambda tree: tree.append(retraction(ON)),
            ("citation-withdrawn", ["site/index.html:5", "evidence/ledger.jsonl:6"]),
            id="5 cites what was taken back",
        ),
        pytest.param(
            lambda tree: tree.edit("evidence.toml", f'control = "{OFF}"', 'control = "k3/a-vs-a"'),
            ("comparison-incomplete", ["evidence.toml:7", "README.md:12"]),
            id="6 comparison without its control",
        ),
        pytest.param(
            lambda tree: tree.edit("site/index.html", "</ul>", '<li><data value="151.0">151.0</data></li></ul>'),
            ("markup-broken", ["site/index.html:6"]),
            id="7 card field typed",
        ),
        pytest.param(
            lambda tree: tree.edit("evidence.toml", "k3/autotune", "k3/vision"),
            ("topic-unsaid", ["evidence.toml:3"]),
            id="8 topic unsaid",
        ),
        pytest.param(
            lambda tree: tree.edit("site/index.html", 'value="140.42"', 'value="140.43"'),
            ("citation-differs", ["site/index.html:5", "evidence/ledger.jsonl:4"]),
            id="9 built site differs",
        ),
        pytest.param(
            lambda tree: tree.kit(replace(on_claim(), value="140.43"), ledger=seeds_world().ledger),
            ("receipt-differs", ["dist/k3.kit.intoto.jsonl:2", "evidence/ledger.jsonl:4"]),
            id="10 receipt says another number",
        ),
        pytest.param(
            lambda tree: tree.kit(on_claim(), ledger=b"another"),
            ("receipt-differs", ["dist/k3.kit.intoto.jsonl:2", "evidence/ledger.jsonl"]),
            id="10 receipt of another ledger",
        ),
        pytest.param(
            lambda tree: tree.append(retraction(ON, "retract")),
            ("receipt-differs", ["dist/k3.kit.intoto.jsonl:2", "evidence/ledger.jsonl:4"]),
            id="10 receipt says what was taken back",
        ),
        pytest.param(
            lambda tree: (tree.root / "dist/k3.kit.intoto.jsonl").unlink(),
            ("receipt-differs", ["dist/k3.kit.zip"]),
            id="10 kit without a receipt",
        ),
    ],
)
def test_a_broken_condition_is_found_with_its_place_and_every_line_that_cites_it(
    tree: Tree,
    capsys: pytest.CaptureFixture[str],
    fault: Callable[[Tree], object],
    expected: tuple[str, list[str]],
):
    fault(tree)
    kind, places = expected
    for index in (0, 1):
        places = [place.replace(f"RAW{index}", tree.raw(index)) for place in places]
    assert (kind, places) in _places(capsys)


def test_a_key_that_stands_twice_in_a_raw_file_leaves_its_claim_unsupported(
    tree: Tree, capsys: pytest.CaptureFixture[str]
):
    tree.edit(tree.raw(1), '"autotune": true,', '"autotune": true, "autotune": true,')
    found = _places(capsys)
    assert ("raw-changed", [tree.raw(1), *_ON_CITED]) in found
    assert [places[1:] for kind, places in found if kind == "claim-unsupported"] == [
        ["evidence/ledger.jsonl:4", *_ON_CITED]
    ]


def test_two_claims_that_changed_places_on_a_page_are_both_found(tree: Tree, capsys: pytest.CaptureFixture[str]):
    text = (tree.root / "README.md").read_text()
    (tree.root / "README.md").write_text(text.replace(OFF, "<>").replace(ON, OFF).replace("<>", ON))
    assert [places for kind, places in _places(capsys) if kind == "citation-differs"] == [
        ["README.md:3", "evidence/ledger.jsonl:4"],
        ["README.md:3", "evidence/ledger.jsonl:3"],
    ]


@pytest.mark.parametrize("fault", ["digit", "swap", "drop"])
def test_a_ledger_that_was_edited_stops_the_check_and_names_the_line(
    tree: Tree, capsys: pytest.CaptureFixture[str], fault: str
):
    file = tree.root / "evidence" / "ledger.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    if fault == "digit":
        lines[2] = lines[2].replace("140.30", "140.31")
    elif fault == "swap":
        lines[2], lines[3] = lines[3], lines[2]
    else:
        del lines[2]
    file.write_text("".join(lines))
    assert run(["evidence", "check"]) == 4
    assert capsys.readouterr().err.startswith("error: evidence/ledger.jsonl:3: ")

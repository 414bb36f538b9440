"""The printed commands are run in a real shell: they say yes to a kit that verifies, and each notices what it is there for."""

import shutil
import subprocess
from pathlib import Path

import pytest
from verifier.tests.kits import OWNER, STRANGER, digest, dump, envelope, line, make, public

from dayzero_verify.explain import MODEL_FOLDER, Proof, Step, explain, proof_text, prove, write
from dayzero_verify.inputs import UnreadableError
from dayzero_verify.kit import Content, examine

WEIGHTS = {"model.gguf": b"weights", "sub/.config": b"{}"}
PINS = [{"path": path, "size": len(content), "sha256": digest(content)} for path, content in WEIGHTS.items()]
MADE = make(change=lambda predicate: predicate.update(model={"files": PINS}))
KIT = Path("a kit.zip")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for program in ("openssl", "unzip"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    monkeypatch.chdir(tmp_path)
    KIT.write_bytes(MADE.archive)
    for path, content in WEIGHTS.items():
        Path("model dir", path).parent.mkdir(parents=True, exist_ok=True)
        Path("model dir", path).write_bytes(content)
    return tmp_path


def verified(attestation: bytes | None = None) -> Content:
    content = MADE.examine(attestation).content
    assert content is not None
    return content


def written(folder: str = "proof dir") -> Proof:
    proof = prove(verified(), kit=KIT, folder=Path(folder), model=Path("model dir"))
    write(proof, Path(folder))
    return proof


def agrees(step: Step) -> bool:
    """Tell whether a command ends well and prints what is said of it."""
    done = subprocess.run(["sh", "-c", step.command], capture_output=True, text=True, check=False)
    printed = done.stdout.strip().split("  ")[0] or "nothing"
    return done.returncode == 0 and printed == step.shows.partition(":")[0]


def refusing(proof: Proof) -> list[int]:
    """Give the places of the commands that notice something."""
    return [number for number, step in enumerate((*proof.kit, *proof.weights)) if not agrees(step)]


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("folder", ["proof dir", "-proof", "a/b'c"])
def test_every_command_says_yes_to_a_verified_kit(folder):
    proof = written(folder)
    assert refusing(proof) == []
    assert (len(proof.kit), len(proof.weights)) == (10, 2)


def flip(path: Path) -> None:
    """Change one bit of the last byte."""
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


KEY, SIGNED, NAMED, SIGNED_2, NAMED_2, RECEIPT, ARCHIVE, _UNZIP, SUMS, COUNT, PINNED, MODEL = range(12)


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("path", "noticed"),
    [
        ("proof dir/pae.bin", [SIGNED]),
        ("proof dir/sig.bin", [SIGNED]),
        ("proof dir/pae-2.bin", [SIGNED_2, RECEIPT]),
        ("proof dir/sig-2.bin", [SIGNED_2]),
        ("model dir/model.gguf", [MODEL]),
        ("model dir/sub/.config", [MODEL]),
    ],
)
def test_the_commands_notice_one_changed_bit(path, noticed):
    proof = written()
    flip(Path(path))
    assert refusing(proof) == noticed


@pytest.mark.usefixtures("shop")
def test_the_commands_notice_another_archive_and_what_was_changed_in_it():
    proof = written()
    KIT.write_bytes(MADE.archive.replace(b"exec engine", b"exec enginf"))
    assert {ARCHIVE, SUMS} <= set(refusing(proof))


@pytest.mark.usefixtures("shop")
def test_the_commands_notice_a_file_that_is_not_signed():
    proof = written()
    for step in proof.kit[: SUMS + 1]:
        assert agrees(step)
    Path("proof dir/kit/.hidden").write_bytes(b"")
    assert not agrees(proof.kit[COUNT])


@pytest.mark.usefixtures("shop")
def test_the_commands_notice_another_key_and_pins_that_were_not_signed():
    proof = written()
    key = Path("proof dir/key.pem")
    content = examine(MADE.archive, MADE.attestation(STRANGER), (public(STRANGER),)).content
    assert content is not None
    key.write_bytes(dict(prove(content, kit=KIT, folder=Path("x")).files)["key.pem"])
    sums = Path("proof dir/MODEL.SHA256SUMS")
    sums.write_text(sums.read_text().replace(PINS[0]["sha256"], "0" * 64))
    assert refusing(proof) == [KEY, SIGNED, SIGNED_2, PINNED, MODEL]


@pytest.mark.usefixtures("shop")
def test_a_missing_model_file_is_noticed():
    proof = written()
    Path("model dir/model.gguf").unlink()
    assert refusing(proof) == [MODEL]


def test_lines_by_different_keys_have_each_its_own():
    made = line(envelope(dump(MADE.kit), OWNER)) + line(envelope(dump(MADE.receipt), STRANGER))
    content = examine(MADE.archive, made, (public(OWNER), public(STRANGER))).content
    assert content is not None
    proof = prove(content, kit=KIT, folder=Path("DIR"))
    assert [name for name, _ in proof.files] == [
        "key.pem", "key-2.pem", "pae.bin", "sig.bin", "pae-2.bin", "sig-2.bin", "SHA256SUMS", "MODEL.SHA256SUMS",
    ]  # fmt: skip
    inkeys = [step.command.split()[5] for step in proof.kit if "pkeyutl" in step.command]
    assert inkeys == ["DIR/key.pem", "DIR/key-2.pem"]


def test_a_kit_without_pinned_files_has_no_command_for_them():
    content = make().examine().content
    assert content is not None
    proof = prove(content, kit=KIT, folder=Path("DIR"))
    assert proof.weights == ()
    assert "MODEL" not in proof_text(proof)


def test_without_a_model_folder_the_command_says_what_to_put_there():
    proof = prove(verified(), kit=KIT, folder=Path("DIR"))
    assert MODEL_FOLDER in proof.weights[-1].command
    assert "put the folder here" in proof_text(proof)


def test_nothing_that_exists_is_overwritten(tmp_path):
    (tmp_path / "sig.bin").write_text("precious")
    with pytest.raises(UnreadableError, match="exists already"):
        explain(verified(), kit=KIT, folder=tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"sig.bin": "precious"}
    with pytest.raises(UnreadableError, match="cannot write"):
        explain(verified(), kit=KIT, folder=tmp_path / "sig.bin" / "x")

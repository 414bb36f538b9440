import json
import os
import re
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from verifier.tests.models import INDEX, contents, header_of, name_of, pin, put, shard, whole_shard

from dayzero_verify import weights
from dayzero_verify.handover import SeenKit, hand_over
from dayzero_verify.inputs import UnreadableError
from dayzero_verify.report import ExitCode, Outcome, Status
from dayzero_verify.weights import Options

DIFFER, INCOMPLETE = ExitCode.WEIGHTS_DIFFER, ExitCode.WEIGHTS_INCOMPLETE


def failed(outcome: Outcome) -> tuple[ExitCode, str]:
    assert outcome.row.check == "weights"
    assert outcome.row.status is Status.FAIL
    return outcome.code, outcome.row.reason


def passed(outcome: Outcome) -> str:
    assert outcome.row.status is Status.PASS, outcome.row.reason
    return outcome.row.reason


@pytest.mark.parametrize("mode", ["quick", "full"])
def test_a_model_that_is_as_pinned_passes_and_the_answer_names_its_time(tmp_path, mode):
    model = put(tmp_path)
    reason = passed(weights.outcome(model.files, tmp_path, mode, Options(now=lambda: 1_796_000_000.0)))
    assert reason.startswith(f"{mode}, as of 2026-11-30T00:53:20Z: 5 files pinned, ")
    assert "3 safetensors headers cover their files (3 pinned by digest)" in reason
    assert ("the bytes of 3 files were not hashed" in reason) == (mode == "quick")


def test_a_header_is_only_said_to_be_pinned_where_it_is(tmp_path):
    files = tuple(replace(file, header_sha256="") for file in put(tmp_path).files)
    assert "(0 pinned by digest)" in passed(weights.outcome(files, tmp_path, "quick"))


def truncate(folder: Path) -> None:  # threat 28
    os.truncate(folder / name_of(2), (folder / name_of(2)).stat().st_size - 1)


def take_away(folder: Path) -> None:  # threat 29
    (folder / name_of(3)).unlink()


def lengthen(folder: Path) -> None:
    with (folder / name_of(1)).open("ab") as file:
        file.write(b"\0")


def other_header(folder: Path) -> None:
    content = (folder / name_of(1)).read_bytes().replace(b'"pt"', b'"np"')
    (folder / name_of(1)).write_bytes(content)


def other_settings(folder: Path) -> None:
    (folder / "config.json").write_bytes(b'{"model_type": "large"}')


def extra_code(folder: Path) -> None:
    (folder / "modeling_small.py").write_bytes(b"")


def extra_shard(folder: Path) -> None:
    (folder / "model-00004-of-00004.SAFETENSORS").write_bytes(b"")


def extra_deep(folder: Path) -> None:
    (folder / "original" / "deep").mkdir(parents=True)
    (folder / "original" / "deep" / "consolidated.00.pth").write_bytes(b"")


def extra_link(folder: Path) -> None:
    (folder / "elsewhere").symlink_to("/")


def link(folder: Path) -> None:
    (folder / name_of(1)).rename(folder / "kept")
    (folder / name_of(1)).symlink_to("kept")


def fifo(folder: Path) -> None:
    (folder / name_of(1)).unlink()
    os.mkfifo(folder / name_of(1))


def socket_in_its_place(folder: Path) -> None:
    (folder / name_of(1)).unlink()
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(folder / name_of(1)))


def folder_in_its_place(folder: Path) -> None:
    (folder / name_of(1)).unlink()
    (folder / name_of(1)).mkdir()


WRONG = [
    (truncate, INCOMPLETE, "'model-00002-of-00003.safetensors' ends after 184 of 185 bytes"),
    (take_away, INCOMPLETE, "'model-00003-of-00003.safetensors' is missing"),
    (lengthen, DIFFER, "has 186 bytes instead of the pinned 185"),
    (other_header, DIFFER, "has a header with sha256 "),
    (other_settings, DIFFER, "'config.json' has sha256 "),
    (extra_code, DIFFER, "'modeling_small.py' is not pinned, and an engine would load it"),
    (extra_shard, DIFFER, "'model-00004-of-00004.SAFETENSORS' is not pinned"),
    (extra_deep, DIFFER, "'original/deep/consolidated.00.pth' is not pinned"),
    (extra_link, DIFFER, "'elsewhere' is not pinned"),
    (link, INCOMPLETE, "is a link, to 'kept', and this is no snapshot of a hub's cache"),
    (fifo, INCOMPLETE, "is no regular file"),
    (socket_in_its_place, INCOMPLETE, "is no regular file"),
    (folder_in_its_place, INCOMPLETE, "is no regular file"),
]


@pytest.mark.parametrize("mode", ["quick", "full"])
@pytest.mark.parametrize(("change", "code", "why"), WRONG, ids=[change.__name__ for change, _, _ in WRONG])
def test_what_is_wrong_is_named_with_its_code(tmp_path, mode, change, code, why):
    model = put(tmp_path)
    passed(weights.outcome(model.files, tmp_path, mode))
    change(tmp_path)
    found, reason = failed(weights.outcome(model.files, tmp_path, mode))
    assert (found, why in reason) == (code, True), reason


def test_the_same_size_with_other_bytes_takes_the_full_check_to_find(tmp_path):  # threat 30
    model = put(tmp_path)
    content = bytearray(model.path(2).read_bytes())
    content[-1] ^= 1
    model.path(2).write_bytes(content)
    said: list[str] = []
    passed(weights.outcome(model.files, tmp_path, "quick"))
    code, reason = failed(weights.outcome(model.files, tmp_path, "full", Options(say=said.append)))
    assert code is DIFFER
    differs = f"'{name_of(2)}' has sha256 {sha256(content).hexdigest()} instead of the pinned {model.files[3].sha256}"
    assert reason == differs
    assert f"DIFFERS     {differs}" in said
    assert sum(line.startswith("ok ") for line in said) == 2


def test_another_revision_of_the_same_shape_is_not_the_pinned_one(tmp_path):  # threat 27
    model = put(tmp_path / "pinned")
    moved = {
        path: content if path.endswith(".json") else content.replace(b"\x01", b"\x02")
        for path, content in contents().items()
    }
    put(tmp_path / "moved", moved)
    assert failed(weights.outcome(model.files, tmp_path / "moved", "full"))[0] is DIFFER


def test_files_that_no_engine_loads_are_listed_and_do_not_count(tmp_path):
    model = put(tmp_path)
    (tmp_path / "README.md").write_bytes(b"")
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "config.json.metadata").write_bytes(b"")
    reason = passed(weights.outcome(model.files, tmp_path, "quick"))
    assert "beside them, not counted: '.cache/config.json.metadata'; 'README.md'" in reason


INDEX_WRONG = [
    ({"a.1.0": name_of(2)}, INCOMPLETE, f"'{name_of(1)}' holds other tensors than '{INDEX}' says: the index does not list 'a.1.0'"),
    ({"ghost": name_of(1)}, INCOMPLETE, "the index lists, and it is not there: 'ghost'"),
    ({"ghost": "model-9.safetensors"}, INCOMPLETE, "lists the shard 'model-9.safetensors', which is not pinned"),
    ({"a.3.0": name_of(1), "a.3.1": name_of(1)}, INCOMPLETE, f"does not list the pinned shard '{name_of(3)}'"),
    ({"a.1.0": 3}, DIFFER, "has no weight_map of names"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "code", "why"), INDEX_WRONG)
def test_the_index_and_the_shards_have_to_agree_both_ways(tmp_path, change, code, why):
    files = contents()
    index = json.loads(files[INDEX])
    index["weight_map"].update(change)
    files[INDEX] = json.dumps(index).encode()
    model = put(tmp_path, files)
    found, reason = failed(weights.outcome(model.files, tmp_path, "quick"))
    assert (found, why in reason) == (code, True), reason


def test_an_index_that_lists_as_many_tensors_under_another_name_does_not_agree(tmp_path):
    files = contents()
    files[INDEX] = files[INDEX].replace(b'"a.1.0"', b'"b.1.0"')
    model = put(tmp_path, files)
    code, reason = failed(weights.outcome(model.files, tmp_path, "quick"))
    assert (code, "the index does not list 'a.1.0'" in reason) == (INCOMPLETE, True)


def test_an_index_without_a_map_is_refused_and_one_in_a_folder_speaks_of_its_own_folder(tmp_path):
    for content in (b"{}", b"[]", b'{"weight_map": {"a": "b", "a": "c"}}'):
        model = put(tmp_path / "wrong", {INDEX: content})
        assert failed(weights.outcome(model.files, tmp_path / "wrong", "quick"))[0] is DIFFER
    inner = {f"inner/{path}": content for path, content in contents().items()}
    model = put(tmp_path / "right", {**inner, "consolidated.safetensors": whole_shard({"a.1.0": 3})})
    passed(weights.outcome(model.files, tmp_path / "right", "quick"))


def test_a_shard_that_is_pinned_but_cannot_be_whole_is_named(tmp_path):
    torn, rest = shard(header_of({"a": 3}), b"\0" * 8), shard(header_of({"a": 3}), b"\0" * 16)
    model = put(tmp_path / "torn", {"m.safetensors": torn})
    assert failed(weights.outcome(model.files, tmp_path / "torn", "quick")) == (
        INCOMPLETE,
        "'m.safetensors': the file ends 4 bytes before its tensors do",
    )
    model = put(tmp_path / "rest", {"m.safetensors": rest})
    assert failed(weights.outcome(model.files, tmp_path / "rest", "quick"))[0] is DIFFER


def cached(root: Path) -> Path:
    """Lay a model out as a hub's cache does, and give its snapshot."""
    repository = root / "models--org--small"
    snapshot = repository / "snapshots" / ("a" * 40)
    (repository / "blobs").mkdir(parents=True)
    for path, content in contents().items():
        blob = repository / "blobs" / sha256(content).hexdigest()
        blob.write_bytes(content)
        (snapshot / path).parent.mkdir(parents=True, exist_ok=True)
        (snapshot / path).symlink_to(Path("../../blobs") / blob.name)
    return snapshot


def test_links_of_a_hubs_cache_lead_to_its_blobs_and_are_followed(tmp_path):
    snapshot, files = cached(tmp_path), put(tmp_path / "plain").files
    passed(weights.outcome(files, snapshot, "full"))
    blob = (snapshot / name_of(1)).resolve()
    (snapshot / name_of(1)).unlink()
    (snapshot / name_of(1)).symlink_to(blob)  # an absolute path
    passed(weights.outcome(files, snapshot, "full"))


@pytest.mark.parametrize(
    "target", ["../../../elsewhere", "../../blobs/../../../elsewhere", "../../refs/main", "/dev/zero", "model.bin"]
)
def test_any_other_link_in_a_hubs_cache_is_refused(tmp_path, target):
    snapshot, files = cached(tmp_path), put(tmp_path / "plain").files
    (tmp_path / "elsewhere").write_bytes((snapshot / name_of(1)).read_bytes())
    (tmp_path / "models--org--small" / "refs").mkdir()
    (tmp_path / "models--org--small" / "refs" / "main").write_bytes((snapshot / name_of(1)).read_bytes())
    (snapshot / name_of(1)).unlink()
    (snapshot / name_of(1)).symlink_to(target)
    assert failed(weights.outcome(files, snapshot, "quick"))[0] is INCOMPLETE


def test_a_link_to_another_file_with_the_name_of_a_blob_is_refused(tmp_path):
    snapshot, files = cached(tmp_path), put(tmp_path / "plain").files
    blob = (snapshot / name_of(1)).resolve()
    (tmp_path / blob.name).write_bytes(b"what an engine would get")
    (snapshot / name_of(1)).unlink()
    (snapshot / name_of(1)).symlink_to(tmp_path / blob.name)
    code, reason = failed(weights.outcome(files, snapshot, "full"))
    assert (code, "leads out of the cache's blobs" in reason) == (INCOMPLETE, True)


def test_a_blob_that_is_itself_a_link_is_not_followed(tmp_path):
    snapshot, files = cached(tmp_path), put(tmp_path / "plain").files
    blob = (snapshot / name_of(1)).resolve()
    blob.rename(tmp_path / "elsewhere")
    blob.symlink_to(tmp_path / "elsewhere")
    assert failed(weights.outcome(files, snapshot, "quick"))[0] is INCOMPLETE


def test_a_folder_that_is_a_link_inside_the_model_is_not_followed(tmp_path):
    model = put(tmp_path / "model", {"inner/config.json": b"{}"})
    (tmp_path / "model" / "inner").rename(tmp_path / "outer")
    (tmp_path / "model" / "inner").symlink_to(tmp_path / "outer")
    code, reason = failed(weights.outcome(model.files, tmp_path / "model", "quick"))
    assert "'inner/config.json' is, or lies behind, a link that is not followed" in reason
    assert code is DIFFER  # and the link itself leads to what an engine may load


@pytest.mark.parametrize("path", ["../config.json", "/etc/passwd", "a//b", "./a", "a/..", "", "a\0b"])
def test_a_pin_that_leaves_the_folder_is_a_wrong_statement(tmp_path, path):
    assert failed(weights.outcome([replace(pin("a", b""), path=path)], tmp_path, "quick"))[0] is ExitCode.STATEMENT


def test_a_path_that_is_pinned_twice_is_a_wrong_statement_and_no_pins_are_no_answer(tmp_path):
    file = pin("a", b"")
    assert failed(weights.outcome([file, file], tmp_path, "quick"))[0] is ExitCode.STATEMENT
    nothing = weights.outcome([], tmp_path, "full")
    assert (nothing.row.status, nothing.code) == (Status.NOT_CHECKED, ExitCode.UNREADABLE)


def test_a_folder_that_is_not_there_is_unreadable(tmp_path):
    with pytest.raises(UnreadableError, match="cannot read the model"):
        weights.outcome([pin("a", b"")], tmp_path / "none", "quick")


def test_a_second_run_hashes_nothing_that_the_resume_file_knows(tmp_path):
    model, resume = put(tmp_path / "model"), tmp_path / "resume.jsonl"
    passed(weights.outcome(model.files, model.folder, "full", Options(resume=resume)))
    said: list[str] = []
    again = passed(weights.outcome(model.files, model.folder, "full", Options(resume=resume, say=said.append)))
    assert "sha256 of every file (3 from the resume file)" in again
    assert [line[:5] for line in said] == ["known"] * 3
    fresh = passed(weights.outcome(model.files, model.folder, "full", Options(resume=resume, fresh=True)))
    assert "from the resume file" not in fresh


def test_an_entry_counts_only_for_a_file_that_nobody_has_written_to(tmp_path):
    model, resume = put(tmp_path / "model"), tmp_path / "resume.jsonl"
    passed(weights.outcome(model.files, model.folder, "full", Options(resume=resume)))
    before = model.path(1).stat()
    content = model.path(1).read_bytes()
    model.path(1).write_bytes(content[:-1] + b"\7")
    os.utime(model.path(1), ns=(before.st_atime_ns, before.st_mtime_ns))  # as whoever hides a change would
    assert failed(weights.outcome(model.files, model.folder, "full", Options(resume=resume)))[0] is DIFFER


def test_an_entry_with_another_digest_or_a_torn_line_is_no_answer(tmp_path):
    model, resume = put(tmp_path / "model"), tmp_path / "resume.jsonl"
    passed(weights.outcome(model.files, model.folder, "full", Options(resume=resume)))
    lines = resume.read_bytes().splitlines()
    wrong = re.sub(rb'"sha256":"[0-9a-f]+"', b'"sha256":"' + b"0" * 64 + b'"', lines[0])
    resume.write_bytes(wrong + b"\n[]\nnot json\n" + lines[1] + b"\n" + lines[2][:-9])
    assert "(1 from the resume file)" in passed(
        weights.outcome(model.files, model.folder, "full", Options(resume=resume))
    )
    assert "(3 from" in passed(weights.outcome(model.files, model.folder, "full", Options(resume=resume)))


def test_a_resume_file_that_others_can_write_to_is_refused(tmp_path):
    model, resume = put(tmp_path / "model"), tmp_path / "resume.jsonl"
    resume.write_bytes(b"")
    resume.chmod(0o666)
    with pytest.raises(UnreadableError, match="others than you can write to it"):
        weights.outcome(model.files, model.folder, "full", Options(resume=resume))
    resume.unlink()
    resume.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnreadableError, match="cannot resume"):
        weights.outcome(model.files, model.folder, "full", Options(resume=resume))


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = sys.argv[3:]
from verifier.tests.models import contents, pin
from dayzero_verify import weights

def say(line):
    if line.startswith("ok "):
        os.kill(os.getpid(), signal.SIGKILL)

files = [pin(path, content) for path, content in contents().items()]
weights.outcome(files, Path(sys.argv[1]), "full", weights.Options(resume=Path(sys.argv[2]), say=say, threads=1))
"""


def test_after_kill_9_only_what_was_not_finished_is_hashed_again(tmp_path):
    model, resume = put(tmp_path / "model"), tmp_path / "resume.jsonl"
    here = [str(Path(__file__).parent), str(Path(weights.__file__).parents[1])]
    for finished in (1, 2, 3):
        ended = subprocess.run(
            [sys.executable, "-c", KILLED, str(model.folder), str(resume), *here], check=False, capture_output=True
        )
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        assert len(resume.read_bytes().splitlines()) == finished
    assert "(3 from" in passed(weights.outcome(model.files, model.folder, "full", Options(resume=resume)))


def test_a_file_that_is_changed_between_its_header_and_its_bytes_is_found(tmp_path):
    model, resume = put(tmp_path / "model"), tmp_path / "resume.jsonl"
    passed(weights.outcome(model.files, model.folder, "full", Options(resume=resume)))
    resume.write_bytes(
        b"".join(line for line in resume.read_bytes().splitlines(keepends=True) if b"-00003-of" not in line)
    )

    def swap(line: str) -> None:  # what is known is said before the first byte of the others is hashed
        if line.startswith("known") and name_of(1) in line:
            content = model.path(3).read_bytes()
            model.path(3).unlink()
            model.path(3).write_bytes(content)

    code, reason = failed(weights.outcome(model.files, model.folder, "full", Options(resume=resume, say=swap)))
    assert (code, reason) == (DIFFER, f"'{name_of(3)}' was changed while the model was checked")


HANDED = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[4:]
from verifier.tests.models import contents, pin
from dayzero_verify import weights
from dayzero_verify.handover import SeenKit, hand_over

folder, kit = Path(sys.argv[1]), SeenKit(Path(sys.argv[2]), sys.argv[3])
seen = weights.examine([pin(path, content) for path, content in contents().items()], folder, "full").seen
if Path(folder.parent / "swap").exists():
    target = folder / "config.json"
    content = target.read_bytes()
    target.unlink()
    target.write_bytes(content)
print(hand_over(["sh", "-c", "echo started; kill -s PIPE $$"], kit, folder, seen).row.reason)
"""


def test_the_engine_is_started_in_this_programs_place_unless_a_file_changed(tmp_path):  # threat 25
    model, kit = put(tmp_path / "model"), kit_in(tmp_path)
    here = [str(Path(__file__).parents[2]), str(Path(weights.__file__).parents[1])]
    command = [sys.executable, "-c", HANDED, str(model.folder), str(kit.path), kit.sha256, *here]
    started = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (started.stdout, started.returncode) == ("started\n", -signal.SIGPIPE), started.stderr
    (tmp_path / "swap").touch()
    refused = subprocess.run(command, check=False, capture_output=True, text=True)
    assert refused.stdout == "'config.json' was changed after it was checked\n"
    kit.path.write_bytes(b"another")
    refused = subprocess.run(command, check=False, capture_output=True, text=True)
    assert refused.stdout.startswith("the archive was changed after it was checked: it has sha256 ")


def kit_in(folder: Path) -> SeenKit:
    (folder / "a.kit.zip").write_bytes(b"checked")
    return SeenKit(folder / "a.kit.zip", sha256(b"checked").hexdigest())


CHANGES = {
    "written to": lambda path: path.write_bytes(path.read_bytes()),
    "its mode": lambda path: path.chmod(0o600),
    "gone": lambda path: path.unlink(),
    "a link": lambda path: (path.rename(path.with_suffix(".kept")), path.symlink_to(path.with_suffix(".kept"))),
}


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_after_the_check_refuses_the_handover(tmp_path, change):
    model, kit = put(tmp_path / "model"), kit_in(tmp_path)
    seen = weights.examine(model.files, model.folder, "quick").seen
    assert len(seen) == 5
    assert weights.unchanged(model.folder, seen) is None
    CHANGES[change](model.path(1))
    refused = hand_over(["/bin/false"], kit, model.folder, seen)
    assert failed(refused) == (DIFFER, f"'{name_of(1)}' was changed after it was checked")


def test_a_program_that_cannot_be_started_is_unreadable(tmp_path):
    seen = weights.examine(put(tmp_path).files, tmp_path, "quick").seen
    before = [signal.getsignal(number) for number in (signal.SIGPIPE, signal.SIGXFSZ)]
    with pytest.raises(UnreadableError, match=r"cannot start '\./none'"):
        hand_over(["./none"], kit_in(tmp_path), tmp_path, seen)
    assert [signal.getsignal(number) for number in (signal.SIGPIPE, signal.SIGXFSZ)] == before

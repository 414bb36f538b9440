import errno
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from dayzero.adapters.evidence_folder import EvidenceFolder, RepositoryRaw
from dayzero.core.errors import EvidenceError, InputError, IntegrityError, RemoteError
from dayzero.core.pins import Sha256
from dayzero.evidence.ledger import file_records, parse
from dayzero.evidence.model import NotMeasured

_RECORD = NotMeasured(topic="vision", why="no image was sent")


def _folder(tmp_path: Path, records: int = 1) -> EvidenceFolder:
    folder = EvidenceFolder(tmp_path / "evidence")
    for _ in range(records):
        file_records(folder.ledger, lambda _: (_RECORD,))
    return folder


def test_nothing_is_made_before_something_is_kept(tmp_path: Path):
    folder = EvidenceFolder(tmp_path / "evidence")
    assert folder.ledger.read() == b""
    with pytest.raises(EvidenceError):
        folder.raw.read(Sha256.of(b"x"))
    assert list(tmp_path.iterdir()) == []


def test_records_are_kept_in_one_chain(tmp_path: Path):
    folder = _folder(tmp_path, records=3)
    assert [entry.seq for entry in parse(folder.ledger.read()).entries] == [0, 1, 2]
    assert sorted(path.name for path in folder.root.iterdir()) == ["ledger.jsonl"]


def test_raw_files_are_kept_under_their_digest_and_nothing_else_is_left(tmp_path: Path):
    folder = EvidenceFolder(tmp_path)
    digest = folder.raw.put(b"a\xff\n")
    assert folder.raw.put(b"a\xff\n") == digest
    assert folder.raw.read(digest) == b"a\xff\n"
    (file,) = (tmp_path / "raw").iterdir()
    assert file.name == digest.hex == Sha256.of(b"a\xff\n").hex
    assert file.stat().st_mode & 0o777 == 0o644


def test_a_changed_raw_file_is_not_papered_over(tmp_path: Path):
    folder = EvidenceFolder(tmp_path)
    digest = folder.raw.put(b"140.30")
    (tmp_path / "raw" / digest.hex).write_bytes(b"140.31")
    with pytest.raises(IntegrityError):
        folder.raw.put(b"140.30")
    assert folder.raw.read(digest) == b"140.31"


def test_a_half_line_is_moved_aside_before_the_next_record_and_said(tmp_path: Path):
    folder = _folder(tmp_path)
    for number, half in ((1, b'{"body":{"'), (2, b"x")):
        with folder.ledger.path.open("ab") as stream:
            stream.write(half)
        filed = file_records(folder.ledger, lambda _: (_RECORD,))
        aside = folder.root / f"ledger.torn-{number}"
        assert filed.moved_aside == (str(aside),)
        assert aside.read_bytes() == half
    assert len(parse(folder.ledger.read()).entries) == 3
    assert not parse(folder.ledger.read()).torn


def test_when_the_decision_fails_nothing_is_appended(tmp_path: Path):
    folder = EvidenceFolder(tmp_path / "evidence")

    def refuse(_: bytes) -> bytes:
        raise InputError("no", hint="no")

    with pytest.raises(InputError):
        folder.ledger.transact(refuse)
    assert list(folder.root.iterdir()) == []


_WRITER = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from dayzero.adapters.evidence_folder import EvidenceFolder
    from dayzero.core.errors import RemoteError
    from dayzero.evidence.ledger import file_records
    from dayzero.evidence.model import NotMeasured

    folder = EvidenceFolder(Path(sys.argv[1]))
    for number in range(int(sys.argv[3])):
        file_records(folder.ledger, lambda _: (NotMeasured(topic=f"{sys.argv[2]} {number}", why="x"),))
    """
)


def _writer(folder: Path, name: str, records: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", _WRITER, str(folder), name, str(records)])


def test_two_processes_write_one_chain(tmp_path: Path):
    writers = [_writer(tmp_path, name, 50) for name in ("a", "b")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    ledger = parse((tmp_path / "ledger.jsonl").read_bytes())
    topics = [entry.record.topic for entry in ledger.entries if isinstance(entry.record, NotMeasured)]
    assert len(topics) == 100
    for name in ("a", "b"):
        assert [topic for topic in topics if topic.startswith(name)] == [f"{name} {number}" for number in range(50)]


def test_a_writer_that_is_killed_leaves_a_ledger_that_opens_and_goes_on(tmp_path: Path):
    writer = _writer(tmp_path, "a", 100_000)
    while not (tmp_path / "ledger.jsonl").exists() or (tmp_path / "ledger.jsonl").stat().st_size < 2_000:
        assert writer.poll() is None
    writer.send_signal(signal.SIGKILL)
    writer.wait(10)
    folder = EvidenceFolder(tmp_path)
    before = parse(folder.ledger.read())
    after = file_records(folder.ledger, lambda _: (_RECORD,)).ledger
    assert after.entries[:-1] == before.entries
    assert parse(folder.ledger.read()) == after


@pytest.mark.parametrize("records", [0, 2])
def test_a_full_disk_leaves_the_ledger_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, records: int):
    folder = _folder(tmp_path, records)
    before = folder.ledger.read()
    write = os.write

    def full(descriptor: int, content: bytes) -> int:
        if len(content) < 100:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, content[: len(content) - 50])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(RemoteError) as caught:
        file_records(folder.ledger, lambda _: (_RECORD,))
    assert caught.value.message == f"the disk is full: {folder.ledger.path} could not be written"
    assert folder.ledger.read() == before
    assert folder.ledger.path.exists() == bool(records)


def test_a_full_disk_leaves_no_half_raw_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(_descriptor: int, _content: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(RemoteError):
        EvidenceFolder(tmp_path).raw.put(b"x" * 100)
    assert list((tmp_path / "raw").iterdir()) == []


_LIMITED = textwrap.dedent(
    """
    import resource, signal, sys
    from pathlib import Path
    from dayzero.adapters.evidence_folder import EvidenceFolder
    from dayzero.core.errors import RemoteError
    from dayzero.evidence.ledger import file_records
    from dayzero.evidence.model import NotMeasured

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    folder = EvidenceFolder(Path(sys.argv[1]))
    try:
        for number in range(100):
            file_records(folder.ledger, lambda _: (NotMeasured(topic=str(number), why="x"),))
    except RemoteError:
        sys.exit(7)
    """
)


def test_a_line_that_the_system_really_writes_in_part_is_taken_back(tmp_path: Path):
    assert subprocess.run([sys.executable, "-c", _LIMITED, str(tmp_path)], check=False).returncode == 7
    ledger = parse((tmp_path / "ledger.jsonl").read_bytes())
    assert not ledger.torn
    assert 0 < len(ledger.entries) < 10


def _waits_for_a_lock(pid: int) -> bool:
    locks = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return any("->" in words and str(pid) in words for words in locks)


def test_readers_wait_for_a_line_that_is_being_written(tmp_path: Path):
    folder = _folder(tmp_path, records=1)
    reader: list[subprocess.Popen[bytes]] = []
    script = (
        "import sys; from pathlib import Path; from dayzero.adapters.evidence_folder import EvidenceFolder as F;"
        "sys.stdout.buffer.write(F(Path(sys.argv[1])).ledger.read())"
    )

    def change(content: bytes) -> bytes:
        reader.append(subprocess.Popen([sys.executable, "-c", script, str(folder.root)], stdout=subprocess.PIPE))
        until = time.monotonic() + 60
        while not _waits_for_a_lock(reader[0].pid):
            assert reader[0].poll() is None, "it read while a line was being written"
            assert time.monotonic() < until
            time.sleep(0.01)
        return parse(content).append((_RECORD,))[1]

    folder.ledger.transact(change)
    assert reader[0].communicate(timeout=30)[0] == folder.ledger.read()
    assert len(parse(folder.ledger.read()).entries) == 2


def test_a_ledger_that_cannot_be_read_is_said(tmp_path: Path):
    (tmp_path / "ledger.jsonl").mkdir()
    with pytest.raises(RemoteError):
        EvidenceFolder(tmp_path).ledger.read()


def test_a_raw_file_that_is_there_and_cannot_be_read_is_not_called_gone(tmp_path: Path):
    digest = Sha256.of(b"x")
    (tmp_path / "raw" / digest.hex).mkdir(parents=True)
    with pytest.raises(RemoteError):
        EvidenceFolder(tmp_path).raw.read(digest)


def test_a_raw_file_is_read_where_it_lies_unless_the_folder_has_it(tmp_path: Path):
    folder = EvidenceFolder(tmp_path / "evidence")
    (tmp_path / "a.json").write_bytes(b"changed since")
    kept, lying, gone = folder.raw.put(b"kept"), Sha256.of(b"lying"), Sha256.of(b"gone")
    raw = RepositoryRaw(folder.raw, {kept: tmp_path / "a.json", lying: tmp_path / "a.json", gone: tmp_path / "no.json"})
    assert raw.read(kept) == b"kept"
    assert raw.read(lying) == b"changed since"
    with pytest.raises(EvidenceError):
        raw.read(gone)
    with pytest.raises(EvidenceError):
        raw.read(Sha256.of(b"never filed"))
    assert set(raw.lying) == {lying, gone}
    assert raw.read(raw.put(b"new")) == b"new"

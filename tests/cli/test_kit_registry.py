"""``dayzero kit push`` and ``pull`` against the real registry of Debian's package docker-registry."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.adapters.kit_samples import FILES, OTHER
from tests.simulators.debian_registry import debian_registry

from dayzero.adapters.kit_files import KitFiles, write_kit
from dayzero.cli.main import run

# bcrypt of "secret", at its cheapest
USERS = "me:$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a"
KIT = "a-1.0.0.kit.zip"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with debian_registry(tmp_path_factory.mktemp("registry")) as host:
        yield host


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    write_kit(FILES, tmp_path)
    return tmp_path


def output(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert run(["kit", *words, "--output-format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("shop")
def test_a_kit_comes_back_byte_for_byte_by_tag_and_by_digest(registry, capsys):
    place = f"oci://{registry}/kits/round:1.0.0"
    pushed = output(capsys, "push", KIT, place)
    assert (pushed["schema"], pushed["referrers"]) == ("dayzero/kit-push/v1", "tag")
    assert pushed["blobs"] == {"uploaded": 5, "present": 0}
    for number, where in enumerate((place, str(pushed["reference"]))):
        pulled = output(capsys, "pull", where, "-o", str(number))
        assert (pulled["verified"], pulled["reference"]) == (False, pushed["reference"])
        assert {path.name: path.read_bytes() for path in Path(str(number)).iterdir()} == dict(FILES.named())


@pytest.mark.usefixtures("shop")
def test_a_second_push_sends_nothing_again_and_another_kit_does_not_take_the_tag(registry, capsys):
    place = f"oci://{registry}/kits/twice:1.0.0"
    first = output(capsys, "push", KIT, place)
    second = output(capsys, "push", KIT, place)
    assert second["blobs"] == {"uploaded": 0, "present": 5}
    assert first["reference"] == second["reference"]
    write_kit(KitFiles(stem="a-1.0.0", archive=OTHER.archive, attestation=OTHER.attestation()), Path("other"))
    assert run(["kit", "push", f"other/{KIT}", place]) == 2
    assert "give --replace to move this one" in capsys.readouterr().err
    moved = output(capsys, "push", f"other/{KIT}", place, "--replace")
    assert moved["reference"] != first["reference"]
    output(capsys, "pull", str(first["reference"]), "-o", "old")
    assert Path("old", KIT).read_bytes() == FILES.archive


@pytest.mark.usefixtures("shop")
def test_the_text_says_that_nothing_is_verified_and_how_to(registry, capsys):
    place = f"oci://{registry}/kits/text:1.0.0"
    assert run(["kit", "push", KIT, place]) == 0
    pushed = capsys.readouterr().out
    assert f"pushed {KIT} to {place}\n5 blobs uploaded, 0 were there" in pushed
    again = shlex.split(pushed.splitlines()[-1])
    assert run([*again[1:], "-o", "got"]) == 0
    text = capsys.readouterr().out
    assert "Not verified yet" in text
    assert text.splitlines()[-1].strip() == f"dayzero kit verify got/{KIT} --key KEY.pub.pem"


@pytest.mark.usefixtures("shop")
def test_a_different_file_in_the_way_is_kept(registry, capsys):
    place = f"oci://{registry}/kits/way:1.0.0"
    output(capsys, "push", KIT, place)
    Path("got").mkdir()
    Path("got", KIT).write_bytes(b"precious")
    assert run(["kit", "pull", place, "-o", "got"]) == 4
    assert {path.name: path.read_bytes() for path in Path("got").iterdir()} == {KIT: b"precious"}


@pytest.mark.usefixtures("shop")
def test_a_kit_that_is_not_there_and_a_place_that_is_none_have_their_exit_codes(registry, capsys):
    assert run(["kit", "pull", f"oci://{registry}/kits/absent:1"]) == 3
    assert "error: there is no oci://" in capsys.readouterr().err
    assert run(["kit", "pull", "oci://nowhere"]) == 2
    assert "hint: Give oci://HOST/REPOSITORY:TAG" in capsys.readouterr().err
    assert run(["kit", "push", "absent.kit.zip", "folder"]) == 2


def test_a_registry_that_wants_a_log_in_gets_the_users_own(shop, tmp_path_factory, capsys):
    with debian_registry(tmp_path_factory.mktemp("private"), USERS) as host:
        place = f"oci://{host}/kits/a:1.0.0"
        assert run(["kit", "push", KIT, place]) == 3
        assert f"docker login {host}" in capsys.readouterr().err
        (shop / "docker").mkdir()
        (shop / "docker" / "config.json").write_text(json.dumps({"auths": {host: {"auth": "bWU6c2VjcmV0"}}}))
        output(capsys, "push", KIT, place)
        output(capsys, "pull", place, "-o", "got")
    assert Path("got", KIT).read_bytes() == FILES.archive


@pytest.mark.usefixtures("shop")
def test_a_folder_is_a_place_too(capsys):
    output(capsys, "push", KIT, "stick")
    output(capsys, "pull", "stick", "-o", "got")
    assert {path.name: path.read_bytes() for path in Path("got").iterdir()} == dict(FILES.named())

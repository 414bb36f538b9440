import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.catalog.shop import NAME, Shop, open_shop
from tests.kit.measured import measured_kit

from dayzero.adapters.keys import load_key, make_key, save_key
from dayzero.attestation.envelope import seal
from dayzero.attestation.model import Statement, Subject
from dayzero.catalog.release import KitPin, ReleaseLog
from dayzero.cli.main import run
from dayzero.core.pins import Sha256
from dayzero.core.quantities import Bytes
from dayzero.evidence.subject import recipe_digest
from dayzero.wiring import definitions
from dayzero.wiring.catalog_releases import read_log


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return open_shop(tmp_path)


def test_publishing_freezes_the_definition_and_adds_a_line(shop: Shop, capsys: pytest.CaptureFixture[str]):
    assert shop.publish("--output-format", "json") == 0
    said = json.loads(capsys.readouterr().out)
    (release,) = read_log(shop.packages).releases
    assert shop.frozen().read_bytes() == shop.definition.read_bytes()
    assert (release.package, release.version, release.kit) == (NAME, "1.0.0", None)
    assert release.definition == Sha256.of(shop.definition.read_bytes())
    assert release.recipe == recipe_digest(shop.package.recipe)
    assert said == {
        "schema": "dayzero/catalog-publish/v1",
        "name": NAME,
        "version": "1.0.0",
        "at": release.at,
        "frozen": str(shop.frozen()),
        "definition_sha256": release.definition.hex,
        "recipe_sha256": release.recipe.hex,
        "kit": None,
        "log": str(shop.log),
        "head": read_log(shop.packages).head,
    }


def other_version(shop: Shop) -> None:
    shop.rewrite(('version = "1.0.0"\ntitle', 'version = "1.0.1"\ntitle'))


def other_definition(shop: Shop) -> None:
    shop.rewrite(("start_budget_s = 60", "start_budget_s = 61"))


def yanked(shop: Shop) -> None:
    assert shop.yank() == 0
    other_definition(shop)


def back_under_another_version(shop: Shop) -> None:
    """Publish a second version, and then the first definition's bytes again."""
    first = shop.definition.read_bytes()
    other_version(shop)
    assert shop.publish() == 0
    shop.definition.write_bytes(first)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda _: None, f"{NAME} 1.0.0 was released before"),
        (other_definition, f"{NAME} 1.0.0 was released before"),
        (yanked, "a version is never used again, also a yanked one"),
        (back_under_another_version, f"{NAME} 1.0.0 was released before"),
    ],
)
def test_a_version_is_never_used_again(
    shop: Shop, capsys: pytest.CaptureFixture[str], change: Callable[[Shop], None], said: str
):
    assert shop.publish() == 0
    change(shop)
    log, frozen = shop.log.read_bytes(), shop.frozen().read_bytes()
    assert shop.publish() == 2
    assert said in capsys.readouterr().err
    assert (shop.log.read_bytes(), shop.frozen().read_bytes()) == (log, frozen)


def test_a_changed_definition_under_a_new_version_is_published_beside_the_first(shop: Shop):
    assert shop.publish() == 0
    other_version(shop)
    assert shop.publish() == 0
    assert [release.version for release in read_log(shop.packages).releases] == ["1.0.0", "1.0.1"]
    assert shop.frozen("1.0.1").read_bytes() != shop.frozen().read_bytes()


def test_who_was_interrupted_between_freezing_and_the_log_publishes_again(
    shop: Shop, capsys: pytest.CaptureFixture[str]
):
    shop.frozen().parent.mkdir(parents=True)
    shop.frozen().write_bytes(shop.definition.read_bytes())
    assert shop.build() == 4
    assert "run dayzero catalog publish again" in capsys.readouterr().err
    assert shop.publish() == 0
    assert shop.build() == 0


def test_something_else_in_the_frozen_place_is_not_overwritten(shop: Shop, capsys: pytest.CaptureFixture[str]):
    shop.frozen().parent.mkdir(parents=True)
    shop.frozen().write_bytes(b"other")
    assert shop.publish() == 2
    assert "is there already, with other bytes" in capsys.readouterr().err
    assert not shop.log.exists()


def test_a_definition_that_is_not_valid_is_not_published(shop: Shop):
    shop.rewrite(("port = ", "prot = "))
    assert shop.publish() == 2
    assert not shop.log.exists()
    assert not shop.frozen().exists()


def test_a_half_line_of_a_killed_writer_is_moved_aside(shop: Shop):
    assert shop.publish() == 0
    whole = shop.log.read_bytes()
    shop.log.write_bytes(whole + b'{"body":')
    assert shop.yank() == 0
    assert shop.log.read_bytes().startswith(whole)
    assert len(read_log(shop.packages).records) == 2
    assert (shop.packages / "releases.torn-1").read_bytes() == b'{"body":'


def test_the_kit_of_exactly_this_definition_is_pinned(shop: Shop, capsys: pytest.CaptureFixture[str]):
    kit, key = measured_kit().write(shop.root / "kits")
    assert shop.publish("--kit", str(kit)) == 2
    assert "Give --key" in capsys.readouterr().err
    assert shop.publish("--key", str(key)) == 2
    assert shop.publish("--kit", str(kit), "--key", str(key)) == 0
    (release,) = read_log(shop.packages).releases
    assert release.kit
    assert (release.kit.archive, release.kit.sha256) == (kit.name, Sha256.of(kit.read_bytes()))
    assert shop.build("--kits", str(shop.root / "kits")) == 0
    assert shop.told(f"api/v1/releases/{NAME}/1.0.0.json")["kit"]["sha256"] == release.kit.sha256.hex
    assert (shop.site / f"packages/{NAME}/1.0.0/kit/{kit.name}").read_bytes() == kit.read_bytes()


def test_a_kit_of_another_recipe_is_not_published(shop: Shop, capsys: pytest.CaptureFixture[str]):
    kit, key = measured_kit().write(shop.root / "kits")
    other_definition(shop)
    assert shop.publish("--kit", str(kit), "--key", str(key)) == 4
    assert "another recipe" in capsys.readouterr().err
    assert not shop.log.exists()


def test_a_kit_that_is_not_the_published_one_builds_no_site(shop: Shop, capsys: pytest.CaptureFixture[str]):
    kit, _ = measured_kit().write(shop.root / "kits")
    assert shop.publish() == 0
    text = shop.log.read_bytes()
    (release,) = ReleaseLog.parse(text).releases
    pinned = replace(release, kit=KitPin(archive=kit.name, sha256=Sha256("ab" * 32), size=Bytes(1)))
    shop.log.write_bytes(ReleaseLog().append(pinned)[1])
    assert shop.build("--kits", str(kit.parent)) == 4
    assert "is not the one that was published" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("version", "reason", "said"),
    [
        ("2.0.0", "Why not.", f"{NAME} 2.0.0 was never released"),
        ("1.0.0", "  ", "gives no reason"),
    ],
)
def test_a_yank_names_a_release_and_a_reason(
    shop: Shop, capsys: pytest.CaptureFixture[str], version: str, reason: str, said: str
):
    assert shop.publish() == 0
    assert shop.yank(version, reason) == 2
    assert said in capsys.readouterr().err
    assert len(read_log(shop.packages).records) == 1


def test_a_version_is_yanked_once(shop: Shop, capsys: pytest.CaptureFixture[str]):
    assert shop.publish() == 0
    assert shop.yank() == 0
    assert f"yanked {NAME} 1.0.0 at " in capsys.readouterr().out
    assert shop.yank() == 2
    assert shop.frozen().is_file()


def signed(shop: Shop) -> Path:
    """Build a signed site, and give the public key."""
    private, public = shop.root / "own.key.pem", shop.root / "own.pub.pem"
    save_key(make_key("release"), private=private, public=public)
    assert shop.build("--sign", str(private)) == 0
    return public


def verify(shop: Shop, key: Path, *more: str) -> int:
    return run(["catalog", "verify", str(shop.site), "--key", str(key), *more])


def test_a_signed_site_verifies(shop: Shop, capsys: pytest.CaptureFixture[str]):
    key = signed(shop)
    capsys.readouterr()
    assert verify(shop, key, "--output-format", "json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["files"] == sum(file.is_file() for file in shop.site.rglob("*")) - 2
    assert said["as_of"] == "2026-11-29T16:40:12Z"
    assert not said["demo_key"]
    assert said["keyid"] in shop.text(".well-known/dayzero-keys.json")


def changed(path: str, content: bytes) -> Callable[[Shop], None]:
    return lambda shop: (shop.site / path).write_bytes((shop.site / path).read_bytes() + content) and None


def removed(path: str) -> Callable[[Shop], None]:
    return lambda shop: (shop.site / path).unlink()


def added(shop: Shop) -> None:
    (shop.site / "packages" / "more.html").write_text("<p>mine</p>")


def linked(shop: Shop) -> None:
    (shop.site / "llms.txt").unlink()
    (shop.site / "llms.txt").symlink_to("index.html")


def index_rewritten(shop: Shop) -> None:
    """Change a file and the index with it."""
    page = shop.site / "index.html"
    before = Sha256.of(page.read_bytes()).hex
    page.write_bytes(page.read_bytes().replace(b"532.4", b"932.4"))
    index = shop.site / "index.json"
    index.write_text(index.read_text().replace(before, Sha256.of(page.read_bytes()).hex))


@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        (changed("index.html", b" "), 4, "index.html was changed"),
        (changed(f"packages/{NAME}/draft/package.toml", b"#"), 4, f"packages/{NAME}/draft/package.toml was changed"),
        (changed("index.json", b" "), 4, "index.json is not the one that was signed"),
        (index_rewritten, 4, "index.json is not the one that was signed"),
        (removed("style.css"), 4, "style.css is missing"),
        (removed("index.json.dsse"), 2, "index.json.dsse is missing"),
        (removed("index.json"), 2, "index.json is missing"),
        (added, 4, "packages/more.html is not in the index"),
        (linked, 4, "llms.txt is no plain file"),
        (changed("index.json.dsse", b"x"), 4, "not a statement signed by a trusted key"),
    ],
)
def test_a_site_that_is_not_the_signed_one_is_refused_with_the_first_file(
    shop: Shop, capsys: pytest.CaptureFixture[str], fault: Callable[[Shop], None], code: int, said: str
):
    key = signed(shop)
    fault(shop)
    assert verify(shop, key) == code
    assert said in capsys.readouterr().err


def test_only_the_key_that_is_trusted_counts(shop: Shop, capsys: pytest.CaptureFixture[str]):
    key = signed(shop)
    other = shop.root / "other.pub.pem"
    save_key(make_key("release"), private=shop.root / "other.key.pem", public=other)
    assert verify(shop, other) == 4
    assert verify(shop, other, "--key", str(key)) == 0
    capsys.readouterr()
    assert run(["catalog", "verify", str(shop.site)]) == 2
    assert "Give --key" in capsys.readouterr().err


def test_a_signed_statement_about_something_else_is_no_index(shop: Shop, capsys: pytest.CaptureFixture[str]):
    key = signed(shop)
    index = Sha256.of((shop.site / "index.json").read_bytes())
    statement = Statement(
        subjects=(Subject("index.json", index),),
        predicate_type="urn:dayzero:other:v1",
        predicate={"signer": {"kind": "release"}},
    )
    (shop.site / "index.json.dsse").write_bytes(seal(statement, load_key(shop.root / "own.key.pem")))
    assert verify(shop, key) == 4
    assert "is no statement about an index" in capsys.readouterr().err


@pytest.mark.parametrize("name", [NAME, "demo-smollm2"])
def test_the_demo_s_packages_are_released_as_they_are(name: str):
    file = definitions.package_file(name)
    definitions_of = {release.definition for release in read_log(file.parent.parent).releases}
    assert Sha256.of(file.read_bytes()) in definitions_of, f"run: dayzero catalog publish {name}"

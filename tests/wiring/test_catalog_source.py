import json
import shutil
from pathlib import Path

import pytest
from tests.catalog.sample import ROWS, digest
from tests.catalog.shop import NAME, Shop, open_shop
from tests.kit.measured import measured_kit

from dayzero.catalog import claim_page
from dayzero.catalog.page_model import RawBasis
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.hardware import parse_system
from dayzero.evidence.check import check
from dayzero.evidence.report import Kind
from dayzero.wiring import definitions, store
from dayzero.wiring.catalog_deploy import DeployTable
from dayzero.wiring.catalog_source import CatalogSource, Places
from dayzero.wiring.kits import facts_of, open_kits
from dayzero.wiring.plugins import extractors
from dayzero.wiring.publishing import KitOnDisk, build_site


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return open_shop(tmp_path)


def source(shop: Shop, kits: Path | None = None) -> CatalogSource:
    return CatalogSource(Places(packages=shop.packages, evidence=shop.evidence, kits=kits))


def test_the_site_of_a_bring_up_hands_out_its_kit_and_every_number_on_it_is_a_citation(shop: Shop):
    archive, key = measured_kit().write(shop.root / "kit")
    package = shop.package
    kit = KitOnDisk(
        archive=archive,
        attestation=archive.with_name(archive.name.replace(".zip", ".intoto.jsonl")),
        key=key,
        facts=facts_of(package, archive, (key,)),
    )
    page = build_site(package, shop.definition.read_text(), shop.ledger(), kit, shop.root)
    handed_out = page.parent / "packages" / NAME / "draft" / "kit"
    assert {file.name for file in handed_out.iterdir()} == {archive.name, kit.attestation.name, key.name}
    repository = store.open_repository(shop.root)
    report = check(repository.ledger, repository.raw, extractors(), repository.pages(), folder="evidence")
    assert {finding.kind for finding in report.findings} <= {Kind.CLAIM_UNSUPPORTED}, (
        "the rows are made up, the pages are not"
    )
    assert report.citations > 0


def test_a_package_is_taken_from_the_first_folder_that_has_it_with_its_releases(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
):
    assert shop.publish() == 0
    monkeypatch.chdir(shop.root)
    monkeypatch.setattr(definitions, "package_folders", lambda: (Path("packages"), TRAVELS))
    catalog = CatalogSource(Places(evidence=shop.evidence)).read().catalog
    entry = catalog.entry(NAME)
    assert entry
    assert [edition.release.at for edition in entry.releases if edition.release] == [shop_release(shop)]
    smollm = catalog.entry("demo-smollm2")
    assert smollm
    assert smollm.latest.release


TRAVELS = definitions.package_file("demo-smollm2").resolve().parent.parent


def shop_release(shop: Shop) -> str:
    return str(json.loads(shop.log.read_bytes())["body"]["at"])


def test_a_kit_belongs_to_the_release_and_not_to_the_draft_of_the_same_version(shop: Shop):
    measured_kit().write(shop.root / "kits")
    assert shop.publish() == 0
    shop.rewrite(("start_budget_s = 60", "start_budget_s = 61"))
    offer = source(shop, shop.root / "kits").read()
    release, draft = offer.catalog.entries[0].editions
    assert release.card.kit
    assert draft.card.kit is None
    assert list(offer.kits) == [(NAME, "1.0.0")]


def test_a_kit_of_the_licensed_tier_is_shown_and_not_handed_out(shop: Shop, tmp_path: Path):
    archive, key = measured_kit().write(tmp_path / "kits")
    folder = open_kits(archive.parent, (key,))
    found = folder.of(shop.package)
    assert found
    assert found[1].archive == archive
    shop.rewrite(('tier = "open"', 'tier = "licensed"'))
    offer = source(shop, archive.parent).read()
    assert offer.catalog.entries[0].latest.card.kit == found[0]
    assert offer.kits == {}


def test_a_version_is_sized_on_a_system_that_is_asked_for(shop: Shop):
    reader = source(shop)
    edition = reader.read().catalog.entries[0].latest
    fit = reader.fit_on(edition, parse_system("3xh200"))
    assert (fit.system, fit.state) == ("3xh200", "unknown")


def test_a_lock_is_frozen_with_its_definition_and_part_of_the_recipe(shop: Shop):
    lock = shop.definition.with_name("requirements.lock")
    lock.write_text(f"xllamacpp==2026.10.11549 --hash=sha256:{digest(ROWS)}\n")
    pin = 'version = "2026.10.11549"\n'
    shop.rewrite((f"{pin}\n[[engine.wheels]]", f'{pin}lock = "requirements.lock"\n\n[[engine.wheels]]'))
    assert shop.publish() == 0
    frozen = shop.frozen().with_name("requirements.lock")
    assert frozen.read_bytes() == lock.read_bytes()
    assert source(shop).read().catalog.entries[0].latest.release
    frozen.write_text(lock.read_text().replace(digest(ROWS).hex, "ab" * 32))
    with pytest.raises(IntegrityError, match=r"the recipe of .*releases/1\.0\.0/package\.toml is"):
        source(shop).read()
    frozen.unlink()
    with pytest.raises(IntegrityError, match="it was released"):
        source(shop).read()


def test_a_folder_without_packages_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="no package definition under"):
        CatalogSource(Places(packages=tmp_path)).read()


def test_a_definition_whose_folder_has_another_name_is_refused(shop: Shop):
    shutil.copytree(shop.definition.parent, shop.packages / "other")
    with pytest.raises(InputError, match="is not the folder's name 'other'"):
        source(shop).read()


def test_no_deploy_file_is_rendered_and_no_line_quoted_before_it_is_shown(shop: Shop, monkeypatch: pytest.MonkeyPatch):
    rendered, quoted = [], []
    render, quote = DeployTable.of, claim_page.quote
    monkeypatch.setattr(DeployTable, "of", lambda table, package: rendered.append(package) or render(table, package))
    monkeypatch.setattr(claim_page, "quote", lambda *raw, **cell: quoted.append(raw) or quote(*raw, **cell))
    catalog = source(shop).read().catalog
    assert (rendered, quoted) == ([], [])
    edition = next(edition for edition in catalog.editions if edition.name == NAME)
    assert edition.deploy == edition.deploy
    assert [package.name for package in rendered] == [NAME]
    pages = [page.basis for page in catalog.pages if isinstance(page.basis, RawBasis)]
    assert pages[0].quote.lines
    assert pages[0].quote.note
    assert len(quoted) == 1

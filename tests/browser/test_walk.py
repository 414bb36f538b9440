"""A reader finds a package, asks whether it fits, follows a number to its raw line, compares, downloads and verifies.

Everything is done twice on the files and twice on the live server: with JavaScript, and without it.
"""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import expect
from tests.browser import shop
from tests.browser.conftest import Place
from tests.browser.window import Window
from tests.kit.stranger import typed

pytestmark = pytest.mark.browser

EDITION = f"packages/{shop.ANEW}/1.1.0/index.html"
H200, L40S = "NVIDIA H200 141 GB", "NVIDIA L40S"


@pytest.mark.walk
def test_a_package_is_found_by_its_gpu(visit: Window):
    page = visit.open("index.html")
    cards = page.locator(".cards > li")
    everything = cards.count()
    page.locator("nav.facets").get_by_role("link", name=H200).click()
    assert 0 < cards.count() < everything
    card = cards.filter(has=page.get_by_role("link", name="Qwen3-32B on 1 x H200"))
    expect(card).to_have_count(1)
    card.get_by_role("link", name="Qwen3-32B on 1 x H200").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Qwen3-32B on 1 x H200")
    assert shop.ANEW in visit.path


@pytest.mark.walk
def test_a_reader_learns_why_it_does_not_fit_another_system(visit: Window, place: Place):
    page = visit.open(EDITION)
    page.locator("nav.contents").get_by_role("link", name="Does my system fit?").click()
    if place.live:
        page.get_by_role("combobox", name="GPU").select_option(label=L40S)
        page.get_by_label("How many").fill("1")
        page.get_by_role("button", name="Does it fit?").click()
        answer = page.locator("#main")
    else:
        page.locator("summary").filter(has_text=L40S).click()
        answer = page.locator("#fit-1xl40s")
    expect(answer).to_be_visible()
    expect(answer).to_contain_text(re.compile("does not fit", re.IGNORECASE))
    assert re.search(r"\d+\.\d+ GiB", answer.inner_text())


@pytest.mark.walk
def test_a_number_leads_to_its_raw_line(visit: Window):
    page = visit.open(EDITION)
    row = page.locator("#numbers tr").filter(has_text="Start to healthy")
    number = row.locator("data").inner_text()
    row.locator("td.num a").click()
    assert unquote(visit.path).startswith(f"claims/{shop.ANEW}/start-to-healthy")
    expect(page.locator(".big")).to_have_text(number)
    line = page.locator(".quote li").first
    quoted, place = line.inner_text().strip(), int(line.get_attribute("value") or 0)
    assert quoted
    with page.expect_response(re.compile("/evidence/raw/[0-9a-f]{64}$")) as asked:
        page.get_by_role("link", name="start.json").first.click()
    assert asked.value.headers["content-type"].startswith("text/plain")
    raw = page.locator("body").inner_text().splitlines()
    assert raw[place - 1].strip() == quoted
    assert f"{float(re.findall(r'[0-9.]+', quoted)[-1]):.1f}" == number.split()[0]


@pytest.mark.walk
def test_two_versions_stand_side_by_side(visit: Window, place: Place):
    page = visit.open(EDITION)
    if place.live:
        page.get_by_label("Set beside another version").fill(f"{shop.ANEW}@1.0.0")
        page.get_by_role("button", name="Compare").click()
    else:
        page.locator("#versions + .body, section[aria-labelledby=versions]").first.get_by_role(
            "link", name="1.0.0"
        ).last.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Side by side")
    rows = page.locator("table").first.locator("tbody tr")
    assert rows.count() > 1
    assert re.search(r"\d\.\d+", rows.first.locator("td").last.inner_text())
    differs = page.locator("tr.differs")
    assert "0.27.0" in " ".join(differs.all_inner_texts())
    assert "0.27.1" in " ".join(differs.all_inner_texts())


def test_two_packages_stand_side_by_side(visit: Window, place: Place):
    page = visit.open(EDITION)
    if place.live:
        page.get_by_label("Set beside another version").fill(f"{shop.YANKED}@1.1.0")
        page.get_by_role("button", name="Compare").click()
    else:
        visit.open(f"packages/{shop.WITH_KIT}/index.html")
        visit.open(f"packages/{shop.YANKED}/1.1.0/index.html")
        page.get_by_role("link", name=re.compile(r"1\.0\.0")).last.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Side by side")
    expect(page.locator("main")).to_contain_text("Qwen3-8B")


@pytest.mark.walk
def test_a_kit_is_downloaded_and_verified_with_the_command_on_its_page(visit: Window, tmp_path: Path):
    page = visit.open(f"packages/{shop.WITH_KIT}/index.html")
    section = page.locator("section[aria-labelledby=kit]")
    links = section.locator("a[download]")
    assert links.count() == 3
    for link in links.all():
        with page.expect_download() as download:
            link.click()
        download.value.save_as(tmp_path / download.value.suggested_filename)
    command = section.locator("pre.command").first.inner_text().strip()
    assert command.startswith("dayzero-verify ")
    done = typed(tmp_path, [command])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "verified" in done.stdout
    archive = next(tmp_path.glob("*.kit.zip"))
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 1
    archive.write_bytes(content)
    assert typed(tmp_path, [command]).returncode not in {0, 127}


def test_what_was_taken_back_says_so_on_its_card(visit: Window):
    page = visit.open(f"packages/{shop.LICENSED}/index.html")
    expect(page.get_by_role("region", name="No longer published")).to_contain_text(shop.RETRACTION_REASON)
    page = visit.open(f"packages/{shop.YANKED}/1.0.0/index.html")
    expect(page.get_by_role("region", name="This version is yanked")).to_contain_text(shop.YANK_REASON)
    page.get_by_role("region", name="This version is yanked").get_by_role("link").click()
    assert visit.path.startswith(f"packages/{shop.YANKED}/1.1.0/")


def test_a_definition_and_a_deploy_file_are_opened_from_the_page(visit: Window):
    page = visit.open(EDITION)
    page.get_by_role("link", name="package.toml").click()
    expect(page.locator("body")).to_contain_text('version = "1.1.0"')
    page = visit.open(EDITION)
    page.get_by_role("link", name="compose.yaml").click()
    expect(page.locator("body")).to_contain_text("docker.io/vllm/vllm-openai@sha256:")
    assert visit.path == f"packages/{shop.ANEW}/1.1.0/deploy/compose/compose.yaml"

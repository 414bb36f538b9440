"""``dayzero repin`` on small wheels: the releases after the pinned one, the newest proven pins, and what they cost."""

import json
from pathlib import Path

import pytest
from tests.simulators.wheels import make_wheel

from dayzero.adapters.file_digest import digest_of
from dayzero.adapters.package_files import load_package
from dayzero.cli.main import run
from dayzero.core.pins import Sha256
from dayzero.core.quantities import Bytes
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.locator import WholeFile
from dayzero.evidence.model import Claim, Extraction, RawFile
from dayzero.evidence.subject import recipe_digest

ARCHITECTURE = "KimiK3ForConditionalGeneration"
DEFINITION = f"""schema = "dayzero/package/v1"
name = "k3"
version = "1.0.0"
title = "K3"
summary = "For tests."

[model]
name = "K3"
architecture = "{ARCHITECTURE}"
tensor_types = ["bf16"]
weights_format = "safetensors"
parameters = 1
licence = "MIT"
files = [{{ path = "a.safetensors", sha256 = "{"0" * 64}", size_bytes = 1 }}]

[model.hub]
repository = "org/k3"
revision = "{"a" * 40}"

[engine]
engine = "sglang"
distribution = "sglang"
version = "0.5.16"

[[kernels]]
library = "flashinfer"
distribution = "flashinfer-python"
version = "0.6.14"

[system]
name = "machine"
memory_bytes = 1

[serving]
name = "k3"
port = 8000
start_budget_s = 600
stop_budget_s = 60

[workload]
seed = 1

[[workload.cells]]
name = "c1"
concurrency = 1
requests = 4
input_tokens = 8
output_tokens = 4

[[not_measured]]
topic = "quality"
why = "for tests"

[[changes]]
version = "1.0.0"
date = "2026-11-30"
kind = "added"
text = "First."

[[next_version]]
when = "the new kernel is in the release"
probe = {{ module = "sglang.kernels.fast" }}

[[next_version]]
when = "the front end knows the tool"
probe = {{ symbol = "sglang.front:Parser" }}

[[next_version]]
when = "the draft model is registered"
probe = {{ architecture = "KimiK3Draft" }}
"""


def release(
    folder: Path, version: str, *, classes: str = ARCHITECTURE, pin: str = "0.6.15", requires=(), **more: str
) -> Path:
    files = {"sglang/srt/models/k.py": f"EntryClass = [{classes}]\n", **more}
    return make_wheel(folder, "sglang", version, files, requires=[f"flashinfer-python=={pin}", *requires])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shelf = tmp_path / "shelf"
    for version in ("0.6.14", "0.6.15", "0.6.17"):
        make_wheel(shelf, "flashinfer-python", version, {"flashinfer/__init__.py": ""})
    release(shelf, "0.5.16", classes="Other")
    release(shelf, "0.5.17", pin="0.6.15")
    more = {"sglang/kernels/fast.py": "x = 1\n", "sglang/front.py": "class Other: ...\n"}
    release(shelf, "0.5.18", pin="0.6.17", classes=f"{ARCHITECTURE}, KimiK3Draft", **more)
    release(shelf, "0.5.19", classes="Other")
    release(shelf, "0.6.0rc1")
    monkeypatch.setenv("DAYZERO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "config.json").write_text(
        json.dumps({"architectures": [ARCHITECTURE], "auto_map": {"AutoModel": "m.K"}})
    )
    (tmp_path / "k3").mkdir()
    (tmp_path / "k3" / "package.toml").write_text(DEFINITION)
    return tmp_path


def repin(folder, *words: str) -> int:
    return run(["repin", str(folder / "k3"), "--config", str(folder / "config.json"), *words])


def test_each_newer_release_has_its_verdict_and_the_newest_proven_one_its_pins(folder, capsys):
    assert repin(folder) == 0
    printed = capsys.readouterr().out
    assert "k3 pins sglang==0.5.16; 3 newer releases" in printed
    assert "0.5.19  refuted    architecture not registered" in printed
    assert "0.5.18  proven" in printed
    assert "0.5.17  proven" in printed
    assert "0.6.0" not in printed
    wheel = folder / "shelf" / "sglang-0.5.18-py3-none-any.whl"
    assert (
        f'version = "0.5.18"\n\n[[engine.wheels]]\nfilename = "{wheel.name}"\nsha256 = "{digest_of(wheel)}"\n'
        in printed
    )
    assert '[[kernels]]  # flashinfer\ndistribution = "flashinfer-python"\nversion = "0.6.17"\n' in printed


def test_conditions_are_looked_up_in_the_proven_build(folder, capsys):
    assert repin(folder, "--output-format", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["newest"]["version"]) == ("dayzero/repin/v1", "0.5.18")
    assert [(one["probe"], one["state"]) for one in document["conditions"]] == [
        ({"module": "sglang.kernels.fast"}, "met"),
        ({"symbol": "sglang.front:Parser"}, "not met"),
        ({"architecture": "KimiK3Draft"}, "met"),
    ]
    assert document["conditions"][0]["places"] == ["sglang 0.5.18: sglang/kernels/fast.py"]


def test_without_a_configuration_nothing_is_proven_and_that_is_undecided(folder, capsys):
    assert run(["repin", str(folder / "k3")]) == 3
    printed = capsys.readouterr().out
    assert "No newer release is proven: keep the pins." in printed
    assert "proven     " not in printed


def test_where_every_newer_release_is_refuted_the_pins_stay(folder, capsys):
    for version in ("0.5.17", "0.5.18"):
        release(folder / "shelf", version, classes="Other")
    assert repin(folder) == 1
    assert capsys.readouterr().out.count("refuted") == 3


def test_a_release_whose_wheel_is_damaged_is_undecided_and_the_others_are_still_audited(folder, capsys):
    wheel = folder / "shelf" / "sglang-0.5.18-py3-none-any.whl"
    wheel.write_bytes(wheel.read_bytes()[:200])
    assert repin(folder, "--output-format", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert [one["verdict"] for one in document["releases"]] == ["refuted", "undecided", "proven"]
    assert document["newest"]["version"] == "0.5.17"


def test_a_pre_release_that_is_kept_here_is_no_newer_pin(folder, capsys):
    for version in ("0.5.17", "0.6.0rc1"):
        run(["audit", "--engine", f"sglang=={version}"])
    capsys.readouterr()
    assert repin(folder, "--offline", "--output-format", "json") == 0
    assert [one["version"] for one in json.loads(capsys.readouterr().out)["releases"]] == ["0.5.17"]


def test_the_packages_own_flags_are_asked_about(folder, capsys):
    text = DEFINITION.replace("[serving]\n", '[serving]\nflags = ["--fast"]\n', 1)
    (folder / "k3" / "package.toml").write_text(text)
    assert repin(folder) == 3
    assert "Does this version of the engine take these flags" in capsys.readouterr().out


def test_a_kernel_library_that_the_release_does_not_pin_is_read_as_the_package_pins_it(folder, capsys):
    make_wheel(folder / "shelf", "fast-kernels", "1.0", {"fast_kernels/__init__.py": "x = 1\n"})
    release(folder / "shelf", "0.5.18", **{"sglang/__init__.py": "from fast_kernels import gone\n"})
    kernels = '[[kernels]]\nlibrary = "fast"\ndistribution = "fast-kernels"\nversion = "1.0"\n\n[system]'
    (folder / "k3" / "package.toml").write_text(DEFINITION.replace("[system]", kernels, 1))
    assert repin(folder) == 0
    printed = capsys.readouterr().out
    assert "0.5.18  refuted    the module fast_kernels has no name gone in fast-kernels==1.0" in printed
    assert "Newest proven: sglang 0.5.17" in printed


def test_measurements_of_the_old_pins_are_named_and_those_of_others_not(folder, capsys):
    content = b"ready\n"
    raw = RawFile(
        sha256=Sha256.of(content),
        name="a.log",
        size=Bytes(len(content)),
        captured_at="2026-11-30T00:00:00Z",
        command="x",
    )

    def claim(slug: str, subject: Sha256) -> Claim:
        return Claim(
            slug=slug,
            label="time to first token",
            value="12.3",
            unit="ms",
            raw=raw.sha256,
            locator=WholeFile(),
            extraction=Extraction(extractor="text@1", parameters=()),
            subject=subject,
        )

    own = recipe_digest(load_package(folder / "k3" / "package.toml").recipe)
    _, lines = Ledger().append([raw, claim("k3/c1", own), claim("k3/c2", Sha256("b" * 64))])
    (folder / "k3" / "evidence").mkdir()
    (folder / "k3" / "evidence" / "ledger.jsonl").write_bytes(lines)
    assert repin(folder) == 0
    printed = capsys.readouterr().out
    assert (
        "1 measurement is of the pins as they are, and none of the new ones\n  k3/c1  time to first token: 12.3 ms\n"
        in printed
    )
    assert "k3/c2" not in printed


@pytest.mark.parametrize("probe", ["{}", '{ module = "a", flag = "--b" }', '{ module = "a b" }', '{ file = "a" }'])
def test_a_probe_looks_for_exactly_one_thing(folder, capsys, probe):
    text = DEFINITION.replace('{ module = "sglang.kernels.fast" }', probe)
    (folder / "k3" / "package.toml").write_text(text)
    assert repin(folder) == 2
    assert "next_version[0].probe" in capsys.readouterr().err


def test_a_package_whose_engine_has_no_releases_to_audit_is_refused(capsys):
    assert run(["repin", "demo-smollm2"]) == 2
    assert "whose releases are not audited from the index" in capsys.readouterr().err

"""``dayzero audit`` and ``dayzero first`` on small wheels, as somebody types them."""

import json
import struct

import pytest
from tests.simulators.wheels import make_wheel

from dayzero.cli.main import run
from dayzero.wiring.audit import Builds, Question

MODELS = "vllm/model_executor/models/registry.py"
PARSER = "def make_arg_parser(parser):\n    parser.add_argument('--port')\n    return parser\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DAYZERO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["KimiK3ForConditionalGeneration"]}))
    return tmp_path


def sglang(folder, version="0.5.16", text="EntryClass = [A]\n", requires=(), **more: object):
    return make_wheel(folder / "w", "sglang", version, {"sglang/srt/models/a.py": text}, requires=requires, **more)


def audit(folder, *words: str):
    return run(["audit", str(folder / "config.json"), *words])


def test_a_start_finding_ends_with_code_1_and_says_where_and_what_to_do(folder, capsys):
    (folder / "config.json").write_text(
        json.dumps({"architectures": ["KimiK3ForConditionalGeneration"], "auto_map": {"AutoModel": "m.K"}})
    )
    assert audit(folder, "--engine", str(sglang(folder)), "--system", "8xb300") == 1
    printed = capsys.readouterr().out
    assert printed.startswith("REFUTED: architecture not registered: KimiK3ForConditionalGeneration")
    assert "START: it will not start\n" in printed
    assert "    at sglang 0.5.16: sglang/srt/models\n" in printed
    assert "-> Use sglang 0.5.17, the first release that registers it." in printed


def test_json_carries_the_verdict_the_findings_and_what_was_not_checked(folder, capsys):
    wheel = sglang(folder, requires=["transformers<5"])
    make_wheel(folder / "w", "transformers", "5.3.0", {"transformers/__init__.py": ""})
    assert run(["audit", "--engine", str(wheel.parent), "--output-format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["verdict"]) == ("dayzero/audit/v2", "refuted")
    (one,) = document["findings"]
    assert (one["rule"], one["severity"], one["refutes"]) == ("pin-conflict", "path", True)
    assert one["engine_location"]["quote"] == "Requires-Dist: transformers<5"
    assert one["library_location"]["artifact"] == "transformers 5.3.0"
    assert one["resolution"] == "Install transformers<5."
    assert isinstance(document["not_checked"], list)


def test_sarif_has_a_rule_a_level_and_a_place_for_each_result(folder, capsys):
    wheel = sglang(folder, requires=["transformers<5"])
    make_wheel(folder / "w", "transformers", "5.3.0", {"transformers/__init__.py": ""})
    assert run(["audit", "--engine", str(wheel.parent), "--output-format", "sarif"]) == 1
    log = json.loads(capsys.readouterr().out)
    (done,) = log["runs"]
    (result,) = done["results"]
    assert log["version"] == "2.1.0"
    assert (result["ruleId"], result["level"]) == ("pin-conflict", "error")
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "sglang-0.5.16/METADATA"
    assert result["ruleId"] in {rule["id"] for rule in done["tool"]["driver"]["rules"]}


def test_versions_that_pip_froze_are_compared_without_their_files(folder, capsys):
    (folder / "freeze.txt").write_text("# env\ntransformers==5.3.0\nsglang @ file:///x\n-e git+https://x\n")
    wheel = sglang(folder, requires=["transformers<5"])
    assert run(["audit", "--engine", str(wheel), "--freeze", str(folder / "freeze.txt")]) == 1
    assert "5.3.0 is installed" in capsys.readouterr().out


@pytest.mark.parametrize("config", ["{}", '{"architectures": []}', '{"architectures": "K"}'])
def test_a_model_without_architectures_is_undecided_never_a_pass(folder, capsys, config):
    (folder / "config.json").write_text(config)
    assert audit(folder, "--engine", str(sglang(folder))) == 3
    assert "names no architectures" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--engine", "vllm==0.27.0", "--offline"), 3, "vllm==0.27.0 is not kept here"),
        (("--engine", "nowhere.whl"), 2, "nowhere.whl holds no distribution"),
        ((), 2, "neither a package nor an engine"),
        (("--engine", "vllm==not a version"), 2, "vllm==not a version"),
        (("--engine", "W", "--system", "8xb999"), 2, "no GPU kind"),
        (("--engine", "W", "--env", "NOVALUE"), 2, "not an environment variable"),
        (("--engine", "W", "--freeze", "gone.txt"), 2, "gone.txt cannot be read"),
    ],
)
def test_what_cannot_be_used_is_an_error_with_a_hint(folder, capsys, words, code, said):
    wheel = str(sglang(folder))
    assert audit(folder, *(wheel if word == "W" else word for word in words)) == code
    error = capsys.readouterr().err
    assert said in error
    assert "\nhint: " in error


@pytest.mark.parametrize("text", ["not json", "[1]", '"x"', "[" * 100_000, "\xff"])
def test_a_configuration_that_is_none_is_refused(folder, capsys, text):
    (folder / "config.json").write_bytes(text.encode("latin-1"))
    assert audit(folder, "--engine", str(sglang(folder))) == 2
    assert "config.json" in capsys.readouterr().err


def test_a_wheel_with_another_file_than_its_record_lists_ends_with_code_4(folder, capsys):
    assert audit(folder, "--engine", str(sglang(folder, wrong=["sglang/srt/models/a.py"]))) == 4
    assert "RECORD" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    ["def (", "x = " + "(" * 3000 + ")" * 3000, "\0", "from sglang.srt.models.a import b\nb.register('x', Auto)\n"],
)
def test_python_that_cannot_be_read_or_imports_itself_never_raises(folder, capsys, text):
    files = {
        "sglang/srt/models/k.py": "EntryClass = KimiK3ForConditionalGeneration\n",
        "sglang/a.py": f"version != '1.2'\n{text}",
    }
    wheel = make_wheel(folder / "w", "sglang", "0.5.18", files)
    assert audit(folder, "--engine", str(wheel)) in {0, 3}
    assert capsys.readouterr().out.startswith(("PROVEN", "UNDECIDED"))


def test_the_first_release_among_those_that_are_kept_is_found_and_audited(folder, capsys, monkeypatch):
    for version, text in (
        ("0.5.16", "EntryClass = [A]\n"),
        ("0.5.17", "EntryClass = [KimiK3ForConditionalGeneration]\n"),
    ):
        sglang(folder, version, text)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder / "w"))
    for version in ("0.5.16", "0.5.17"):
        run(["audit", "--engine", f"sglang=={version}"])
    capsys.readouterr()
    assert run(["first", str(folder / "config.json"), "--engine", "sglang", "--offline"]) == 0
    printed = capsys.readouterr().out
    assert (
        "sglang 0.5.17 is the first release that registers KimiK3ForConditionalGeneration; 0.5.16 does not" in printed
    )
    (folder / "config.json").write_text(json.dumps({"architectures": ["Other"]}))
    assert (
        run(["first", str(folder / "config.json"), "--engine", "sglang", "--offline", "--output-format", "json"]) == 1
    )
    assert json.loads(capsys.readouterr().out)["first"] == ""


def test_the_first_release_is_found_through_the_index_and_a_damaged_one_is_named(folder, capsys, monkeypatch):
    for version, classes in (("0.5.15", "A"), ("0.5.16", "A"), ("0.5.17", "KimiK3ForConditionalGeneration")):
        sglang(folder, version, f"EntryClass = [{classes}]\n")
    damaged = sglang(folder, "0.5.18")
    damaged.write_bytes(damaged.read_bytes()[:100])
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder / "w"))
    words = ["first", str(folder / "config.json"), "--engine", "sglang", "--output-format", "json"]
    assert run(words) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["first"], document["without"], document["skipped"]) == ("0.5.17", "0.5.16", ["0.5.18"])
    assert document["audit"]["schema"] == "dayzero/audit/v2"
    assert run([*words, "--since", "0.5.17"]) == 0
    assert json.loads(capsys.readouterr().out)["without"] == ""
    assert run([*words, "--since", "no version"]) == 2


def test_what_is_fetched_is_surveyed_before_it_is_audited_and_what_is_kept_is_not_surveyed_again(folder, monkeypatch):
    registered = "import flashinfer\nEntryClass = [KimiK3ForConditionalGeneration]\n"
    asking = registered + "def serve(x):\n    y = x\n    return flashinfer.run(y)\n"
    sglang(folder, text=asking, requires=["flashinfer-python==0.6.14"])
    for version in ("0.6.14", "0.6.15"):
        make_wheel(
            folder / "w", "flashinfer-python", version, {"flashinfer/__init__.py": "def run(x):\n    return x\n"}
        )
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder / "w"))
    said: list[str] = []

    def gathered(*beside: str) -> list[str]:
        Builds(Question(engine="sglang==0.5.16", beside=beside, env={}), said.append).subject(None, None, ())
        return sorted(one.name for one in (folder / "cache" / "surveys").iterdir())

    first = gathered()
    assert said.count("surveying what was fetched") == 1
    assert gathered() == first
    assert said.count("surveying what was fetched") == 1
    before = {one: one.stat().st_mtime_ns for one in (folder / "cache" / "surveys").iterdir()}
    assert audit(folder, "--engine", "sglang==0.5.16", "--offline") == 0
    assert {one: one.stat().st_mtime_ns for one in (folder / "cache" / "surveys").iterdir()} == before
    assert set(gathered("flashinfer-python==0.6.15")) > set(first)
    assert said.count("surveying what was fetched") == 2


def truncated(folder) -> str:
    wheel = sglang(folder)
    wheel.write_bytes(wheel.read_bytes()[:-40])
    return str(wheel)


def bomb(folder) -> str:
    wheel = sglang(folder, text="\0" * (3 << 20))
    content = bytearray(wheel.read_bytes())
    struct.pack_into("<I", content, content.index(b"PK\1\2") + 24, 4_000_000_000)
    wheel.write_bytes(content)
    return str(wheel)


@pytest.mark.parametrize(
    ("made", "code", "said"),
    [
        (truncated, 2, "cannot be read"),
        (bomb, 2, "from almost nothing"),
        (lambda folder: str(sglang(folder, wrong=["sglang/srt/models/a.py"])), 4, "RECORD"),
        (lambda _: "sglang==9.9.9", 2, "no wheel of sglang==9.9.9"),
        (lambda _: "http://127.0.0.1:9/sglang-1-py3-none-any.whl", 3, "127.0.0.1:9"),
    ],
)
@pytest.mark.parametrize("output", ["text", "json", "sarif"])
def test_a_build_that_cannot_be_read_is_an_error_and_never_a_pass(  # noqa: PLR0913, PLR0917
    folder, capsys, monkeypatch, made, code, said, output
):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    assert audit(folder, "--engine", made(folder), "--output-format", output) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err
    assert "\nhint: " in printed.err
    assert "Traceback" not in printed.err


def test_no_network_is_a_remote_failure(folder, capsys, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert audit(folder, "--engine", "sglang==0.5.16") == 3
    assert "could not fetch sglang==0.5.16" in capsys.readouterr().err
    assert run(["audit", "org/name", "--engine", str(sglang(folder))]) == 3
    assert "did not give the config.json of org/name@main" in capsys.readouterr().err


def test_a_model_may_be_named_as_the_hub_names_it_and_is_then_kept(folder, capsys):
    kept = folder / "cache" / "models" / "org--name" / "main.json"
    kept.parent.mkdir(parents=True)
    kept.write_bytes((folder / "config.json").read_bytes())
    wheel = sglang(folder, "0.5.17", "EntryClass = [KimiK3ForConditionalGeneration]\n")
    assert run(["audit", "org/name", "--engine", str(wheel), "--offline"]) == 0
    assert "for name" in capsys.readouterr().out
    assert run(["audit", "org/other", "--engine", str(wheel), "--offline"]) == 3

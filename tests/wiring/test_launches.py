"""A definition whose launch could not be what its author means is refused, with the reason, before anything is written."""

import zipfile
from pathlib import Path

import pytest
from tests.engines.vllm.test_settings import CONFIG_TEXT, ENGINE_TEXT, FRONTEND, FRONTEND_TEXT

from dayzero.cli.main import run
from dayzero.core.pins import Sha256
from dayzero.engines.vllm.settings import ENGINE_ARGS
from dayzero.wiring.definitions import package
from dayzero.wiring.launches import launch_of_package

DEMO = (Path(__file__).parents[2] / "packages" / "demo-kimi-k3-tiny" / "package.toml").read_text()
WHEEL = "vllm-0.27.0-py3-none-any.whl"


def definition(
    folder: Path, *flags: str, digest: str = "1" * 64, serving: str = "", pin: bool = True, host_memory: int = 200
) -> Path:
    """Write the definition of a small model on the hub, served by vLLM."""
    text = DEMO[: DEMO.index("[model.from_seed]")]
    text += f'[model.hub]\nrepository = "org/model"\nrevision = "{"a" * 40}"\n'
    text += DEMO[DEMO.index("[[model.files]]") : DEMO.index("[engine]")]
    text += '[engine]\nengine = "vllm"\ndistribution = "vllm"\nversion = "0.27.0"\n'
    text += f'[[engine.wheels]]\nfilename = "{WHEEL}"\nsha256 = "{digest}"\n' if pin else ""
    text += '[system]\nname = "1xh200"\naccelerator = "h200"\naccelerators = 1\nmemory_bytes = 100\n'
    text += f"host_memory_bytes = {host_memory}\n"
    text += f'[serving]\nname = "m"\nport = 8000\nstop_budget_s = 60\nflags = {list(flags)}\n'
    text += serving or "start_budget_s = 600\n"
    text += DEMO[DEMO.index("[workload]") : DEMO.index("[[walls]]")] + DEMO[DEMO.index("[[claims]]") :]
    file = folder / "package.toml"
    file.write_text(text)
    return file


def refused(file: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(["render", str(file), "-o", str(file.parent / "out")]) == 2
    assert not (file.parent / "out").exists()
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "serving", "reason"),
    [
        (("--max-model-len", "8", "--max_model_len=9"), "", "--max-model-len and --max_model_len set the same thing"),
        (("--port", "8001"), "", "--port is given twice"),
        (("--revision", "main"), "", "--revision is given twice"),
        ((), "start_budget_s = 599\n", "the start budget of 599 s is shorter than the engine's own of 600 s"),
        (("--shutdown-timeout", "60"), "", "the stop budget of 60 s leaves no time after 0 s before SIGTERM and 60 s"),
        (("--shutdown-timeout", "50"), "start_budget_s = 600\npre_stop_s = 10\n", "leaves no time after 10 s"),
    ],
)
def test_a_definition_that_contradicts_itself_is_refused_with_the_file_and_the_reason(
    flags: tuple[str, ...], serving: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = definition(tmp_path, *flags, serving=serving)
    told = refused(file, capsys)
    assert str(file) in told
    assert reason in told


def changed(file: Path, old: str, new: str) -> Path:
    """Change one key of a definition."""
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    return file


TWO_NODES = ("accelerators = 1\n", "accelerators = 1\nnodes = 2\n")


@pytest.mark.parametrize("flag", ["--nnodes", "--node-rank", "--master-addr"])
def test_a_flag_that_the_nodes_get_anyway_is_refused_on_several(
    flag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert f"{flag} is given twice" in refused(changed(definition(tmp_path, flag, "3"), *TWO_NODES), capsys)
    assert package(str(definition(tmp_path, flag, "3")))


def test_a_flag_that_only_the_other_nodes_get_is_refused_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "--headless is given twice" in refused(changed(definition(tmp_path, "--headless"), *TWO_NODES), capsys)


@pytest.mark.parametrize(
    "repository", ["--help", "-x/y", "org/model/more", "org model", "org/$x", "/etc", "../x", ".."]
)
def test_a_repository_that_is_no_name_on_a_hub_is_refused(
    repository: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "model.hub.repository" in refused(changed(definition(tmp_path), "org/model", repository), capsys)


def test_an_engine_that_no_digest_names_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no digest names the engine vllm==0.27.0" in refused(definition(tmp_path, pin=False), capsys)


def test_a_package_for_gpus_without_the_memory_of_its_host_can_be_read_and_not_be_deployed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = definition(tmp_path, host_memory=0)
    assert package(str(file)).recipe.system.accelerators == 1
    told = refused(file, capsys)
    assert "does not say how much memory of the host" in told
    assert "host_memory_bytes" in told


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Put a wheel with vLLM's parser into the cache, and give its digest."""
    wheel = tmp_path / WHEEL
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in (
            (FRONTEND, FRONTEND_TEXT),
            (ENGINE_ARGS, ENGINE_TEXT),
            ("vllm/config/model.py", CONFIG_TEXT),
        ):
            archive.writestr(name, text)
    digest = Sha256.of(wheel.read_bytes()).hex
    kept = tmp_path / "cache" / "wheels" / digest
    kept.mkdir(parents=True)
    wheel.rename(kept / WHEEL)
    monkeypatch.setattr("dayzero.wiring.launches.cache_folder", lambda: tmp_path / "cache")
    return digest


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (("-asc", "1", "--api-server-count", "2"), "-asc and --api-server-count set the same thing"),
        (("--enforce-eager", "true"), "--enforce-eager takes no value, and 'true' follows it (vllm==0.27.0: "),
        (("--enforce-eager", "--no-enforce-eager"), "--enforce-eager and --no-enforce-eager set the same thing"),
    ],
)
def test_the_builds_own_parser_tells_aliases_and_switches_where_its_wheel_is_here(
    flags: tuple[str, ...], reason: str, cached: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reason in refused(definition(tmp_path, *flags, digest=cached), capsys)


def test_a_definition_without_contradiction_is_launched(cached: str, tmp_path: Path) -> None:
    found = package(str(definition(tmp_path, "--max-model-len", "8", "--enforce-eager", digest=cached)))
    spec = launch_of_package(found)
    assert spec.argv[-3:] == ("--max-model-len", "8", "--enforce-eager")
    assert (spec.name, spec.memory_bytes) == (found.name, 200)

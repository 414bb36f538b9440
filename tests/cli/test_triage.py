"""``dayzero triage`` as a tired engineer types it."""

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from dayzero.cli.main import run

ROOT = Path(__file__).parents[2]
HOW_TO = ROOT / "docs" / "how-to" / "name-the-wall.md"
PREFIX = "(EngineCore_DP0 pid=412) ERROR 11-29 14:30:44 [core.py:708] "
SKEW = [
    "(APIServer pid=400) INFO 11-29 14:30:00 [api_server.py:1885] vLLM API server version 0.32.0",
    f"{PREFIX}EngineCore failed to start.",
    f"{PREFIX}Traceback (most recent call last):",
    f'{PREFIX}  File "/opt/venv/lib/python3.11/site-packages/vllm/attention/layer.py", line 175, in __init__',
    f"{PREFIX}    self.impl = impl_cls(num_heads, layer_idx=3)",
    f"{PREFIX}TypeError: FlashAttentionImpl.__init__() got an unexpected keyword argument 'layer_idx'",
    "(APIServer pid=400) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
]
TAIL = [SKEW[0], SKEW[1], SKEW[-1]]
SERVES = [SKEW[0], "(APIServer pid=400) INFO:     Application startup complete."]


def log(folder: Path, lines: list[str], name: str = "engine.log") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, object]]:
    code = run(["triage", *words, "--output-format", "json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("lines", "code", "verdict"), [(SKEW, 1, "root-found"), (TAIL, 3, "cause-not-in-log"), (SERVES, 0, "started")]
)
def test_each_of_the_three_answers_has_its_exit_code_its_word_and_the_logs_digest(
    tmp_path, capsys, lines, code, verdict
):
    path = log(tmp_path, lines)
    given, document = answer(capsys, str(path))
    assert (given, document["verdict"], document["schema"]) == (code, verdict, "dayzero/triage/v1")
    assert document["log"] == str(path)
    digest = subprocess.run(["sha256sum", str(path)], capture_output=True, text=True, check=True).stdout.split()[0]
    assert document["log_sha256"] == digest


def test_the_root_the_wall_and_the_resolution_come_first(tmp_path, capsys):
    path = log(tmp_path, SKEW)
    assert run(["triage", str(path)]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == f"root cause    {path}:6"
    assert (
        printed[1].strip() == "TypeError: FlashAttentionImpl.__init__() got an unexpected keyword argument 'layer_idx'"
    )
    assert printed[2].startswith("raised at     /opt/venv/lib/python3.11/site-packages/vllm/attention/layer.py:175 in")
    assert [line.split()[0] for line in printed[3:5]] == ["wall", "resolution"]
    assert "7: [api_server] RuntimeError" in printed[-2]
    assert printed[-1].startswith("log           vllm 0.32.0, 7 lines, sha256 ")


def test_a_refusal_says_what_to_collect(tmp_path, capsys):
    assert run(["triage", str(log(tmp_path, TAIL))]) == 3
    printed = capsys.readouterr().out
    assert printed.startswith("not in log    ")
    assert "\ncollect       " in printed


@pytest.mark.parametrize("content", [b"", b"\0\xff\xfe" * 4000, b"x" * 3_000_000, b"\n" * 5000, os.urandom(20_000)])
def test_what_is_no_log_is_refused_not_guessed(tmp_path, capsys, content):
    path = tmp_path / "engine.log"
    path.write_bytes(content)
    code, document = answer(capsys, str(path))
    assert (code, document["verdict"], document["size_bytes"]) == (3, "cause-not-in-log", len(content))


@pytest.mark.parametrize("name", ["missing.log", "empty-folder", "unreadable.log"])
def test_what_cannot_be_read_is_an_error_with_a_hint(tmp_path, capsys, name):
    (tmp_path / "empty-folder").mkdir()
    (tmp_path / "unreadable.log").symlink_to("/proc/self/mem")
    assert run(["triage", str(tmp_path / name)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert name in printed.err
    assert "hint: " in printed.err


def test_the_same_failure_on_forty_nodes_is_one_row(tmp_path, capsys):
    for node in range(40):
        lines = [line.replace("pid=412", f"pid={5000 + node}").replace("14:30", f"14:{node:02}") for line in SKEW]
        log(tmp_path, ["node starts"] * node + lines, f"node-{node:02}/engine.log")
    log(tmp_path, SERVES, "other.log")
    log(tmp_path, SKEW, "not-a-log.json")
    assert run(["triage", str(tmp_path)]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "  40  root-found  api-skew: api-skew-kwarg"
    assert printed[2:6] == [
        "      node-00/engine.log:6",
        "      node-01/engine.log:7",
        "      node-02/engine.log:8",
        "      and 37 more",
    ]
    assert printed[6] == "   1  started     serves"
    code, document = answer(capsys, str(tmp_path))
    assert (code, document["schema"]) == (1, "dayzero/triage-folder/v1")
    assert [(group["count"], group["verdict"]) for group in document["groups"]] == [(40, "root-found"), (1, "started")]
    assert len(document["logs"]) == 41


def test_an_unknown_failure_is_grouped_by_its_exception_and_its_last_engine_frame(tmp_path, capsys):
    for node in range(3):
        text = f"{PREFIX}vllm.odd.OddNewsError: node {node} met something new"
        log(tmp_path, [*SKEW[:5], text, SKEW[6]], f"node-{node}.log")
    assert run(["triage", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("   3  root-found  no known wall: OddNewsError at vllm/attention/layer.py:__init__\n")


def test_a_log_of_a_folder_that_cannot_be_read_is_told_and_the_others_are_answered(tmp_path, capsys):
    log(tmp_path, SERVES, "a.log")
    (tmp_path / "b.log").symlink_to("/proc/self/mem")
    code, document = answer(capsys, str(tmp_path))
    assert (code, len(document["logs"]), len(document["unread"])) == (3, 1, 1)
    assert "b.log cannot be read" in document["unread"][0]


SECRETS = ["hf_abcdefghijKLMNOP12", "tok.en-value_123456", "sk-live99887766554433", "hunter2hunter2", "s3cr3t-passw0rd"]


def test_no_secret_leaves_in_any_form_of_the_answer(tmp_path, capsys):
    token, bearer, key, password, url = SECRETS
    lines = [
        SKEW[0],
        *SKEW[1:3],
        f'{PREFIX}  File "/srv/{token}/vllm/hub.py", line 12, in fetch',
        f"{PREFIX}    get(headers='Authorization: Bearer {bearer}', api_key='{key}')",
        (
            f"{PREFIX}OSError: Can't load image processor for 'https://me:{url}@hub.example/{token}'. If you were trying"
            f" to load it with Authorization: Bearer {bearer} api_key={key} password={password}, make sure"
        ),
        *[f"(Worker_TP{rank} pid={9000 + rank}) {SKEW[-1][21:]} token={token} api_key={key}" for rank in range(2)],
        SKEW[-1],
    ]
    path = log(tmp_path, lines)
    for form in ("text", "json", "markdown"):
        assert run(["triage", str(path), "--output-format", form]) == 1
        printed = capsys.readouterr().out
        assert "[redacted]" in printed
        assert [secret for secret in SECRETS if secret in printed] == [], form


def test_markdown_is_a_whole_paste_and_no_backtick_of_the_log_closes_its_fence(tmp_path, capsys):
    odd = "TypeError: ```\n# gotcha` got an unexpected keyword argument 'layer_idx'".replace("\n", " ")
    path = log(tmp_path, [*SKEW[:5], f"{PREFIX}{odd}", SKEW[6]], "node`7.log")
    assert run(["triage", str(path), "--output-format", "markdown"]) == 1
    printed = capsys.readouterr().out
    assert printed.count("```") == 4
    assert printed.splitlines()[1] == "```text"
    assert "`node'7.log`" in printed
    assert "**Resolution** (unconfirmed)" in printed


def follow(*, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "dayzero", "triage", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
    )


def test_a_pipe_is_answered_when_the_engine_dies_though_the_pipe_stays_open():
    reader = follow()
    assert reader.stdin is not None
    assert reader.stdout is not None
    writer = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time\nfor line in sys.argv[1:]:\n  print(line, flush=True)\n  time.sleep(0.05)\nsys.exit(1)",
            *SKEW,
        ],
        stdout=reader.stdin,
    )
    assert writer.wait(timeout=60) == 1
    printed = reader.stdout.read()  # ends when the reader does: our end of its stdin is still open
    assert not reader.stdin.closed
    assert printed.startswith("root cause    stdin:6\n")
    assert reader.wait(timeout=60) == 1
    reader.communicate()


def test_a_pipe_that_ends_is_answered_too_and_news_goes_to_stderr():
    reader = follow()
    printed, news = reader.communicate("".join(f"{line}\n" for line in SERVES), timeout=60)
    assert reader.returncode == 0
    assert printed.startswith("started       stdin:2\n")
    assert news == "dayzero triage: it serves\n"


def test_a_pipe_that_falls_silent_after_a_cause_is_told_so_and_waited_for():
    reader = follow()
    assert reader.stdin is not None
    assert reader.stderr is not None
    reader.stdin.write("".join(f"{line}\n" for line in SKEW[:1] + SKEW[2:6]))
    reader.stdin.flush()
    news = reader.stderr.readline()
    assert "silent; so far the cause is line 5: TypeError: FlashAttentionImpl" in news
    assert reader.poll() is None
    _, rest = reader.communicate(timeout=60)
    assert reader.returncode == 1
    assert rest == ""


def wheel(folder: Path, files: dict[str, str], name: str = "vllm-0.32.0-py3-none-any.whl") -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in files.items():
            archive.writestr(member, text)
    return path


DEFINED = "class FlashAttentionImpl:\n    def __init__(self, num_heads{}): ...\n"


@pytest.mark.parametrize(
    ("files", "verdict", "place"),
    [
        ({"vllm/flash.py": DEFINED.format("")}, "proven", "vllm 0.32.0: vllm/flash.py:2"),
        ({"vllm/flash.py": DEFINED.format(", layer_idx")}, "refuted", "vllm 0.32.0: vllm/flash.py:2"),
        ({"vllm/flash.py": DEFINED.format(", **extra")}, "undecided", "vllm 0.32.0: vllm/flash.py:2"),
        ({"vllm/other.py": ""}, "undecided", ""),
    ],
)
def test_audit_says_from_a_wheel_whether_the_log_is_borne_out(tmp_path, capsys, files, verdict, place):
    path, build = log(tmp_path, SKEW), wheel(tmp_path, files)
    assert run(["triage", str(path), "--audit", str(build)]) == 1
    printed = capsys.readouterr().out
    assert f"audit         Does FlashAttentionImpl.__init__ lack the keyword layer_idx? {verdict}: " in printed
    assert place in printed
    _, document = answer(capsys, str(path), "--audit", str(build))
    (check,) = document["audit"]
    assert (check["verdict"], bool(check["places"])) == (verdict, bool(place))


def test_audit_takes_several_builds_folders_of_wheels_and_an_installed_environment(tmp_path, capsys):
    path = log(tmp_path, SKEW)
    wheels, site = tmp_path / "wheels", tmp_path / "site-packages"
    wheels.mkdir()
    wheel(wheels, {"vllm/__init__.py": ""})
    log(site, [DEFINED.format("")], "vllm/flash.py")
    for builds in ((wheels, site), (site,), (site, wheels)):
        _, document = answer(capsys, str(path), "--audit", *map(str, builds))
        assert document["audit"][0]["verdict"] == "proven"
        assert document["audit"][0]["places"][0]["artifact"] == str(site)


@pytest.mark.parametrize("name", ["missing", "empty", "text.whl", "a-1.0-py3-none-any.whl"])
def test_what_is_no_build_is_an_error_not_an_answer(tmp_path, capsys, name):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.whl").write_text("text")
    (tmp_path / "a-1.0-py3-none-any.whl").write_text("text")
    assert run(["triage", str(log(tmp_path, SKEW)), "--audit", str(tmp_path / name)]) == 2
    printed = capsys.readouterr()
    assert (printed.out, "hint: " in printed.err) == ("", True)


@pytest.mark.parametrize(("lines", "why"), [(TAIL, "the log names no root cause"), (SERVES, "no root cause")])
def test_audit_of_a_log_without_a_claim_is_undecided_never_a_pass(tmp_path, capsys, lines, why):
    build = wheel(tmp_path, {"vllm/flash.py": ""})
    _, document = answer(capsys, str(log(tmp_path, lines)), "--audit", str(build))
    assert document["audit"][0]["verdict"] == "undecided"
    assert why in document["audit"][0]["reason"]


def test_audit_asks_about_one_log(tmp_path, capsys):
    log(tmp_path, SKEW)
    assert run(["triage", str(tmp_path), "--audit", str(tmp_path)]) == 2
    assert "--audit asks about one log" in capsys.readouterr().err


def test_the_how_to_shows_what_the_command_prints(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    shown = re.findall(r"\$ dayzero triage (tests/\S+)\n(.*?)```", HOW_TO.read_text(encoding="utf-8"), re.DOTALL)
    assert len(shown) == 2
    for path, printed in shown:
        run(["triage", path])
        assert capsys.readouterr().out == printed

import contextlib
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from verifier.tests.kits import make
from verifier.tests.servers import serving

from dayzero_verify import live
from dayzero_verify.engine_words import flags_of, number
from dayzero_verify.inputs import UnreadableError
from dayzero_verify.kit import Content
from dayzero_verify.report import ExitCode, Outcome, Status

LOCAL: Mapping[str, Any] = {"from": "folder", "files": []}
HUB: Mapping[str, Any] = {"from": "hub", "repository": "org/small", "revision": "a" * 40}


def content(distribution: str, words: str, model: Mapping[str, Any] = LOCAL) -> Content:
    launch = {"schema": "dayzero/launch/v2", "distribution": distribution, "argv": words.split(), "model": model}
    whole = make().examine().content
    assert whole is not None
    return replace(whole, launch=launch)


def failed(outcome: Outcome) -> str:
    assert (outcome.row.check, outcome.row.status, outcome.code) == ("live", Status.FAIL, ExitCode.DEPLOY_DRIFT)
    return outcome.row.reason


def passed(outcome: Outcome) -> str:
    assert outcome.row.status is Status.PASS, outcome.row.reason
    return outcome.row.reason


def undecided(outcome: Outcome) -> str:
    assert (outcome.row.status, outcome.code) == (Status.NOT_CHECKED, ExitCode.UNREADABLE), outcome.row.reason
    return outcome.row.reason


# vLLM 0.32.0: the members of tests/engines/vllm/answers/models.json that a client reads, and of GET /version.
VLLM = "vllm==0.32.0"
VLLM_WORDS = "vllm serve model --served-model-name smollm2 --host 127.0.0.1 --port 8000 --max-model-len 8k -tp 2"


def vllm(*, version: str = "0.32.0", **members: object) -> dict[str, Any]:
    entry = {
        "id": "smollm2",
        "object": "model",
        "owned_by": "vllm",
        "root": "hf",
        "parent": None,
        "max_model_len": 8000,
    }
    adapter = {**entry, "id": "adapter", "parent": "smollm2", "max_model_len": None}
    models = {"object": "list", "data": [{**entry, **members}, adapter]}
    return {"/version": {"version": version}, "/v1/models": models}


def test_a_vllm_that_serves_the_launch_passes_and_what_it_does_not_say_is_listed():
    with serving(vllm()) as server:
        reason = passed(live.outcome(content(VLLM, VLLM_WORDS), server.url + "/"))
    assert reason == (
        f"{server.url} says what the launch has: engine vllm; name smollm2; max-model-len 8k; version 0.32.0; "
        "not compared, because it does not say: --host 127.0.0.1; --port 8000; -tp 2"
    )


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        (vllm(version="0.31.0"), "version: the launch has '0.32.0', the server says '0.31.0'"),
        (vllm(version="0.32.0.post1"), "version: the launch has '0.32.0', the server says '0.32.0.post1'"),
        (vllm(id="other"), "name: the launch has 'smollm2', the server says 'other'"),
        (vllm(max_model_len=8192), "max-model-len: the launch has '8k', the server says '8192'"),
        (vllm(owned_by="sglang"), "engine: the launch has 'vllm', the server says 'sglang'"),
    ],
)
def test_a_vllm_that_says_something_else_has_drifted(answers, why):
    with serving(answers) as server:
        assert why in failed(live.outcome(content(VLLM, VLLM_WORDS), server.url))


def test_a_build_for_one_platform_is_the_version_unless_the_launch_names_another():
    with serving(vllm(version="0.32.0+cpu")) as server:
        passed(live.outcome(content(VLLM, VLLM_WORDS), server.url))
        failed(live.outcome(content("vllm==0.32.0+cu129", VLLM_WORDS), server.url))


def test_weights_from_a_hub_are_compared_by_their_repository():
    words = VLLM_WORDS.replace("serve model", "serve org/small")
    with serving(vllm(root="org/small")) as server:
        assert "repository org/small" in passed(live.outcome(content(VLLM, words, HUB), server.url))
    with serving(vllm(root="org/moved")) as server:
        assert "repository" in failed(live.outcome(content(VLLM, words, HUB), server.url))


def test_an_engine_that_keeps_its_version_to_itself_passes_with_that_said():
    answers = {path: answer for path, answer in vllm().items() if path != "/version"}
    with serving(answers) as server:
        reason = passed(live.outcome(content(VLLM, VLLM_WORDS), server.url))
    assert "not compared, because it does not say: the engine's version (/version answers 404)" in reason


# SGLang 0.5.10: the resolved ServerArgs as srt/entrypoints/http_server.py:601 gives them, as far as the launch sets them.
SGLANG = "sglang==0.5.10"
SGLANG_WORDS = (
    "python3 -m sglang.launch_server --model-path model --served-model-name k3 --host 127.0.0.1 --port 30000 --tp 8 "
    "--context-length 131072 --mem-fraction-static 0.85 --trust-remote-code --cuda-graph-bs 1 2 4 --enable-dp-attention "
    "--chunked-prefill-size 8192 --speculative-algorithm NEXTN --kv-cache-dtype auto --api-key hush --unknown-flag 1 "
    '--json-model-override-args {"a":1}'
)
SGLANG_ARGUMENTS: Mapping[str, Any] = {
    "version": "0.5.10",
    "model_path": "/srv/model",
    "served_model_name": "k3",
    "host": "0.0.0.0",
    "port": 30000,
    "tp_size": 8,
    "context_length": 131072,
    "mem_fraction_static": 0.85,
    "trust_remote_code": True,
    "cuda_graph_bs": [1, 2, 4],
    "enable_dp_attention": True,
    "chunked_prefill_size": 1024,
    "speculative_algorithm": "EAGLE",
    "kv_cache_dtype": "fp8_e4m3",
    "api_key": "hush",
    "json_model_override_args": '{"a": 1}',
    "internal_states": [{"last_gen_throughput": 0.0}],
}


def sglang(path: str = "/server_info", **members: object) -> dict[str, Any]:
    entry = {"id": "k3", "object": "model", "owned_by": "sglang", "root": "k3", "parent": None, "max_model_len": 131072}
    return {path: {**SGLANG_ARGUMENTS, **members}, "/v1/models": {"object": "list", "data": [entry]}}


@pytest.mark.parametrize("path", ["/server_info", "/get_server_info"])
def test_a_sglang_is_compared_flag_for_flag_and_no_secret_is_repeated(path):
    with serving(sglang(path)) as server:
        outcome = live.outcome(content(SGLANG, SGLANG_WORDS), server.url)
    reason = passed(outcome)
    same, _, unsaid = reason.partition("; not compared")
    assert "version 0.5.10; --port 30000; --tp 8" in same
    assert same.endswith('--speculative-algorithm NEXTN; --json-model-override-args {"a":1}')
    assert "--chunked-prefill-size 8192 (the server says 1024: divided by dp_size" in unsaid
    assert "--kv-cache-dtype auto; --api-key (hidden); --unknown-flag 1" in unsaid
    assert "hush" not in reason


@pytest.mark.parametrize(
    ("member", "value", "why"),
    [
        ("tp_size", 4, "--tp: the launch has '8', the server says '4'"),
        ("port", 30001, "--port"),
        ("mem_fraction_static", 0.9, "--mem-fraction-static: the launch has '0.85', the server says '0.9'"),
        ("trust_remote_code", False, "--trust-remote-code"),
        ("cuda_graph_bs", [1, 2], "--cuda-graph-bs: the launch has '1 2 4', the server says '[1, 2]'"),
        ("enable_dp_attention", False, "--enable-dp-attention"),
        ("speculative_algorithm", None, "--speculative-algorithm"),
        ("json_model_override_args", '{"a": 2}', "--json-model-override-args"),
        ("version", "0.5.9", "version: the launch has '0.5.10', the server says '0.5.9'"),
    ],
)
def test_a_sglang_argument_that_is_another_is_drift(member, value, why):
    with serving(sglang(**{member: value})) as server:
        assert why in failed(live.outcome(content(SGLANG, SGLANG_WORDS), server.url))


# llama.cpp's build 11549: GET /props and /v1/models of the embedded engine, as far as they are read.
LLAMA = "xllamacpp==2026.10.11549"
LLAMA_WORDS = (
    "python3 serve.py --model model/m.gguf --alias smollm2 --host 127.0.0.1 --port 8080 --n-ctx 8192 --n-parallel 4"
)


def llama(*, build: str = "b11549-abc", slots: int = 4, context: int = 2048, name: str = "smollm2") -> dict[str, Any]:
    props = {"total_slots": slots, "build_info": build, "default_generation_settings": {"n_ctx": context}}
    entry = {"id": name, "aliases": [name], "object": "model", "owned_by": "llamacpp", "meta": {"n_ctx": 2048}}
    return {"/props": props, "/v1/models": {"models": [], "object": "list", "data": [entry]}}


@pytest.mark.parametrize(
    ("answers", "more", "said"),
    [
        (llama(), "", "build 11549; slots 4; context of a slot 2048"),
        (llama(context=8192), "--kv-unified true", "context of a slot 8192"),
        (llama(), "--kv-unified false", "context of a slot 2048"),
        (llama(build="b0-unknown"), "", "the engine's version (its build says 'b0-unknown')"),
    ],
)
def test_a_llama_cpp_that_serves_the_launch_passes(answers, more, said):
    with serving(answers) as server:
        assert said in passed(live.outcome(content(LLAMA, f"{LLAMA_WORDS} {more}"), server.url))


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        (llama(build="b11550-abc"), "build: the launch has '11549', the server says '11550'"),
        (llama(slots=2), "slots: the launch has '4', the server says '2'"),
        (llama(context=8192), "context of a slot: the launch has '2048', the server says '8192'"),
        (llama(name="other"), "name"),
    ],
)
def test_a_llama_cpp_that_says_something_else_has_drifted(answers, why):
    with serving(answers) as server:
        assert why in failed(live.outcome(content(LLAMA, LLAMA_WORDS), server.url))


def test_an_engine_or_a_kit_that_nothing_can_be_asked_about_is_undecided():
    assert "not known" in undecided(live.outcome(content("other==1", "other"), "http://127.0.0.1:1"))
    nothing = replace(content(VLLM, VLLM_WORDS), launch={})
    assert "no launch.json" in undecided(live.outcome(nothing, "http://127.0.0.1:1"))


def test_a_server_that_is_not_there_is_undecided():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert "it cannot be reached" in undecided(live.outcome(content(VLLM, VLLM_WORDS), f"http://127.0.0.1:{port}"))


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((401, {}, b"{}"), "/v1/models answers 401"),
        ((503, {}, b"{}"), "/v1/models answers 503"),
        (b"<html>", "/v1/models answers what is not JSON"),
        (b'{"data": [], "data": []}', "occurs twice"),
        ({"data": []}, "lists no model"),
        ({"data": [{"id": 1}]}, "lists no model"),
        ([], "answers no JSON object"),
        ((200, {"Content-Length": "99"}, b"{}"), "is not answered"),
        (b" " * (live._MAX_BYTES + 1), "more than 8388608 bytes"),  # noqa: SLF001  (the limit itself)
    ],
)
def test_an_answer_that_cannot_be_read_is_undecided(answer, why):
    with serving({**vllm(), "/v1/models": answer}) as server:
        assert why in undecided(live.outcome(content(VLLM, VLLM_WORDS), server.url))


@contextlib.contextmanager
def dripping(first: bytes, drop: bytes) -> Iterator[str]:
    """Answer with a beginning, and then with one drop after the other until the context ends."""
    over = threading.Event()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            connection.recv(1 << 16)
            connection.sendall(first)
            while not over.wait(0.01):
                connection.sendall(drop)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        over.set()
        thread.join()


@pytest.mark.parametrize(
    ("first", "drop"),
    [
        (b"HTTP/1.1 200 OK\r\nX: ", b"x"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n", b" "),
    ],
    ids=["a header", "promises", "a body"],
)
def test_a_server_that_never_ends_is_left(monkeypatch, first, drop):
    monkeypatch.setattr(live, "_WHOLE_S", 0.2)
    with dripping(first, drop) as url:
        assert "takes longer than" in undecided(live.outcome(content(VLLM, VLLM_WORDS), url))


@pytest.mark.parametrize("url", ["http://a..b", "http://h\xf6st/\xfc", "http://127.0.0.1:1/a b"])
def test_an_address_that_cannot_be_written_down_is_undecided(url):
    assert "is not answered" in undecided(live.outcome(content(VLLM, VLLM_WORDS), url))


def test_a_redirect_is_not_followed_and_takes_no_key_along():
    with (
        serving(vllm()) as other,
        serving({"/v1/models": (302, {"Location": f"{other.url}/v1/models"}, b"")}) as server,
    ):
        outcome = live.outcome(content(VLLM, VLLM_WORDS), server.url, api_key="hush")
    assert "/v1/models answers 302" in undecided(outcome)
    assert (server.asked, other.asked) == ([("/v1/models", "Bearer hush")], [])


def test_a_proxy_of_the_environment_is_not_asked(monkeypatch):
    with serving(vllm()) as server, serving({}) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        passed(live.outcome(content(VLLM, VLLM_WORDS), server.url))
    assert proxy.asked == []


@pytest.mark.parametrize(
    "url",
    ["", "server:8000", "file:///etc/passwd", "ftp://h/", "http://", "http://u:p@h/", "http://h/?a", "http://h/#a", "http://[", "http://h:x"],
)  # fmt: skip
def test_an_address_that_is_no_server_is_refused(url):
    with pytest.raises(UnreadableError, match="not the base URL"):
        live.outcome(content(VLLM, VLLM_WORDS), url)


def test_a_command_line_is_taken_apart_as_the_engines_do():
    flags = flags_of(
        ["vllm", "serve", "m", "--a_b", "1", "--c=2", "--d", "-1", "--e", "x", "y", "--f", "--c", "3", "-tp", "4"]
    )
    assert {flag.name: flag.values for flag in flags} == {
        "--a-b": ("1",), "--d": ("-1",), "--e": ("x", "y"), "--f": (), "--c": ("3",), "-tp": ("4",),
    }  # fmt: skip
    assert [number(text) for text in ("40k", "1.5K", "7", "auto", "-1")] == [40_000, 1536, 7, None, None]


def test_the_captured_answers_of_the_engines_are_read(request):
    captured = request.config.rootpath / "tests" / "engines"
    models = json.loads((captured / "vllm" / "answers" / "models.json").read_text())
    with serving({"/version": {"version": "0.32.0"}, "/v1/models": models}) as server:
        words = "vllm serve model --served-model-name smollm2 --max-model-len 8192"
        passed(live.outcome(content(VLLM, words), server.url))
    models = json.loads((captured / "llamacpp" / "answers" / "models.json").read_text())
    with serving({"/v1/models": models}) as server:
        passed(live.outcome(content(LLAMA, "python3 serve.py --alias tiny-k3"), server.url))
        failed(live.outcome(content(LLAMA, "python3 serve.py --alias other"), server.url))

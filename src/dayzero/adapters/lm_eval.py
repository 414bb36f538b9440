"""Run lm-eval as a program of its own environment, and read the samples that it logs."""

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from dayzero.adapters.disk import disk_errors
from dayzero.bench.answer import printable
from dayzero.core.errors import InputError, RemoteError
from dayzero.gates.task import Item

VERSION: Final = "0.4.13"

TaskRoute: TypeAlias = Literal["completions", "chat"]

_MODELS: Final[Mapping[TaskRoute, tuple[str, str]]] = {
    "completions": ("local-completions", "/v1/completions"),
    "chat": ("local-chat-completions", "/v1/chat/completions"),
}
_INVALID: Final = "[invalid]"  # lm-eval 0.4.13, filters/extraction.py: what a regex filter gives where nothing matches
_UNREAD: Final = ("metadata",)  # of a task's configuration: it names the endpoint
_LAST: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One run.

    Attributes:
        program: lm-eval's environment.
        tasks: Name of the task or group.
        include_path: Folder with task files of one's own, in which lm-eval is started; ``None`` for lm-eval's own tasks.
        limit: Items at most; 0 for all.
        seed: Of its draws.
        route: Where prompts go.
        concurrency: Requests in flight.
        output: Folder for its files.
    """

    program: Path
    tasks: str
    include_path: Path | None
    limit: int
    seed: int
    route: TaskRoute
    concurrency: int
    output: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """What lm-eval logged.

    Attributes:
        items: Every item of the chosen filter and metric.
        rule: Digest of how answers are asked for, extracted and scored.
        files: Its files.
        rules: The (filter, metric) of each task.
    """

    items: tuple[Item, ...]
    rule: str
    files: tuple[Path, ...]
    rules: tuple[str, ...]


def require_program(folder: Path) -> None:
    """Refuse to begin without lm-eval.

    Raises:
        InputError: It is not there.
    """
    if not (folder / "bin" / "lm_eval").is_file():
        raise InputError(
            f"lm-eval is not installed in {folder}",
            hint="Install it with tools/tool_env.sh lm-eval (make lm-eval-env), or name its environment in DAYZERO_LM_EVAL_ENV.",
        )


def evaluate(evaluation: Evaluation, url: str, model: str) -> None:
    """Run lm-eval on an endpoint; a task of one's own is run with the hub switched off.

    Args:
        evaluation: What is run.
        url: The endpoint.
        model: The model to ask for.

    Raises:
        InputError: The model's name cannot be handed to lm-eval.
        RemoteError: It ended without results; its log says why.
    """
    log = evaluation.output / "lm_eval.log"
    with disk_errors(log):
        evaluation.output.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as stream:
            done = subprocess.run(  # noqa: S603  (the program that was installed for this)
                _command(evaluation, url, model),
                cwd=evaluation.include_path,
                env=_environment(evaluation),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                check=False,
            )
    if done.returncode:
        last = [line for line in log.read_text(errors="replace").splitlines() if line.strip()][-1:] or [
            "it said nothing"
        ]
        raise RemoteError(
            f"lm-eval ended with exit code {done.returncode}: {printable(last[0])[:_LAST]}", hint=f"Read {log}."
        )


def _command(evaluation: Evaluation, url: str, model: str) -> list[str]:
    if "," in model or "=" in model:
        raise InputError(f"lm-eval cannot be given the model {model!r}", hint="Serve it under a name without , and =.")
    kind, path = _MODELS[evaluation.route]
    arguments = f"model={model},base_url={url}{path},num_concurrent={evaluation.concurrency}"
    arguments += ",tokenized_requests=False,tokenizer_backend=None,max_retries=1"
    words = [str(evaluation.program.absolute() / "bin" / "lm_eval"), "run", "--model", kind, "--model_args", arguments]
    words += ["--tasks", evaluation.tasks, "--seed", str(evaluation.seed), "--log_samples"]
    words += ["--output_path", str(evaluation.output.absolute())]
    words += ["--limit", str(evaluation.limit)] if evaluation.limit else []
    words += ["--include_path", "."] if evaluation.include_path is not None else []
    return [*words, "--apply_chat_template"] if evaluation.route == "chat" else words


def _environment(evaluation: Evaluation) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    if evaluation.include_path is None:
        return kept
    cache = str(evaluation.output.absolute() / "datasets")
    return {**kept, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_DATASETS_CACHE": cache}


def read_samples(folder: Path, chosen_filter: str, chosen_metric: str) -> Sampled:
    """Read what a run logged.

    Args:
        folder: Where lm-eval wrote.
        chosen_filter: Which extraction rule; ``""`` for the first of each task.
        chosen_metric: Which metric; ``""`` for the first of each task.

    Raises:
        InputError: The task has no such filter or metric.
        RemoteError: There are no results, or not in the form of lm-eval 0.4.13.
    """
    results = sorted(folder.rglob("results_*.json"))
    samples = sorted(folder.rglob("samples_*.jsonl"))
    if not results or not samples:
        raise RemoteError(f"lm-eval left no samples in {folder}", hint=f"Read {folder / 'lm_eval.log'}.")
    try:
        configs: Mapping[str, Any] = json.loads(results[-1].read_bytes())["configs"]
        items: list[Item] = []
        rules: list[str] = []
        for name in sorted(configs):
            file = next(file for file in samples if file.name.startswith(f"samples_{name}_2"))
            which, metric = _rule(configs[name], name, chosen_filter, chosen_metric)
            rules.append(f"{name}: {metric} of {which}")
            items += _items(file, name, which, metric)
        return Sampled(items=tuple(items), rule=_digest(configs, rules), files=(*results, *samples), rules=tuple(rules))
    except (ValueError, KeyError, TypeError, StopIteration) as error:
        raise RemoteError(
            f"the samples in {folder} are not in the form of lm-eval {VERSION}: {error!r}",
            hint=f"Install lm-eval {VERSION} with tools/tool_env.sh lm-eval.",
        ) from error


def _rule(config: Mapping[str, Any], task: str, chosen_filter: str, chosen_metric: str) -> tuple[str, str]:
    filters = [str(one["name"]) for one in config.get("filter_list") or [{"name": "none"}]]
    metrics = [str(one["metric"]) for one in config["metric_list"]]
    for noun, chosen, known in (("filter", chosen_filter, filters), ("metric", chosen_metric, metrics)):
        if chosen and chosen not in known:
            raise InputError(f"the task {task} has no {noun} {chosen!r}", hint=f"Use one of: {', '.join(known)}.")
    return chosen_filter or filters[0], chosen_metric or metrics[0]


def _items(file: Path, task: str, which: str, metric: str) -> Iterator[Item]:
    for line in file.read_text(encoding="utf-8").splitlines():
        sample = json.loads(line)
        if sample["filter"] != which:
            continue
        asked = "".join(sample[f"{part}_hash"] for part in ("doc", "prompt", "target"))
        yield Item(
            key=f"{task}/{sample['doc_id']}",
            asked=hashlib.sha256(asked.encode()).hexdigest(),
            score=float(sample[metric]),
            extracted=_extracted(sample["filtered_resps"]),
            target=sample["target_hash"],
        )


def _extracted(found: Sequence[Any]) -> bool:
    firsts = [one[:1] if isinstance(one, list) else [one] for one in found]
    texts = [str(text) for first in firsts for text in first]
    return any(text.strip() and text != _INVALID for text in texts)


def _digest(configs: Mapping[str, Any], rules: Sequence[str]) -> str:
    read = {
        name: {key: value for key, value in config.items() if key not in _UNREAD} for name, config in configs.items()
    }
    return hashlib.sha256(json.dumps([read, list(rules)], sort_keys=True).encode()).hexdigest()

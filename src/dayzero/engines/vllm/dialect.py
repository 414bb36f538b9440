"""How vLLM's OpenAI-compatible endpoint speaks (checked against 0.32.0)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dayzero.bench.model import Usage
from dayzero.bench.openai import owners, read_usage


@dataclass(frozen=True, slots=True)
class VllmDialect:
    """The endpoint's own fields, shapes and names."""

    def length_fields(self, output_tokens: int) -> Mapping[str, object]:
        """Ask for exactly this many tokens: no end-of-sequence token, stop string or earlier minimum ends the answer."""
        return {"max_tokens": output_tokens, "min_tokens": output_tokens, "ignore_eos": True}

    def usage(self, chunk: Mapping[str, object]) -> Usage | None:
        """Read the counts; ``prompt_tokens_details`` is null unless the server runs with ``--enable-prompt-tokens-details``."""
        return read_usage(chunk)

    @property
    def tokens_without_text(self) -> bool:
        """A chunk is sent for each step that made a token, whatever it decodes to; steps of a chunked prefill send none.

        Source: vllm 0.26.0, entrypoints/openai/completion/serving.py, completion_stream_generator; seen in its raw reads.
        """
        return True

    def recognises(self, models: Mapping[str, object]) -> bool:
        """Say whether every listed model is owned by ``vllm``."""
        return set(owners(models)) == {"vllm"}

    @property
    def metric_names(self) -> Mapping[str, str]:
        """Name the gauges and counters as ``/metrics`` spells them."""
        return {
            "requests_running": "vllm:num_requests_running",
            "requests_waiting": "vllm:num_requests_waiting",
            "prompt_tokens": "vllm:prompt_tokens_total",
            "generated_tokens": "vllm:generation_tokens_total",
        }

    def fingerprint(self, models: Mapping[str, object], completion: Mapping[str, object]) -> str:  # noqa: ARG002  (interface)
        """Give the completion's ``system_fingerprint``: version, parallelism and a hash of the engine's configuration."""
        stated = completion.get("system_fingerprint")
        return stated if isinstance(stated, str) else ""


DIALECT: Final = VllmDialect()

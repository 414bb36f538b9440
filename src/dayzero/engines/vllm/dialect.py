"""How vLLM's OpenAI-compatible endpoint speaks (checked against 0.32.0)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dayzero.bench.model import Usage
from dayzero.bench.openai import owners, read_usage
from dayzero.core.errors import RemoteError

_TOKEN_ID = "token_id:"  # noqa: S105  (a prefix of the answer's keys, no secret)


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

    def logprobs_request(self, k: int) -> Mapping[str, object]:
        """Ask for the top ``k`` keyed by token id.

        Keyed by text, tokens that decode to the same text fall into one: asked for 20, the answer held 15. The sampled token
        comes on top where it is not among the ``k``.
        """
        return {"logprobs": k, "return_tokens_as_token_ids": True}

    def top_logprobs(self, choice: Mapping[str, object]) -> tuple[Mapping[int, float], ...]:
        """Read ``logprobs.top_logprobs``: one map of ``token_id:N`` to its natural logarithm for each position.

        Raises:
            RemoteError: It is missing, or keyed by text.
        """
        logprobs = choice.get("logprobs")
        positions = logprobs.get("top_logprobs") if isinstance(logprobs, Mapping) else None
        if not isinstance(positions, list):
            raise _not_in_shape("the choice carries no logprobs.top_logprobs")
        return tuple(_by_token_id(position) for position in positions)

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


def _by_token_id(position: object) -> Mapping[int, float]:
    if not isinstance(position, Mapping):
        raise _not_in_shape("a position has no map of log-probabilities")
    read: dict[int, float] = {}
    for key, value in position.items():
        digits = str(key).removeprefix(_TOKEN_ID)
        if not str(key).startswith(_TOKEN_ID) or not digits.isdecimal() or not isinstance(value, int | float):
            raise _not_in_shape(f"{key!r}: {value!r} is not a token id with its log-probability")
        read[int(digits)] = float(value)
    return read


def _not_in_shape(what: str) -> RemoteError:
    return RemoteError(
        f"not vLLM's log-probabilities: {what}",
        hint="Ask /v1/completions with logprobs and return_tokens_as_token_ids, as vLLM 0.32.0 takes them.",
    )


DIALECT: Final = VllmDialect()

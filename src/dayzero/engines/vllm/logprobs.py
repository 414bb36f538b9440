"""How vLLM is asked for log-probabilities (checked against 0.32.0)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dayzero.engines.vllm.dialect import DIALECT as ENDPOINT
from dayzero.gates.exchange import Asked, Question, Reading, UnreadableError, candidate, reading, token_id
from dayzero.gates.logprob_shapes import by_id, choice, legacy, listed, logprobs
from dayzero.gates.openai_logprobs import completion


@dataclass(frozen=True, slots=True)
class VllmLogprobs:
    """Completions, keyed by token id: keyed by text, tokens that decode to the same text fall into one (20 asked, 15 came).

    Implements ``gates.ports.LogprobDialect``.
    """

    @property
    def exact_length(self) -> bool:
        """See :class:`dayzero.engines.vllm.dialect.VllmDialect`."""
        return True

    @property
    def bypasses_cache(self) -> bool:
        """A ``cache_salt`` of its own for each question; ``prompt_logprobs`` does not read the cache at all."""
        return True

    def recognises(self, models: Mapping[str, object]) -> bool:
        """Recognise what its endpoint's dialect does."""
        return ENDPOINT.recognises(models)

    def generate(self, asked: Asked) -> Question:
        """Ask for generated tokens."""
        own = {"return_tokens_as_token_ids": True, "cache_salt": asked.salt}
        return Question("/v1/completions", {**completion(asked), **ENDPOINT.length_fields(asked.tokens), **own})

    def generated(self, answer: Mapping[str, object]) -> tuple[Reading, ...]:
        """Read them."""
        return by_id(legacy(logprobs(answer)))

    def score(self, asked: Asked) -> Question:
        """Ask for the whole prompt's in one request; its answer carries the prompt's token ids too."""
        question = self.generate(asked)
        body = {name: value for name, value in question.body.items() if name != "logprobs"}
        return Question(question.path, {**body, "prompt_logprobs": asked.k, "return_token_ids": True})

    def scored(self, answer: Mapping[str, object]) -> tuple[Reading, ...]:
        """Read ``prompt_logprobs``: null for the first token, then a map of token id to its log-probability and rank.

        Source: vllm 0.32.0, entrypoints/openai/completion/serving.py, request_output_to_completion_response.
        """
        found = choice(answer)
        maps, ids = listed(found, "prompt_logprobs"), listed(found, "prompt_token_ids")
        if len(maps) != len(ids):
            raise UnreadableError(f"{len(ids)} prompt tokens have {len(maps)} positions of log-probabilities")
        return tuple(_position(token, position) for token, position in zip(ids[1:], maps[1:], strict=True))


def _position(token: object, position: object) -> Reading:
    if not isinstance(position, Mapping):
        raise UnreadableError("a position of the prompt has no map of log-probabilities")
    return reading(token_id(token), [candidate(f"id:{key}", _logprob(entry)) for key, entry in position.items()])


def _logprob(entry: object) -> object:
    return entry.get("logprob") if isinstance(entry, Mapping) else entry


DIALECT: Final = VllmLogprobs()

"""How llama.cpp's server is asked for log-probabilities (tools/server/README.md, and asked of build 11549)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dayzero.engines.llamacpp.dialect import DIALECT as ENDPOINT
from dayzero.gates.exchange import Asked, Question, Reading
from dayzero.gates.logprob_shapes import by_id, chat, logprobs
from dayzero.gates.openai_logprobs import completion


@dataclass(frozen=True, slots=True)
class LlamaCppLogprobs:
    """Its completions answer in the chat API's shape and name ids without being asked to; ``echo`` is silently ignored.

    So the positions of a prompt are asked for one by one: one request a prefix. Implements ``gates.ports.LogprobDialect``.
    """

    @property
    def exact_length(self) -> bool:
        """Its ``ignore_eos`` goes on past the end."""
        return True

    @property
    def bypasses_cache(self) -> bool:
        """Its ``cache_prompt`` is switched off."""
        return True

    def recognises(self, models: Mapping[str, object]) -> bool:
        """Recognise what its endpoint's dialect does."""
        return ENDPOINT.recognises(models)

    def generate(self, asked: Asked) -> Question:
        """Ask for generated tokens; the whole prompt is computed anew."""
        exact = ENDPOINT.length_fields(asked.tokens)
        return Question("/v1/completions", {**completion(asked), **exact, "cache_prompt": False})

    def generated(self, answer: Mapping[str, object]) -> tuple[Reading, ...]:
        """Read them, by id."""
        return by_id(chat(logprobs(answer)))

    def score(self, asked: Asked) -> None:
        """It has no such request."""

    def scored(self, answer: Mapping[str, object]) -> tuple[Reading, ...]:  # noqa: ARG002  (interface)
        """Nothing is scored."""
        return ()


DIALECT: Final = LlamaCppLogprobs()

"""How log-probabilities are asked of an OpenAI-compatible endpoint whose engine is not known: only what the API defines."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dayzero.gates.exchange import Asked, Question, Reading
from dayzero.gates.logprob_shapes import chat, legacy, logprobs


@dataclass(frozen=True, slots=True)
class OpenAiLogprobs:
    """The legacy completions route: ``logprobs`` for the candidates, ``echo`` for those of the prompt.

    It can neither hold a model from ending early nor keep a prompt out of a cache. Implements ``gates.ports.LogprobDialect``.
    """

    @property
    def exact_length(self) -> bool:
        """The model may end sooner."""
        return False

    @property
    def bypasses_cache(self) -> bool:
        """The API has no word for it."""
        return False

    def recognises(self, models: Mapping[str, object]) -> bool:  # noqa: ARG002  (it is asked last, and takes what is left)
        """Take any endpoint."""
        return True

    def generate(self, asked: Asked) -> Question:
        """Ask for generated tokens."""
        return Question("/v1/completions", completion(asked))

    def generated(self, answer: Mapping[str, object]) -> tuple[Reading, ...]:
        """Read them in whichever of the two shapes they come."""
        found = logprobs(answer)
        return chat(found) if "content" in found else legacy(found)

    def score(self, asked: Asked) -> Question:
        """Ask for the prompt's own, through ``echo``."""
        return Question("/v1/completions", {**completion(asked), "echo": True})

    def scored(self, answer: Mapping[str, object]) -> tuple[Reading, ...]:
        """Read the echoed prompt; the one generated token after it is left out."""
        return legacy(logprobs(answer))[:-1]


def completion(asked: Asked) -> dict[str, object]:
    """Write what every completion request says."""
    return {
        "model": asked.model,
        "prompt": list(asked.prompt) if isinstance(asked.prompt, tuple) else asked.prompt,
        "max_tokens": asked.tokens,
        "temperature": asked.temperature,
        "top_p": 1,
        "logprobs": asked.k,
    }


DIALECT: Final = OpenAiLogprobs()

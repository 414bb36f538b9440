"""How SGLang is asked for log-probabilities: its own ``/generate`` route (read in 0.5.23; not run here: it needs a GPU)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dayzero.bench.openai import owners
from dayzero.gates.exchange import Asked, Question, Reading, UnreadableError, candidate, reading, token_id
from dayzero.gates.logprob_shapes import listed

_OWNER: Final = "sglang"


@dataclass(frozen=True, slots=True)
class SglangLogprobs:
    """Triples of log-probability, id and text, for the prompt and for what is generated.

    ``logprob_start_len`` is 0 in both arms: a cached prefix ends where the log-probabilities begin
    (srt/managers/schedule_batch.py, ``_compute_max_prefix_len``). Implements ``gates.ports.LogprobDialect``.
    """

    @property
    def exact_length(self) -> bool:
        """Its ``ignore_eos`` goes on past the end."""
        return True

    @property
    def bypasses_cache(self) -> bool:
        """See the class."""
        return True

    def recognises(self, models: Mapping[str, object]) -> bool:
        """Say whether every listed model is owned by ``sglang``."""
        return set(owners(models)) == {_OWNER}

    def generate(self, asked: Asked) -> Question:
        """Ask for generated tokens, and with them for the prompt's."""
        sampling = {
            "temperature": asked.temperature,
            "top_p": 1,
            "max_new_tokens": asked.tokens,
            "ignore_eos": True,
        }
        given = {"input_ids": list(asked.prompt)} if isinstance(asked.prompt, tuple) else {"text": asked.prompt}
        wanted = {"return_logprob": True, "logprob_start_len": 0, "top_logprobs_num": asked.k}
        return Question("/generate", {**given, "sampling_params": sampling, **wanted})

    def generated(self, answer: Mapping[str, object]) -> tuple[Reading, ...]:
        """Read ``output_token_logprobs`` and ``output_top_logprobs``."""
        return _read(answer, "output", skip=0)

    def score(self, asked: Asked) -> Question:
        """Ask for the prompt's: the same request, which generates no more than it must."""
        return self.generate(asked)

    def scored(self, answer: Mapping[str, object]) -> tuple[Reading, ...]:
        """Read ``input_token_logprobs`` and ``input_top_logprobs``, whose first position has no log-probability."""
        return _read(answer, "input", skip=1)


def _read(answer: Mapping[str, object], which: str, *, skip: int) -> tuple[Reading, ...]:
    meta = answer.get("meta_info")
    if not isinstance(meta, Mapping):
        raise UnreadableError("the answer carries no meta_info")
    tokens, tops = listed(meta, f"{which}_token_logprobs"), listed(meta, f"{which}_top_logprobs")
    if len(tokens) != len(tops):
        raise UnreadableError(f"{len(tokens)} {which} tokens have {len(tops)} positions of log-probabilities")
    return tuple(_position(one, top) for one, top in zip(tokens[skip:], tops[skip:], strict=True))


def _position(token: object, top: object) -> Reading:
    chosen = _triple(token)
    if not isinstance(top, list):
        raise UnreadableError("a position has no list of candidates")
    named = [candidate(token_id(each[1]), each[0]) for each in (chosen, *map(_triple, top))]
    return reading(token_id(chosen[1]), named)


def _triple(entry: object) -> Sequence[object]:
    if isinstance(entry, list) and len(entry) >= 2:  # noqa: PLR2004  (a log-probability and an id, then perhaps a text)
        return entry
    raise UnreadableError("a candidate is not a log-probability with its token id")


DIALECT: Final = SglangLogprobs()

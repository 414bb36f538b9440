"""Write the prompts of a gate: sentences in a drawn order behind a number of their own, cut to one length in tokens.

A prompt is a context and, behind it, the tail whose positions are compared. The same seed and sentences give the same text.
"""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dayzero.core.errors import InputError
from dayzero.gates.exchange import Prompt

_CHARACTERS_A_TOKEN: Final = 8  # more than tokenizers put into one on average, so that few texts are too short
_DROPPED: Final = 3 / 4
_KEPT_TOKENS: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How long each part of a prompt is, in tokens (in words, where prompts are sent as text).

    Attributes:
        context: What stands before the tail, and is what the decode arm writes on from.
        tail: What is compared in the prefill arm.
    """

    context: int
    tail: int

    def __post_init__(self) -> None:
        if self.context < 1 + _KEPT_TOKENS or self.tail < 1:
            raise InputError(
                f"a context of {self.context} tokens leaves none to drop", hint="Give --context 2 or more."
            )

    @property
    def dropped(self) -> int:
        """How much of the context the positive control leaves out, from its beginning: three quarters."""
        return min(max(1, round(self.context * _DROPPED)), self.context - _KEPT_TOKENS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """One prompt in the forms in which a gate sends it.

    Attributes:
        whole: Context and tail.
        context: The context alone.
        whole_dropped: ``whole`` without the beginning of its context.
        context_dropped: The same of ``context``.
    """

    whole: Prompt
    context: Prompt
    whole_dropped: Prompt
    context_dropped: Prompt


def texts(sentences: Sequence[str], layout: Layout, *, seed: int, prompts: int) -> tuple[str, ...]:
    """Write each prompt's text, long enough to be cut; every one begins with a number that no other run has."""
    return tuple(_text(sentences, layout, seed, number) for number in range(prompts))


def _text(sentences: Sequence[str], layout: Layout, seed: int, number: int) -> str:
    source = random.Random(f"{seed}/{number}")  # noqa: S311  (no secret: the same seed must give the same prompts)
    nonce = hashlib.sha256(f"{seed}/{number}".encode()).hexdigest()[:8]
    found = [f"Note {nonce}."]
    while sum(map(len, found)) < _CHARACTERS_A_TOKEN * (layout.context + layout.tail):
        found += source.sample(sentences, len(sentences))
    return " ".join(found)


def of_ids(ids: Sequence[int], layout: Layout, *, first: tuple[int, ...] = ()) -> Sheet:
    """Cut a prompt out of a text's token ids.

    Args:
        ids: The text's, without special tokens.
        layout: The parts' lengths.
        first: Special tokens that the model expects in front; they are never dropped, and count into no length.

    Raises:
        InputError: The text has too few tokens.
    """
    needed = layout.context + layout.tail
    if len(ids) < needed:
        raise InputError(
            f"a prompt of {needed} tokens was asked for, and its text has {len(ids)}",
            hint="Give fewer --positions, or a smaller --context.",
        )
    context, tail = tuple(ids[: layout.context]), tuple(ids[layout.context : needed])
    left = context[layout.dropped :]
    return Sheet(
        whole=(*first, *context, *tail),
        context=(*first, *context),
        whole_dropped=(*first, *left, *tail),
        context_dropped=(*first, *left),
    )


def of_text(text: str, layout: Layout) -> Sheet:
    """Cut a prompt out of a text by words, for an endpoint that takes no token ids."""
    words = text.split(" ")
    context, tail = words[: layout.context], words[layout.context : layout.context + layout.tail]
    left = context[layout.dropped :]
    return Sheet(
        whole=" ".join((*context, *tail)),
        context=" ".join(context),
        whole_dropped=" ".join((*left, *tail)),
        context_dropped=" ".join(left),
    )


def fingerprint(tokenized: Sequence[Sequence[int]]) -> str:
    """Fingerprint a tokenizer by what it makes of the prompts' texts."""
    return hashlib.sha256(repr([tuple(ids) for ids in tokenized]).encode()).hexdigest()

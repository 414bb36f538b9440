"""A small byte-level BPE vocabulary, learnt on the spot from one paragraph."""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_PARAGRAPH = (
    "the quick brown fox jumps over the lazy dog and then the model serves a request with a prompt of many tokens "
    "for each expert in the layer the router picks the top experts and the kernel computes the product "
    "latency throughput memory bandwidth cache block sequence batch decode prefill token engine weights release day zero "
    "def return import from class self for in range if else while print open read write json list dict none true false"
)
_PRINTABLE = range(32, 127)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """A tokenizer's tables.

    Attributes:
        tokens: Every token, in id order.
        merges: Pairs in the order in which they were learnt.
        control: Tokens that stand for no text.
        printable: Tokens that stand for printable ASCII only.
    """

    tokens: tuple[str, ...]
    merges: tuple[str, ...]
    control: frozenset[str]
    printable: frozenset[str]


def byte_characters() -> dict[int, str]:
    """Give the character by which GPT-2's byte-level BPE writes each byte: itself where visible, else one from U+0100 on."""
    visible = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    hidden = [byte for byte in range(256) if byte not in visible]
    return {byte: chr(byte) if byte in visible else chr(256 + hidden.index(byte)) for byte in range(256)}


def byte_level_vocabulary(*, merges: int, multiple_of: int) -> Vocabulary:
    """Learn a vocabulary: special tokens, all bytes, the merges, and control tokens up to a multiple of a number."""
    learnt = _learn(merges)
    byte_of = {character: byte for byte, character in byte_characters().items()}
    text = [*sorted(byte_of, key=byte_of.__getitem__), *(left + right for left, right in learnt)]
    tokens = [*_SPECIAL, *text]
    padding = [f"<|pad_{index}|>" for index in range(-len(tokens) % multiple_of)]
    return Vocabulary(
        tokens=(*tokens, *padding),
        merges=tuple(f"{left} {right}" for left, right in learnt),
        control=frozenset((*_SPECIAL, *padding)),
        printable=frozenset(token for token in text if all(byte_of[character] in _PRINTABLE for character in token)),
    )


def _learn(count: int) -> list[tuple[str, str]]:
    """Merge the most frequent pair again and again; of equally frequent pairs the first in code point order."""
    characters = byte_characters()
    occurrences = Counter(_PARAGRAPH.split())
    words = {tuple(characters[byte] for byte in f" {word}".encode()): times for word, times in occurrences.items()}
    learnt: list[tuple[str, str]] = []
    while len(learnt) < count:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, times in words.items():
            for pair in pairwise(word):
                pairs[pair] += times
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        learnt.append(best)
        merged: Counter[tuple[str, ...]] = Counter()
        for word, times in words.items():
            merged[_merge(word, best)] += times
        words = dict(merged)
    return learnt


def _merge(word: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    merged: list[str] = []
    position = 0
    while position < len(word):
        if word[position : position + 2] == pair:
            merged.append("".join(pair))
            position += 2
        else:
            merged.append(word[position])
            position += 1
    return tuple(merged)

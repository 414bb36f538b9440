"""Write words as terms that both databases take as they are: neither sees what a reader typed, nor cuts it in its own way."""

from typing import Final

from dayzero.catalog.facets import words

_LONGEST: Final = 256  # letters of a word that count; PostgreSQL refuses a lexeme of 2 KiB
_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")


def terms(text: str) -> tuple[str, ...]:
    """Give the terms of a text, in order, each once.

    A term has the characters ``a-z``, ``0-9`` and ``_`` only: any other letter is written as ``_`` and six hexadecimal digits, so
    that the beginning of a word is the beginning of its term.
    """
    return tuple(dict.fromkeys(map(_term, words(text))))


def _term(word: str) -> str:
    if word.isascii():
        return word[:_LONGEST]
    return "".join(letter if letter in _PLAIN else f"_{ord(letter):06x}" for letter in word[:_LONGEST])

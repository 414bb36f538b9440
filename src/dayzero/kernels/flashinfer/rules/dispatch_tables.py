"""Is there a compiled instance of FlashInfer's sparse MLA decode for this model's heads and selected tokens?"""

import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, Final

from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.rules import Subject
from dayzero.kernels.flashinfer.build import Dispatch, dispatches

_DEGREE = ("--tensor-parallel-size", "-tp", "--tp-size", "--tp")


class DispatchTables:
    """Implements ``audit.rules.Rule``."""

    id: str = "dispatch-table"
    question: str = "Does the compiled dispatch have an instance for the model's heads and selected tokens?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Look the model's numbers up in the instances that the sources make."""
        text = _text(subject.model)
        for entry in _known():
            capability = subject.capability or (0, 0)
            if str(text.get("model_type")) not in entry["model_types"] or capability[0] != entry["compute_capability"]:
                continue
            heads = text.get("num_attention_heads")
            tokens = [one for key in entry["topk"] if isinstance(one := text.get(key), int)]
            if not isinstance(heads, int) or not tokens:
                yield NotChecked(self.question, "the configuration does not tell its heads and selected tokens")
                continue
            for table in dispatches(subject.installed, (entry["file"],)):
                if table.name == entry["macro"]:
                    yield from self._missing(table, max(heads // _degree(subject), 1), tokens)

    def _missing(self, table: Dispatch, heads: int, tokens: list[int]) -> Iterator[Finding]:
        by_heads = all(len(one) == 1 for one in table.instances)
        for wanted in dict.fromkeys(tokens):
            if (heads, wanted) in table.instances or (by_heads and (heads,) in table.instances):
                continue
            message = f"{table.name} has no instance for {heads} heads and {wanted} selected tokens, among {len(table.instances)}"
            others = sorted(one[0] for one in table.instances if by_heads or one[1:] == (wanted,))
            advice = f"Use a tensor parallel degree that leaves a rank one of {others} heads." if others else ""
            advice = (
                advice or "Install a release of flashinfer-python that compiles it (0.6.18.post1 added 192 and 256)."
            )
            when = f"sparse MLA decode with {heads} heads on a rank and {wanted} selected tokens"
            yield Finding(self.id, Severity.PATH, message, None, table.place, advice, when, Applies.YES)


def _degree(subject: Subject) -> int:
    words = [part for word in subject.flags for part in word.replace("_", "-").split("=", 1)]
    for flag, value in pairwise(words):
        if flag in _DEGREE and value.isdecimal() and int(value):
            return int(value)
    return 1


def _text(model: Mapping[str, object] | None) -> Mapping[str, object]:
    inner = model.get("text_config") if model else None
    return inner if isinstance(inner, Mapping) else model or {}


@lru_cache(maxsize=1)
def _known() -> tuple[Mapping[str, Any], ...]:
    text = files("dayzero.kernels.flashinfer").joinpath("dispatches.toml").read_text(encoding="utf-8")
    return tuple(tomllib.loads(text)["dispatch"])


RULE: Final = DispatchTables()

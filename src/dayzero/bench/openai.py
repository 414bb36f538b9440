"""What the OpenAI API defines and every engine keeps to; what an engine does otherwise stands in its dialect."""

from collections.abc import Mapping

from dayzero.bench.model import Usage

_BEYOND = 2**53  # numbers of JSON are whole below it


def read_usage(chunk: Mapping[str, object]) -> Usage | None:
    """Read ``usage``, ``None`` where the chunk carries none; a cache that is not spoken of stays unknown."""
    counts = chunk.get("usage")
    if not isinstance(counts, Mapping):
        return None
    prompt, completion = _count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens"))
    if prompt is None or completion is None:
        return None
    details = counts.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=_count(cached),
    )


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < _BEYOND else None


def owners(models: Mapping[str, object]) -> tuple[str, ...]:
    """Give who owns each model that ``/v1/models`` lists; ``""`` where it does not say."""
    listed = models.get("data")
    if not isinstance(listed, list):
        return ()
    return tuple(str(model.get("owned_by", "")) if isinstance(model, Mapping) else "" for model in listed)

"""How llama.cpp's endpoint deviates from the OpenAI API (llama.cpp, tools/server/README.md, and asked of build 11549)."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from dayzero.bench.model import Usage
from dayzero.bench.openai import owners, read_usage

_OWNER = "llamacpp"
_METRIC_NAMES = MappingProxyType(
    {
        "requests_running": "llamacpp:requests_processing",
        "requests_waiting": "llamacpp:requests_deferred",
        "prompt_tokens": "llamacpp:prompt_tokens_total",
        "generated_tokens": "llamacpp:tokens_predicted_total",
    }
)


@dataclass(frozen=True, slots=True)
class LlamaCppDialect:
    """The dialect. ``prompt_tokens`` counts processed tokens only, without those reused from the cache."""

    @property
    def metric_names(self) -> Mapping[str, str]:
        """See :class:`dayzero.engines.endpoint.EndpointDialect`; the launcher sets ``endpoint_metrics``."""
        return _METRIC_NAMES

    def length_fields(self, output_tokens: int) -> Mapping[str, object]:
        """Ask for exactly this many tokens: the end-of-text token is not stopped at."""
        return {"max_tokens": output_tokens, "ignore_eos": True}

    def usage(self, chunk: Mapping[str, object]) -> Usage | None:
        """Read the counts from the last chunk, the only one that carries them (with ``stream_options.include_usage``)."""
        return read_usage(chunk)

    @property
    def tokens_without_text(self) -> bool:
        """Its only chunk without text is the last one, which ends the answer."""
        return False

    def recognises(self, models: Mapping[str, object]) -> bool:
        """Say whether every model that is listed is owned by this server."""
        return set(owners(models)) == {_OWNER}

    def fingerprint(self, models: Mapping[str, object], completion: Mapping[str, object]) -> str:
        """Say which server and which kind of weights answer; wheels of xllamacpp do not stamp the build number (``b0-unknown``)."""
        build = completion.get("system_fingerprint")
        entries = models.get("data")
        if not isinstance(build, str) or not build or not self.recognises(models) or not isinstance(entries, list):
            return ""
        meta = entries[0].get("meta")
        kind = meta.get("ftype") if isinstance(meta, Mapping) else None
        return f"llama.cpp {build}, {kind}" if isinstance(kind, str) and kind else f"llama.cpp {build}"


DIALECT: Final = LlamaCppDialect()

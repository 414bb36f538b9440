"""Ask a running server what it serves, and compare that with the launch in the kit. Asks that server and nobody else."""

import queue
import threading
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

from dayzero_verify.engine_words import EngineWords, Flag, agrees, engine_words, flags_of, number
from dayzero_verify.inputs import UnreadableError
from dayzero_verify.kit import Content
from dayzero_verify.report import ExitCode, Outcome, Row, Status
from dayzero_verify.strict_json import Json, StrictJsonError, loads

CHECK = "live"
_MODELS = "/v1/models"
_SILENCE_S = 10.0
_WHOLE_S = 30.0
_MAX_BYTES = 8 * 1024 * 1024
_CHUNK = 1 << 16


class _SilentError(Exception):
    """The server does not say it."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Lets a redirect stand as the answer that it is: nobody but the named server is asked."""

    def redirect_request(self, *_: Any, **__: Any) -> None:  # noqa: ANN401  (the library's own signature)
        """Follow nothing."""


@dataclass(slots=True)
class _Server:
    """A server at a base URL."""

    base: str
    api_key: str

    def get(self, path: str) -> dict[str, Json]:
        """Ask for a JSON object.

        Asked on a thread that is left alone when its time is over: a server can hold back a header, or a name its address, for as
        long as it likes, and no single wait is long.

        Raises:
            _SilentError: It cannot be reached, answers anything but 200, too much, too slowly, or no JSON object.
        """
        answers: queue.SimpleQueue[dict[str, Json] | Exception] = queue.SimpleQueue()

        def ask() -> None:
            try:
                answers.put(self._get(path))
            except Exception as error:  # noqa: BLE001  (raised again where it is waited for)
                answers.put(error)

        threading.Thread(target=ask, daemon=True).start()
        try:
            answer = answers.get(timeout=_WHOLE_S)
        except queue.Empty:
            raise _SilentError(f"{path} takes longer than {_WHOLE_S:.0f} s") from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _get(self, path: str) -> dict[str, Json]:
        headers = {"Accept": "application/json"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())
        request = urllib.request.Request(self.base + path, headers=headers)  # noqa: S310  (its scheme was checked)
        try:
            with opener.open(request, timeout=_SILENCE_S) as answer:
                document = loads(_body(answer))
        except urllib.error.HTTPError as error:
            with error:
                raise _SilentError(f"{path} answers {error.code}") from error
        except urllib.error.URLError as error:
            raise _SilentError(f"it cannot be reached: {error.reason!s:.200}") from error
        except StrictJsonError as error:
            raise _SilentError(f"{path} answers what is {error}") from error
        except (
            OSError,
            HTTPException,
            ValueError,
        ) as error:  # ValueError: a name or a header that cannot be written down
            raise _SilentError(f"{path} is not answered: {error!s:.200}") from error
        if not isinstance(document, dict):
            raise _SilentError(f"{path} answers no JSON object")
        return document


def _body(answer: Any) -> bytes:  # noqa: ANN401  (urllib's answers have no common type)
    content = bytearray()
    while chunk := answer.read1(_CHUNK):
        content += chunk
        if len(content) > _MAX_BYTES:
            raise OSError(f"more than {_MAX_BYTES} bytes")
    if answer.length:
        raise OSError(f"it ends {answer.length} bytes early")
    return bytes(content)


@dataclass(slots=True)
class _Comparison:
    """What was compared so far, and the flags that nothing was said about."""

    flags: dict[str, Flag]
    same: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    unsaid: list[str] = field(default_factory=list)

    def take(self, names: Sequence[str]) -> Flag | None:
        """Take the first flag of several spellings that the launch gives."""
        return next((self.flags.pop(name) for name in names if name in self.flags), None)

    def compare(self, what: str, asked: str, stated: str, *, same: bool) -> None:
        """Note one comparison."""
        if same:
            self.same.append(f"{what} {asked}")
        else:
            self.differing.append(f"{what}: the launch has {asked!a:.200}, the server says {stated!a:.200}")


def outcome(content: Content, url: str, *, api_key: str = "") -> Outcome:
    """Say whether a running server is the one that the kit launches, as far as it says so itself.

    Args:
        content: A verified kit.
        url: Base URL of the server, ``http`` or ``https``, without ``/v1``.
        api_key: Sent as a bearer token, to this server only; ``""`` for none.

    Raises:
        UnreadableError: The URL cannot be used.
    """
    base = _base(url)
    distribution, argv = content.launch.get("distribution"), content.launch.get("argv")
    if not isinstance(distribution, str) or not isinstance(argv, list):
        return _undecided("the kit has no launch.json that names an engine and its command")
    name, _, version = distribution.partition("==")
    words = engine_words(name)
    if words is None:
        return _undecided(f"what {name!a:.80} says about itself is not known")
    case = _Comparison({flag.name: flag for flag in flags_of([word for word in argv if isinstance(word, str)])})
    server = _Server(base, api_key)
    try:
        models = _entries(server.get(_MODELS))
        about = _about(case, server, words)
    except _SilentError as error:
        return _undecided(f"{base}: {error}")
    _compare_models(case, words, models, content.launch)
    _compare_version(case, words, about, version)
    if words.arguments:
        _compare_arguments(case, words, about)
    elif words.slots_flags:
        _compare_slots(case, words, about)
    return _conclude(case, base)


def _base(url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.username is not None or parts.query or parts.fragment or not url.isprintable():
        raise UnreadableError(
            f"not the base URL of a server: {url!a:.200}", hint="give --live http://HOST:PORT, without a query"
        )
    return url.rstrip("/")


def _entries(document: dict[str, Json]) -> list[dict[str, Json]]:
    """Give the models that are served themselves, not the adapters on top of them."""
    listed = document.get("data")
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    models = [entry for entry in entries if not entry.get("parent") and isinstance(entry.get("id"), str)]
    if not models:
        raise _SilentError(f"{_MODELS} lists no model")
    return models


def _about(case: _Comparison, server: _Server, words: EngineWords) -> dict[str, Json]:
    """Ask the engine about itself, ``{}`` where it does not tell."""
    for path in words.version_paths:
        try:
            return server.get(path)
        except _SilentError as error:
            silence = str(error)
    case.unsaid.append(f"the engine's version ({silence})")
    return {}


def _compare_models(
    case: _Comparison, words: EngineWords, models: list[dict[str, Json]], launch: dict[str, Json]
) -> None:
    owners = sorted({str(entry.get("owned_by")) for entry in models})
    case.compare("engine", words.owner, ", ".join(owners), same=owners == [words.owner])
    named = case.take(words.name_flags)
    if named is not None and named.values:
        served = {str(entry["id"]) for entry in models}
        case.compare("name", " ".join(named.values), " ".join(sorted(served)), same=set(named.values) == served)
    asked = case.flags.get(words.context_flags[0])
    stated = models[0].get("max_model_len")
    if asked and asked.values and isinstance(stated, int) and (count := number(asked.values[0])) is not None:
        del case.flags[asked.name]
        case.compare(asked.name.lstrip("-"), asked.values[0], str(stated), same=count == stated)
    model, root = launch.get("model"), models[0].get("root")
    if isinstance(model, dict) and model.get("from") == "hub" and isinstance(root, str) and not words.arguments:
        repository = str(model.get("repository"))
        case.compare("repository", repository, root, same=repository == root)


def _compare_version(case: _Comparison, words: EngineWords, about: dict[str, Json], version: str) -> None:
    stated = about.get(words.version_member)
    if not about:
        return
    if not isinstance(stated, str) or not version:
        case.unsaid.append("the engine's version")
    elif words.slots_flags:
        _compare_build(case, stated, version)
    else:
        # A wheel that was built for one platform adds a label of its own; a launch that does not name one takes any.
        case.compare(
            "version",
            version,
            stated,
            same=stated == version or ("+" not in version and stated.partition("+")[0] == version),
        )


def _compare_build(case: _Comparison, stated: str, version: str) -> None:
    """Compare llama.cpp's build number, ``b11549-...``; a wheel that was not stamped says ``b0``."""
    build, given = stated.partition("-")[0].removeprefix("b"), version.rpartition(".")[2].removeprefix("b")
    if not build.isdigit() or int(build) == 0 or not given.isdigit():
        case.unsaid.append(f"the engine's version (its build says {stated!a:.80})")
    else:
        case.compare("build", given, build, same=int(build) == int(given))


def _compare_slots(case: _Comparison, words: EngineWords, about: dict[str, Json]) -> None:
    """Compare llama.cpp's slots, and the context of one of them: its part of the whole, or all of it where it is unified."""
    slots, total = case.take(words.slots_flags), about.get("total_slots")
    unified, context = case.take(words.unified_flags), case.take(words.context_flags)
    settings = about.get("default_generation_settings")
    stated = settings.get("n_ctx") if isinstance(settings, dict) else None
    count = number(slots.values[0]) if slots and slots.values else 1
    if slots and isinstance(total, int):
        case.compare("slots", str(count), str(total), same=count == total)
    elif slots:
        case.unsaid.append(str(slots))
    whole = number(context.values[0]) if context and context.values else None
    if whole and count and isinstance(stated, int):
        shared = unified is not None and unified.values[:1] in {(), ("true",)}
        of_one = whole if shared else whole // count
        case.compare("context of a slot", str(of_one), str(stated), same=of_one == stated)
    elif context:
        case.unsaid.append(str(context))


def _compare_arguments(case: _Comparison, words: EngineWords, about: dict[str, Json]) -> None:
    for flag in list(case.flags.values()):
        name = words.fields.get(flag.name, flag.name.lstrip("-").replace("-", "_"))
        if name not in about or flag.secret:
            continue
        same = agrees(flag.values, about[name], words.synonyms)
        if same is None:
            continue
        del case.flags[flag.name]
        if same:
            case.same.append(str(flag))
        elif name in words.rewritten:
            case.unsaid.append(f"{flag} (the server says {about[name]!a:.80}: {words.rewritten[name]})")
        else:
            case.compare(flag.name, " ".join(flag.values), str(about[name]), same=False)


def _conclude(case: _Comparison, base: str) -> Outcome:
    if case.differing:
        return Outcome(Row(CHECK, Status.FAIL, f"{base}: {'; '.join(case.differing)}"), ExitCode.DEPLOY_DRIFT)
    unsaid = case.unsaid + [str(flag) for flag in case.flags.values()]
    said = f"{base} says what the launch has: {'; '.join(case.same)}"
    silent = f"; not compared, because it does not say: {'; '.join(unsaid)}" if unsaid else ""
    return Outcome(Row(CHECK, Status.PASS, said + silent), ExitCode.VERIFIED)


def _undecided(reason: str) -> Outcome:
    return Outcome(Row(CHECK, Status.NOT_CHECKED, reason), ExitCode.UNREADABLE)

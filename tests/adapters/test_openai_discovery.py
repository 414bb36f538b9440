"""What is found out about a server before anything is measured."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pytest
from tests.simulators.openai_server import Behaviour, serving_in_thread
from tests.simulators.raw_server import ANSWER, Act, Step, raw_server

from dayzero.adapters import openai_discovery
from dayzero.adapters.measuring.ask import reachable
from dayzero.adapters.measuring.server import servers_of
from dayzero.adapters.openai_discovery import NO_WORK, Discovered, discover
from dayzero.adapters.openai_http import Connection, GenericDialect, Wording
from dayzero.bench.model import TokenPool, Usage, WordPool
from dayzero.bench.openai import owners
from dayzero.core.errors import DayzeroError, InputError, RemoteError

PLAIN = Behaviour(ttft_s=0.001, itl_s=0.0)


@dataclass(frozen=True)
class Known:
    """The dialect of an engine that owns its models as ``acme``."""

    tokens_without_text = False

    def length_fields(self, output_tokens: int) -> Mapping[str, object]:
        return {"max_tokens": output_tokens, "ignore_eos": True}

    def usage(self, chunk: Mapping[str, object]) -> Usage | None:
        return GenericDialect().usage(chunk)

    def recognises(self, models: Mapping[str, object]) -> bool:
        return set(owners(models)) == {"acme"}


def look_at(url: str, *, model: str = "", work: Iterator[object] = NO_WORK) -> Discovered:
    server = reachable(servers_of(Connection(url=url)))
    return discover(server, Wording(server.address, ""), model=model, candidates=(("acme", Known()),), work=work)


def look(behaviour: Behaviour, *, model: str = "", work: Iterator[object] = NO_WORK) -> tuple[Discovered, int]:
    with serving_in_thread(behaviour) as server:
        return look_at(server.url, model=model, work=work), len(server.seen)


@pytest.mark.parametrize("form", ["content", "prompt"])
def test_token_ids_are_drawn_from_plain_text_that_the_server_tokenized_itself(form: str):
    found, probes = look(replace(PLAIN, tokenize=form))  # type: ignore[arg-type]
    assert found.how.route == "/v1/completions"
    assert isinstance(found.pool, TokenPool)
    assert found.pool.overhead == 0
    assert len(set(found.pool.ids)) == len(found.pool.ids) > 300
    assert min(found.pool.ids) >= 100
    assert probes == 1


def test_the_engine_that_recognises_the_model_list_gives_the_dialect():
    found, _ = look(replace(PLAIN, owned_by="acme"))
    assert found.engine == "acme"
    assert found.how.dialect == Known()
    assert found.notes == ()


def test_an_unknown_engine_gets_the_generic_dialect_and_says_what_that_means():
    found, _ = look(PLAIN)
    assert found.engine == ""
    assert isinstance(found.how.dialect, GenericDialect)
    assert found.notes == ("no known engine was recognised: the model may end before the asked number of tokens",)


def test_a_token_that_the_server_adds_to_ids_is_counted_in():
    found, _ = look(replace(PLAIN, prompt_offset=1))
    assert isinstance(found.pool, TokenPool)
    assert found.pool.overhead == 1
    assert "the server adds 1 tokens to every prompt; they are counted in" in found.notes


@pytest.mark.parametrize(
    "behaviour",
    [replace(PLAIN, takes_ids=False), replace(PLAIN, tokenize="none"), replace(PLAIN, prompt_offset=-2)],
)
def test_without_exact_token_ids_prompts_are_text(behaviour: Behaviour):
    found, _ = look(behaviour)
    assert found.how.route == "/v1/completions"
    assert isinstance(found.pool, WordPool)
    assert "the server takes no token ids: prompts are sent as text" in found.notes


def test_without_completions_prompts_are_chat_and_the_template_is_counted_in():
    found, _ = look(replace(PLAIN, completions=False, prompt_offset=17, tokens_per_word=2))
    assert found.how.route == "/v1/chat/completions"
    assert isinstance(found.pool, WordPool)
    assert (found.pool.overhead, found.pool.tokens_per_word) == (17, 2)


def test_without_usage_the_length_is_said_not_to_be_verified():
    for behaviour in (replace(PLAIN, usage="none"), replace(PLAIN, usage="none", takes_ids=False)):
        assert any("not verified" in note for note in look(behaviour)[0].notes)


def test_a_server_that_closes_after_each_answer_is_noticed():
    found, _ = look(replace(PLAIN, closes=True))
    assert not found.how.keeps_connection
    assert any("closes the connection after each answer" in note for note in found.notes)
    assert look(PLAIN)[0].how.keeps_connection


def test_a_named_model_is_used():
    found, _ = look(replace(PLAIN, models=("a", "b")), model="b")
    assert found.how.model == "b"


@pytest.mark.parametrize(
    ("behaviour", "model", "family", "message", "hint"),
    [
        (replace(PLAIN, models=("a", "b")), "", InputError, "2 models are served there: a, b", "--model"),
        (replace(PLAIN, models=("a", "b")), "c", InputError, "no model 'c' is served there", "a, b"),
        (replace(PLAIN, models=()), "", RemoteError, "lists no model", "--model"),
        (replace(PLAIN, status=401), "", RemoteError, r"refuses access \(401\)", "--api-key-env"),
        (replace(PLAIN, status=500), "", RemoteError, "http 500: refused with 500", "log"),
        (replace(PLAIN, dies_after=0), "", RemoteError, "did not answer a probe", "runs"),
    ],
)
def test_what_stops_a_measurement_is_said_with_a_way_out(
    behaviour: Behaviour, model: str, family: type[DayzeroError], message: str, hint: str
):
    with pytest.raises(family, match=message) as caught:
        look(behaviour, model=model)
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("url", "family", "message"),
    [
        ("127.0.0.1:1", InputError, "not an address"),
        ("ftp://127.0.0.1:1", InputError, "not an address"),
        ("http://127.0.0.1:99999", InputError, "not an address"),
        ("http://127.0.0.1:1", RemoteError, "cannot be reached"),
    ],
)
def test_an_address_that_leads_nowhere_is_named(url: str, family: type[DayzeroError], message: str):
    with pytest.raises(family, match=message):
        look_at(url)


def documents(*bodies: bytes) -> Callable[[int], Sequence[Step]]:
    """Answer the first questions with documents, and everything after them with a stream."""

    def steps(number: int) -> Sequence[Step]:
        if number >= len(bodies):
            return [ANSWER]
        return [b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(bodies[number]), bodies[number], Act.CLOSE]

    return steps


MODELS = b'{"data":[{"id":"m"}]}'


@pytest.mark.parametrize(
    "tokens",
    [
        pytest.param(b"[" * 100_000, id="nested without end"),
        pytest.param(b'{"tokens":%s}' % str([-number for number in range(400)]).encode(), id="below zero"),
        pytest.param(
            b'{"tokens":%s}' % str([10**30 + number for number in range(400)]).encode(), id="beyond any integer"
        ),
        pytest.param(b'{"tokens":%s}' % str([2**31 + number for number in range(400)]).encode(), id="beyond 32 bits"),
        pytest.param(b'{"tokens":[true,false]}', id="no numbers"),
    ],
)
def test_token_ids_that_can_be_none_are_not_sent(tokens: bytes):
    with raw_server(documents(MODELS, tokens, tokens)) as server:
        found = look_at(server.url)
    assert isinstance(found.pool, WordPool)
    assert not any(b'"prompt":[' in request for request in server.requests)


@pytest.mark.parametrize(
    ("listing", "message"),
    [
        (b"[" * 100_000, "did not answer JSON"),
        (b'"' + b"x" * 17_000_000, "larger than 16 MiB"),
        (b'{"data":{"id":"m"}}', "lists no model"),
        (b'{"data":[{"id":7},{"id":null}]}', "lists no model"),
    ],
)
def test_a_list_of_models_that_is_none_is_refused(listing: bytes, message: str):
    with raw_server(documents(listing)) as server, pytest.raises(RemoteError, match=message):
        look_at(server.url)


def test_what_a_list_of_models_holds_besides_does_not_matter():
    with raw_server(documents(b'{"data":[{"id":"m","aliases":5},{"id":7},"x"]}')) as server:
        assert look_at(server.url, model="m").how.model == "m"


def test_only_a_few_of_many_models_are_named():
    many = ", ".join(f'{{"id":"m{number}"}}' for number in range(3_000))
    with raw_server(documents(f'{{"data":[{many}]}}'.encode())) as server, pytest.raises(InputError) as caught:
        look_at(server.url)
    assert caught.value.message == "3000 models are served there: m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, ..."


@pytest.mark.parametrize("steps", [1, 40])
def test_what_else_there_is_to_do_is_done_while_the_server_is_waited_for(steps: int):
    answers_begun = list[int]()
    with serving_in_thread(replace(PLAIN, ttft_s=0.3)) as server:

        def work() -> Iterator[None]:
            for _ in range(steps):
                answers_begun.append(sum(bool(seen.written_ns) for seen in server.seen))
                yield

        found = look_at(server.url, work=work())
    assert found.how.keeps_connection
    assert len(answers_begun) == steps
    assert answers_begun[0] == 0


def test_a_probe_that_is_refused_at_once_does_not_wait_for_the_work(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(openai_discovery, "_SENT_NS", 60 * 10**9)
    work = iter(("a step",))
    with pytest.raises(RemoteError):
        look(replace(PLAIN, status=500), work=work)
    assert list(work) == ["a step"]


def test_a_connection_that_closes_during_a_long_step_of_the_work_is_noticed():
    def work() -> Iterator[None]:
        time.sleep(0.3)
        yield

    found, _ = look(replace(PLAIN, closes=True), work=work())
    assert not found.how.keeps_connection

"""Find out what an endpoint's log-probabilities mean before any of them is compared."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from dayzero.gates.exchange import Asked, Listed, Prompt, Question, Reading, Side, UnreadableError, document
from dayzero.gates.openai_logprobs import DIALECT as ANY_ENGINE
from dayzero.gates.ports import Endpoints, LogprobDialect

Scoring: TypeAlias = Literal["prompt", "prefix", "none"]
"""How the candidates at a prompt's own positions are had: in one request, in one request a prefix, not at all."""

Meaning: TypeAlias = Literal["raw", "processed", "unclear"]
"""Of log-probabilities: the model's own, those after the temperature, or too flat to tell."""

FEWEST_CANDIDATES: Final = 2

_TEXT: Final = "The ferry leaves the north pier at a quarter past six, and the old bridge is closed until the"
_GENERATED: Final = 4
_SMALLER_K: Final = 5  # what the OpenAI API grants on its completions route
_COMPARED: Final = 5
_FORMS: Final = 2
_CERTAIN_NAT: Final = 1e-4
_SPREAD_NAT: Final = 0.5
_SCALED: Final = 0.75  # temperature 2 halves the spread of processed log-probabilities and leaves that of raw ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is known of an endpoint before the first capture.

    Attributes:
        side: Which one.
        url: Its address.
        model: The model that is asked for.
        engine: Its name, ``""`` where none was recognised.
        build: What it says of itself in ``system_fingerprint``.
        dialect: How it is asked.
        takes_ids: Whether prompts are sent as token ids.
        names_ids: Whether candidates come by token id; else by their bytes.
        k: Candidates that come back, at least.
        scoring: How a prompt's own positions are had.
        meaning: What its log-probabilities mean at a temperature above 0; at 0, where all is captured, they are the model's own.
        tokenizer: Its ``/tokenize``, ``None`` where it has none.
    """

    side: Side
    url: str
    model: str
    engine: str
    build: str
    dialect: LogprobDialect
    takes_ids: bool
    names_ids: bool
    k: int
    scoring: Scoring
    meaning: Meaning
    tokenizer: "Tokenizer | None"


def look_at(endpoints: Endpoints, side: Side, candidates: Sequence[tuple[str, LogprobDialect]], *, k: int) -> Seen:
    """Ask an endpoint a few short questions.

    Args:
        endpoints: The endpoints.
        side: Which of them.
        candidates: Names and dialects of the known engines, in the order in which they are tried.
        k: Candidates wanted at each position.

    Raises:
        InputError: The model has to be named, or is not served.
        RemoteError: The endpoint cannot be reached, or gives no log-probabilities that can be compared.
    """
    listed = endpoints.listed(side)
    known = ((name, dialect) for name, dialect in candidates if dialect.recognises(listed.models))
    engine, dialect = next(known, ("", ANY_ENGINE))
    tokenizer, ids = _tokenizer(endpoints, listed, side)
    talk = _Talk(endpoints, side, listed.model, dialect)
    prompt, wanted = talk.first(ids, k)
    readings = talk.generated
    returned = min(len(one.candidates) for one in readings)
    if returned < FEWEST_CANDIDATES:
        raise UnreadableError(f"asked for {k} candidates a position, it gives {returned}")
    return Seen(
        side=side,
        url=listed.url,
        model=listed.model,
        engine=engine,
        build=talk.build,
        dialect=dialect,
        takes_ids=isinstance(prompt, tuple),
        names_ids=all(one.chosen.startswith("id:") for one in readings),
        k=min(returned, wanted),
        scoring=talk.scoring(prompt, wanted),
        meaning=talk.meaning(prompt, wanted),
        tokenizer=tokenizer,
    )


class _Talk:
    """The questions to one endpoint.

    Attributes:
        generated: The first positions that could be read.
        build: What the server says of itself.
    """

    def __init__(self, endpoints: Endpoints, side: Side, model: str, dialect: LogprobDialect) -> None:
        self.generated: tuple[Reading, ...] = ()
        self.build = ""
        self._endpoints, self._side, self._model, self._dialect = endpoints, side, model, dialect
        self._asked = 0

    def first(self, ids: tuple[int, ...], k: int) -> tuple[Prompt, int]:
        """Find a form of prompt, and a number of candidates, that it answers with log-probabilities."""
        prompts: tuple[Prompt, ...] = (ids, _TEXT) if ids else (_TEXT,)
        failure: UnreadableError | None = None
        for prompt in prompts:
            for wanted in dict.fromkeys((k, min(k, _SMALLER_K))):
                try:
                    self.generated = self._generate(prompt, wanted, tokens=_GENERATED)
                except UnreadableError as error:
                    failure = failure or error
                else:
                    return prompt, wanted
        raise failure or UnreadableError("it answers no probe")

    def meaning(self, prompt: Prompt, k: int) -> Meaning:
        """Compare the same position at three temperatures.

        Raises:
            UnreadableError: At temperature 0 it does not give the model's own.
        """
        plain, warm = (self._generate(prompt, k, tokens=1, temperature=each)[0] for each in (1, 2))
        if _certain(self.generated[0]) and not _certain(plain):
            raise UnreadableError(
                "at temperature 0 its log-probabilities are those after sampling: one token has them all"
            )
        spread = _spread(plain, plain)
        if spread < _SPREAD_NAT:
            return "unclear"
        return "processed" if _spread(plain, warm) < _SCALED * spread else "raw"

    def scoring(self, prompt: Prompt, k: int) -> Scoring:
        """Find out how a prompt's own positions can be had."""
        otherwise: Scoring = "prefix" if isinstance(prompt, tuple) else "none"
        question = self._dialect.score(self._words(prompt, k, tokens=1, temperature=0))
        if question is None:
            return otherwise
        try:
            readings = self._dialect.scored(document(self._endpoints.ask(self._side, question)))
        except UnreadableError:
            return otherwise
        if isinstance(prompt, str):
            return "prompt" if readings else "none"
        return "prompt" if len(readings) == len(prompt) - 1 else otherwise

    def _generate(self, prompt: Prompt, k: int, *, tokens: int, temperature: float = 0) -> tuple[Reading, ...]:
        question = self._dialect.generate(self._words(prompt, k, tokens=tokens, temperature=temperature))
        answer = document(self._endpoints.ask(self._side, question))
        stated = answer.get("system_fingerprint")
        self.build = stated if isinstance(stated, str) else ""
        readings = self._dialect.generated(answer)
        if not readings:
            raise UnreadableError("the answer carries no positions")
        return readings

    def _words(self, prompt: Prompt, k: int, *, tokens: int, temperature: float) -> Asked:
        self._asked += 1
        salt = f"probe-{self._asked}"
        return Asked(model=self._model, prompt=prompt, tokens=tokens, k=k, salt=salt, temperature=temperature)


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """An endpoint's ``/tokenize``, in the form that it answers.

    Attributes:
        endpoints: The endpoints.
        side: Which of them.
        model: The model.
        form: llama.cpp's (0), or vLLM's and SGLang's (1).
    """

    endpoints: Endpoints
    side: Side
    model: str
    form: int

    def ids(self, text: str, *, special: bool = False) -> tuple[int, ...]:
        """Ask for a text's token ids, with or without the special tokens that the model expects around it.

        Raises:
            RemoteError: It gives none.
        """
        if self.form == 0:
            question = Question("/tokenize", {"content": text, "add_special": special})
        else:
            question = Question("/tokenize", {"model": self.model, "prompt": text, "add_special_tokens": special})
        tokens = document(self.endpoints.ask(self.side, question)).get("tokens")
        if isinstance(tokens, list) and tokens and all(type(token) is int and token >= 0 for token in tokens):
            return tuple(tokens)
        raise UnreadableError("its /tokenize gives no token ids")


def _tokenizer(endpoints: Endpoints, listed: Listed, side: Side) -> tuple[Tokenizer | None, tuple[int, ...]]:
    """Find the form that is answered, and what the probe's text is in it."""
    for form in range(_FORMS):
        tokenizer = Tokenizer(endpoints, side, listed.model, form)
        try:
            return tokenizer, tokenizer.ids(_TEXT)
        except UnreadableError:
            continue
    return None, ()


def _certain(one: Reading) -> bool:
    return one.candidates[0].logprob > -_CERTAIN_NAT


def _spread(one: Reading, seen: Reading) -> float:
    """Say how far the first and the last of one reading's first candidates are apart in a second reading."""
    values = {each.token: each.logprob for each in seen.candidates}
    found = [values[each.token] for each in one.candidates[:_COMPARED] if each.token in values]
    return found[0] - found[-1] if found else 0.0

"""A buyer's browser without a window: it keeps cookies, reads forms and sends them."""

import asyncio
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import html5lib
import httpx
from starlette.types import ASGIApp
from tests.market.stall import ORIGIN, PASSWORD

SAID = {"entity": "Acme GmbH", "signer": "Ada Byron", "authority": "managing director"}


@dataclass
class Form:
    """A form as it stands on a page."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    boxes: dict[str, str] = field(default_factory=dict)


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(given.get("action", "")))
        elif tag == "input" and self.forms and "name" in given:
            kind, form = given.get("type", "text"), self.forms[-1]
            if kind == "checkbox":
                form.boxes[given["name"]] = given["value"]
            elif kind != "radio" or "checked" in given:
                form.fields[given["name"]] = given.get("value", "")


class Buyer:
    """One browser on the market.

    Args:
        app: The application.
        address: Where it asks from.
    """

    def __init__(self, app: ASGIApp, address: str = "192.0.2.1") -> None:
        self._runner = asyncio.Runner()
        transport = httpx.ASGITransport(app, client=(address, 40000))
        self.client = httpx.AsyncClient(transport=transport, base_url=ORIGIN, headers={"Sec-Fetch-Site": "same-origin"})
        self.at = ORIGIN
        self.page = ""
        self.name = ""

    def close(self) -> None:
        self._runner.run(self.client.aclose())
        self._runner.close()

    def ask(self, method: str, path: str, **more: object) -> httpx.Response:
        answer: httpx.Response = self._runner.run(self.client.request(method, path, **more))  # type: ignore[arg-type]
        return answer

    def get(self, path: str, *, follow: bool = True) -> httpx.Response:
        return self._shown(self.ask("GET", path), follow=follow)

    def forms(self) -> list[Form]:
        parser = _Forms()
        parser.feed(self.page)
        return parser.forms

    def form(self, ending: str) -> Form:
        return next(form for form in self.forms() if form.action.endswith(ending))

    def send(self, form: Form, *, follow: bool = True, headers: dict[str, str] | None = None, **values: str):
        data = {**form.fields, **values}
        sent = {"Origin": ORIGIN, **(headers or {})}
        return self._shown(self.ask("POST", urljoin(self.at, form.action), data=data, headers=sent), follow=follow)

    def post(self, path: str, ending: str, **values: str) -> httpx.Response:
        self.get(path)
        return self.send(self.form(ending), **values)

    def sign_up(self, password: str = PASSWORD) -> str:
        answer = self.post("/account/sign-up", "sign-up", password=password, again=password)
        assert answer.status_code == 200, answer.text
        found = re.search(r'class="secret">([^<]+)<', answer.text)
        assert found is not None
        self.name = found[1]
        return self.name

    def sign_in(self, name: str, password: str = PASSWORD, **more: str) -> httpx.Response:
        return self.post("/account/sign-in", "sign-in", name=name, password=password, **more)

    def to_confirm(self, tier: str, **changed: str) -> httpx.Response:
        """Open a price, fill the licence in with every affirmation, and look it over."""
        self.get(f"/market/prices/{tier}")
        form = self.form("check")
        said = {name: value for name, value in SAID.items() if name in form.fields}
        return self.send(form, **{**form.boxes, **said, **changed})

    def buy(self, tier: str, **changed: str) -> httpx.Response:
        self.to_confirm(tier, **changed)
        return self.send(self.form("order"))

    def token(self, scope: str = "") -> str:
        answer = self.post("/account/", "account/tokens", label="ci", scope=scope)
        found = re.search(r'class="secret">([^<]+)<', answer.text)
        assert found is not None, answer.text
        return found[1]

    def _shown(self, answer: httpx.Response, *, follow: bool) -> httpx.Response:
        self.at, self.page = str(answer.url), answer.text if "html" in answer.headers.get("content-type", "") else ""
        if self.page:
            html5lib.HTMLParser(strict=True).parse(self.page)
        if follow and answer.is_redirect:
            where = urljoin(self.at, answer.headers["location"])
            assert urlsplit(where).netloc == urlsplit(ORIGIN).netloc
            return self.get(where)
        return answer

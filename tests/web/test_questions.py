"""What only a live catalog answers: find, compare, does my system fit?"""

import pytest
from tests.web.client import Client

from dayzero.catalog.facets import Filter
from dayzero.core.quantities import Bytes
from dayzero.web.query import GIB, ListQuery, address_of

RELEASED, OTHER = "qwen3-32b-1xh200-00000", "qwen3-8b-1xh200-00001"


def names(client: Client, query: str) -> list[str]:
    answer = client.get(f"/api/v1/packages?{query}")
    assert answer.status_code == 200, answer.text
    return [package["name"] for package in answer.json()["packages"]]


def test_packages_are_found_by_each_facet_words_and_memory(client: Client):
    assert names(client, "") == ["demo-kimi-k3-tiny", "demo-smollm2", RELEASED, OTHER]
    assert names(client, "gpu=h200") == [RELEASED, OTHER]
    assert names(client, "gpu=cpu&gpu=h200&engine=llamacpp") == ["demo-kimi-k3-tiny", "demo-smollm2"]
    assert names(client, "model=Qwen3-32B") == [RELEASED]
    assert names(client, "status=measured") == [RELEASED, OTHER]
    assert names(client, "min_memory_gib=100") == [RELEASED, OTHER]
    assert names(client, "max_memory_gib=100") == ["demo-kimi-k3-tiny", "demo-smollm2"]
    assert names(client, "q=smol") == ["demo-smollm2"]
    assert names(client, "fits=h200&q=qwen3") == [RELEASED, OTHER]


def test_an_answer_has_its_total_its_facets_and_the_address_of_the_next(client: Client):
    found = client.get("/api/v1/packages?engine=vllm&limit=1").json()
    assert (found["total"], found["offset"], found["limit"]) == (2, 0, 1)
    assert found["facets"]["engine"] == {"llamacpp": 2, "vllm": 2}
    assert found["facets"]["model"] == {"Qwen3-32B": 1, "Qwen3-8B": 1}
    after = client.get(found["next"]).json()
    assert ([package["name"] for package in after["packages"]], after["next"]) == ([OTHER], None)


@pytest.mark.parametrize(
    "query",
    [
        "gpus=8x&nonsense=1",
        "limit=0",
        "limit=201",
        "limit=abc",
        "offset=-1",
        "offset=10000001",
        "min_memory_gib=-1",
        "min_memory_gib=nan",
        "max_memory_gib=inf",
        "max_memory_gib=1e300",
        "q=" + "a" * 201,
        "gpu=",
        "&".join(["gpu=a"] * 21),
        "gpu=" + "a" * 201,
    ],
)
def test_a_parameter_that_is_not_known_or_out_of_bounds_is_refused(client: Client, query: str):
    answer = client.get(f"/api/v1/packages?{query}")
    assert answer.status_code == 422
    assert set(answer.json()) == {"error", "hint"}


@pytest.mark.parametrize(
    "q",
    [
        "%00",
        "%22",
        "*",
        "name%3Akimi",
        "NEAR(a+b)",
        "%27%20OR%201%3D1%20--",
        "%F0%9F%98%80",
        "%ED%A0%80",
        "%FF",
        "AND",
        "a" * 200,
    ],
)
def test_whatever_is_typed_is_words_and_never_a_failure(client: Client, q: str):
    assert client.get(f"/api/v1/packages?q={q}").status_code == 200
    page = client.get(f"/find?q={q}")
    assert page.status_code == 200
    assert 'name="q"' in page.text


def test_the_form_as_a_browser_sends_it_leaves_out_what_was_not_filled_in(client: Client):
    whole = client.get("/find?q=&fits=&max_memory_gib=")
    assert whole.status_code == 200
    assert "4 packages" in whole.text
    assert "2 packages" in client.get("/find?q=&fits=h200&max_memory_gib=").text
    assert client.get("/find?q=&colour=red").status_code == 422
    assert client.get("/find?max_memory_gib=much").status_code == 422


def test_the_address_of_a_portion_asks_for_the_same():
    asked = ListQuery(gpu=["b200", "h 200"], q="ä &", min_memory_gib=1.5, limit=3)
    assert (
        address_of(asked, 6) == "/api/v1/packages?gpu=b200&gpu=h+200&min_memory_gib=1.5&q=%C3%A4+%26&limit=3&offset=6"
    )
    assert asked.filter() == Filter(gpu=("b200", "h 200"), q="ä &", min_memory=Bytes(3 * GIB // 2))


def test_a_system_is_answered_as_the_catalog_lists_it_and_sized_where_it_does_not(client: Client):
    place = f"/api/v1/packages/{RELEASED}/1.0.0"
    listed = {(fit["gpu"], fit["gpus"]): fit for fit in client.get(f"{place}.json").json()["fits"]}
    asked = client.get(f"{place}/fit?gpu=b200&count=8").json()
    assert {name: asked[name] for name in listed["b200", 8]} == listed["b200", 8]
    assert asked["schema"] == "dayzero/catalog-fit/v1"
    assert ("b200", 3) not in listed
    sized = client.get(f"{place}/fit?gpu=B200&count=3")
    assert sized.status_code == 200
    assert (sized.json()["gpu"], sized.json()["gpus"], sized.json()["system"]) == ("b200", 3, "3xb200")
    assert client.get(f"{place}/fit?gpu=b200&count=24").json()["nodes"] == 3
    page = client.get(f"/packages/{RELEASED}/1.0.0/fit?gpu=b200&count=8")
    assert page.status_code == 200
    assert asked["why"].partition(",")[0] in page.text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("gpu=b9000&count=8", "b9000"),
        ("gpu=b200&count=12", "whole machines of 8"),
        ("gpu=b200&count=0", "'count' cannot be used"),
        ("gpu=b200&count=1025", "'count' cannot be used"),
        ("count=8", "'gpu' cannot be used"),
        ("gpu=b200&tp=8", "no parameter 'tp'"),
        ("gpu=%00&count=1", "GPU"),
    ],
)
def test_a_system_that_is_none_is_answered_with_an_error_and_a_hint(client: Client, query: str, said: str):
    answer = client.get(f"/api/v1/packages/{RELEASED}/1.0.0/fit?{query}")
    assert answer.status_code == 422
    assert said in answer.json()["error"] + answer.json()["hint"]
    assert answer.json()["hint"]
    page = client.get(f"/packages/{RELEASED}/1.0.0/fit?{query}")
    assert page.status_code == 422
    assert page.headers["content-type"] == "text/html; charset=utf-8"


def test_any_two_versions_are_compared_and_one_that_is_not_there_is_named(client: Client):
    page = client.get(f"/compare?a={RELEASED}@1.0.0&b=demo-smollm2")
    assert page.status_code == 200
    assert "Side by side" in page.text
    assert client.get(f"/compare?a={RELEASED}").status_code == 422
    assert client.get(f"/compare?a={RELEASED}&b=demo-smol").status_code == 404
    assert "demo-smollm2" in client.get(f"/compare?a={RELEASED}&b=demo-smol").text
    assert client.get(f"/compare?a={RELEASED}@2&b=demo-smollm2").status_code == 404

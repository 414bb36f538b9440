"""The market's API holds to its own description, whatever is sent to it, with a token that may buy and without any."""

import json
from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.web.client import Client
from tests.web.market.test_buying import fund

from dayzero.adapters.http_server import serving

EXAMPLES = 10
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
ROOT = "/api/v1/market"
OPERATIONS = {
    ("GET", f"{ROOT}/account"),
    ("GET", f"{ROOT}/offers"),
    ("GET", f"{ROOT}/offers/{{name}}"),
    ("GET", f"{ROOT}/orders"),
    ("GET", f"{ROOT}/orders/{{order_id}}"),
    ("GET", f"{ROOT}/terms/{{terms_id}}"),
    ("POST", f"{ROOT}/downloads"),
    ("POST", f"{ROOT}/orders"),
    ("POST", f"{ROOT}/orders/{{order_id}}/payment"),
    ("POST", f"{ROOT}/payments/{{provider}}/events"),
}


@pytest.fixture
def address(app) -> Iterator[str]:
    with serving(app) as found:
        yield found


def test_the_description_names_what_the_market_does_beside_the_catalog(app):
    described = Client(app).get("/openapi.json").json()
    found = {
        (method.upper(), path)
        for path, methods in described["paths"].items()
        for method in methods
        if path.startswith(ROOT)
    }
    assert found == OPERATIONS
    assert "/api/v1/packages" in described["paths"]
    assert "HTTPValidationError" not in json.dumps(described)
    order = described["paths"][f"{ROOT}/orders"]["post"]
    assert order["security"] == [{"HTTPBearer": []}]
    assert [each["name"] for each in order["parameters"]] == ["Idempotency-Key"]
    assert set(order["responses"]["402"]["content"]) == {"application/problem+json"}


@pytest.mark.parametrize("shown", [True, False], ids=["token", "no-token"])
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_no_request_that_the_description_leads_to_fails(owner, address, buyer, prices, mode, shown):
    fund(owner, buyer)
    headers = {"Authorization": f"Bearer {buyer.token('buy')}"} if shown else {}
    schema = schemathesis.openapi.from_url(f"{address}openapi.json")
    for method, path in sorted(OPERATIONS):
        operation = schema[path][method]
        if mode is GenerationMode.NEGATIVE and "{" not in path and method == "GET":
            continue  # nothing about it can be wrong

        @seed(20261130)
        @settings(
            max_examples=EXAMPLES,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            deadline=None,
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def holds(case: Case) -> None:
            case.call_and_validate(checks=CHECKS, headers=headers)

        holds()

"""The API holds to its own description: schemathesis makes requests from it, from a seed, and judges every answer."""

import json
import re
from collections.abc import Iterator

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.web.client import Client
from tests.web.test_pages import RELEASED

from dayzero.adapters.http_server import serving

EXAMPLES = 8
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
OPERATIONS = (
    "/api/v1/claims/{slug}.json",
    "/api/v1/packages",
    "/api/v1/packages.json",
    "/api/v1/packages/{name}.json",
    "/api/v1/packages/{name}/{version}.json",
    "/api/v1/packages/{name}/{version}/fit",
    "/api/v1/releases/{name}/{version}.json",
    "/evidence/raw/{sha256}",
    "/feeds/releases.atom",
    "/feeds/retractions.atom",
    "/healthz",
    "/packages/{name}/{version}/package.toml",
)

CAN_BE_WRONG = ("/api/v1/packages", "/api/v1/packages/{name}/{version}/fit", "/evidence/raw/{sha256}")
"""Where a parameter has a form that it can miss."""


@pytest.fixture(scope="module")
def address(client: Client) -> Iterator[str]:
    with serving(client.app) as found:
        yield found


def test_the_description_names_every_operation_of_the_api(client: Client):
    described = client.get("/openapi.json").json()
    assert tuple(described["paths"]) == OPERATIONS
    for path in described["paths"].values():
        assert set(path) == {"get"}
        assert {"200", "304", "503"} <= set(path["get"]["responses"])
    assert "HTTPValidationError" not in json.dumps(described)


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        *((path, GenerationMode.POSITIVE) for path in OPERATIONS),
        *((path, GenerationMode.NEGATIVE) for path in CAN_BE_WRONG),
    ],
)
def test_no_request_that_the_description_leads_to_fails_or_is_answered_otherwise(
    address: str, path: str, mode: GenerationMode
):
    schema = schemathesis.openapi.from_url(f"{address}openapi.json")
    operation = schema[path]["GET"]

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
        case.call_and_validate(checks=CHECKS)

    holds()


def described_by(template: str, path: str) -> bool:
    pattern = re.sub(r"\\\{(\w+)\\\}", lambda name: ".+" if name[1] == "slug" else "[^/]+", re.escape(template))
    return re.fullmatch(pattern, path.partition("?")[0]) is not None


@pytest.mark.parametrize(
    "path",
    [
        f"/api/v1/packages/{RELEASED}.json",
        f"/api/v1/packages/{RELEASED}/1.0.0.json",
        "/api/v1/packages/demo-smollm2/draft.json",
        f"/api/v1/packages/{RELEASED}/1.0.0/fit?gpu=b200&count=8",
        f"/api/v1/releases/{RELEASED}/1.0.0.json",
        f"/api/v1/claims/{RELEASED}/c1-output-tok-s.json",
        f"/api/v1/claims/{RELEASED}%2Fc1-output-tok-s.json",
        "/api/v1/packages?q=qwen3",
        "/api/v1/packages.json",
        "/healthz",
        f"/packages/{RELEASED}/1.0.0/package.toml",
    ],
)
def test_what_is_there_is_answered_as_it_is_described(address: str, path: str):
    schema = schemathesis.openapi.from_url(f"{address}openapi.json")
    template = next(known for known in OPERATIONS if described_by(known, path))
    case = schema[template]["GET"].Case()
    answer = requests.get(address + path[1:], timeout=30)
    assert answer.status_code == 200
    case.validate_response(answer, checks=[response_schema_conformance, content_type_conformance])

"""The API against its own description: schemathesis makes requests from /openapi.json and checks the answers."""

import json

import pytest
import schemathesis
from hypothesis import HealthCheck, settings

from conftest import ask, serving


@schemathesis.serializer("application/x-ndjson")
def ndjson(ctx, value):
    """A stream of whatever text was made up: a line is answered whatever it is."""
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


schema = schemathesis.pytest.from_fixture("api")


@pytest.fixture(scope="module")
def api(models):
    with serving(models["news"], models["tree"], "--max-body", "1M") as address:
        yield schemathesis.openapi.from_url(f"{address}/openapi.json")


@schema.parametrize()
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
def test_the_server_does_what_it_says(case):
    case.call_and_validate(headers={"Host": "localhost"})


def test_the_description_names_every_route(server):
    document = ask(f"{server}/openapi.json")
    assert document["openapi"].startswith("3.1")
    assert set(document["paths"]) == {
        "/v1/classify", "/v1/explain", "/v1/labels", "/v1/label", "/v1/features", "/v1/taxonomy", "/v1/models",
        "/v1/model", "/v1/server", "/healthz", "/readyz", "/metrics",
    }

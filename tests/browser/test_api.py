"""The API against its own description: schemathesis makes requests from /openapi.json and checks the answers."""

import json

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode

from conftest import ask, serving


@schemathesis.serializer("application/x-ndjson")
def ndjson(ctx, value):
    """A stream of whatever text was made up: a line is answered whatever it is."""
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


@pytest.fixture(scope="module")
def api(models):
    with serving(models["news"], models["tree"], "--max-body", "1M") as address:
        yield schemathesis.openapi.from_url(f"{address}/openapi.json")


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["right", "wrong"])
def test_the_server_does_what_it_says(api, mode):
    """Requests that follow the description, and requests that do not."""
    bounds = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    checked, wrong = 0, []
    for result in api.get_all_operations():
        operation = result.ok()

        @bounds
        @given(case=operation.as_strategy(generation_mode=mode))
        def check(case):
            # A stream is accepted whatever its lines are: what is wrong with a line is said in its answer.
            if mode == GenerationMode.NEGATIVE and case.media_type == "application/x-ndjson":
                return
            case.call_and_validate()

        try:
            check()
            checked += 1
        except Unsatisfiable:
            # Nothing can be wrong with a request without parameters.
            assert mode == GenerationMode.NEGATIVE, operation.path
        except Exception as error:  # all operations are looked at before the test fails
            wrong.append(f"{operation.method.upper()} {operation.path}: {error}")
    assert not wrong, "\n\n".join(wrong)
    assert checked >= (12 if mode == GenerationMode.POSITIVE else 7)


def test_the_description_names_every_route(server):
    document = ask(f"{server}/openapi.json")
    assert document["openapi"].startswith("3.1")
    assert set(document["paths"]) == {
        "/v1/classify", "/v1/explain", "/v1/labels", "/v1/label", "/v1/features", "/v1/taxonomy", "/v1/models",
        "/v1/model", "/v1/server", "/healthz", "/readyz", "/metrics",
    }

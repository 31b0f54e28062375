"""The description tells the truth: schemathesis makes requests from it and compares the answers. Endless streams apart."""

from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from onetape.server import app, openapi
from serving import TOKEN, Served, served

SCHEMA = schemathesis.openapi.from_dict(openapi.describe(app.ROUTES)).exclude(operation_id=sorted(openapi.STREAMS))


@schemathesis.serializer("application/x-tar")
def _as_it_is(_: schemathesis.SerializationContext, value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("root")) as running:
        yield running


@SCHEMA.parametrize()
@settings(max_examples=6, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck), deadline=None, derandomize=True)
def test_answers_are_as_described(server: Served, case: schemathesis.Case) -> None:
    # A schema cannot say which agents there are, nor which paths lead out: what it allows may still be refused.
    # And what it does not name (another query, another key) is ignored on purpose.
    unsaid = [positive_data_acceptance, negative_data_rejection]
    case.call_and_validate(base_url=server.url, headers={"Authorization": f"Bearer {TOKEN}"}, excluded_checks=unsaid)

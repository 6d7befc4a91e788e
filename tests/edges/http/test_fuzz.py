"""The OpenAPI document against the server: whatever the document allows is served, and nothing else is."""

from __future__ import annotations

import secrets
from datetime import datetime

import pytest
import schemathesis
from hypothesis import settings
from schemathesis.config import HealthCheck, SchemathesisConfig
from schemathesis.engine import events, from_schema

from foreword.edges.http.endpoints import build_openapi_document, list_endpoints
from foreword.edges.service.__main__ import build_application

pytestmark = pytest.mark.slow

PORT = 8765
FEW, MANY = settings().max_examples // 33, settings().max_examples // 20
"""How many examples of each operation are sent, right and wrong ones: in every run, and in the long runs."""

SEED = 20260115


def _status():
    return {"up": True}


def _metrics():
    return "foreword_up 1\n"


@pytest.fixture
def api_schema(engine, project):
    """The document, with the server behind it in this process."""
    token = secrets.token_urlsafe(32)
    config = SchemathesisConfig(seed=SEED, suppress_health_check=[HealthCheck.too_slow])
    schema = schemathesis.openapi.from_dict(
        build_openapi_document(list_endpoints(engine, PORT, _status, _metrics), PORT), config=config
    )
    schema.app = build_application(engine, token=token, port=PORT, status=_status, metrics=_metrics)
    schema.config.update(
        base_url=f"http://127.0.0.1:{PORT}",
        headers={"Authorization": f"Bearer {token}"},
        continue_on_failure=True,
    )
    schema.config.generation.update(database="none")
    schema.config.output.sanitization.update(enabled=False)
    # A text beyond its length may make the whole request too large, which is a refusal too.
    rejection = schema.config.checks.negative_data_rejection
    rejection.expected_statuses = [*rejection.expected_statuses, "413"]

    @schema.hook
    def filter_body(context, body):
        """Reversed dates are refused, and no schema can say so."""
        dates = [body.get(name) for name in ("date_from", "date_to")] if isinstance(body, dict) else []
        try:
            moments = [datetime.fromisoformat(one.upper()) for one in dates]
        except (ValueError, AttributeError):
            return True
        return moments == sorted(moments)

    return schema


@pytest.mark.parametrize(
    ("phases", "examples"),
    [
        (["examples", "fuzzing"], FEW),
        # Every edge of every schema, which are always the same.
        pytest.param(["examples", "coverage", "fuzzing", "stateful"], MANY, marks=pytest.mark.soak),
    ],
    ids=["some", "every edge"],
)
def test_the_document_is_the_truth_whatever_is_sent(api_schema, phases, examples):
    api_schema.config.generation.update(max_examples=examples)
    api_schema.config.phases.update(phases=phases)
    failures, sent = [], 0
    for event in from_schema(api_schema).execute():
        if isinstance(event, events.ScenarioFinished):
            sent += len(event.recorder.interactions)
            failures += list(_failures(event.recorder))
        assert not isinstance(event, events.NonFatalError | events.FatalError), event
    assert not failures, "\n\n".join(failures[:5])
    assert sent > 50, "hardly anything was sent; is the document empty?"


def _failures(recorder):
    for case_id, checks in recorder.checks.items():
        for check in checks:
            if check.failure_info is not None:
                response = recorder.interactions[case_id].response
                answer = response and (response.status_code, response.content[:1000])
                failure = check.failure_info
                yield f"{recorder.label}: {failure.failure}\n{failure.code_sample}\n{answer}"


def test_every_answer_that_the_document_promises_is_described_by_a_schema(api_schema):
    for path, operations in api_schema.raw_schema["paths"].items():
        for method, operation in operations.items():
            assert operation["responses"]["200"]["content"], (method, path)
            assert operation["summary"].endswith("."), (method, path)
            if path != "/health":
                assert "401" in operation["responses"], (method, path)

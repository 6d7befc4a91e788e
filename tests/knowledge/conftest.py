from __future__ import annotations

import pytest

from foreword.engine.embedder import Embedder
from foreword.knowledge import axes
from foreword.knowledge.experience import Lesson, RootCause
from foreword.knowledge.experiences import Experiences

BEGUN = {
    "domain": "debugging",
    "strategy": "root-cause-analysis",
    "goal": "Fix the double charge at checkout.",
    "hypothesis": "The retry sends the payment again without an idempotency key.",
    "action": "Send the order id as the key.",
    "prediction": "test_retry charges once.",
}


@pytest.fixture
def experiences(engine):
    return Experiences(engine)


@pytest.fixture
def begin(experiences):
    """Start an experience in `shop`; what is given replaces what it usually says."""

    def start(**given):
        return experiences.start("shop", **{**BEGUN, **given})

    return start


@pytest.fixture
def live_experience(experiences, begin, clock):
    """Start an experience and resolve it at once, a minute later than the last."""

    def live(status="confirmed", result="It charged once.", **given):
        clock.advance(minutes=1)
        told = {name: given.pop(name) for name in ("surprise", "root_cause", "lesson") if name in given}
        if status == "falsified":
            told.setdefault("surprise", "The gateway had retried by itself.")
            told.setdefault("root_cause", RootCause("wrong-assumption", "The gateway retries too."))
        if isinstance(told.get("root_cause"), tuple):
            told["root_cause"] = RootCause(*told["root_cause"])
        if isinstance(told.get("lesson"), str):
            told["lesson"] = Lesson(told["lesson"])
        return experiences.resolve("shop", begin(**given).id, status, result, **told)

    return live


@pytest.fixture
def embed(engine):
    """Make every vector that `shop` lacks, those of the axes too."""
    return lambda: Embedder(engine.store, engine.kit.encoder, axes.VIEWS).embed_missing("shop")

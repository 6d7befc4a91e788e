from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch):
    """A source is waited for however long it takes on a busy machine."""
    monkeypatch.setattr("foreword.recipes.gap.stages.TIMEOUT_SECONDS", 60)

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _without_a_model(no_model):
    """No service here makes vectors."""

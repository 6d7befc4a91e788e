from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_hurry(patient_gap):
    """A source is waited for however long it takes on a busy machine."""

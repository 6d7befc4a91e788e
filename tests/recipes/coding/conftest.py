from __future__ import annotations

from datetime import UTC

import pytest

from foreword.recipes.coding.injection import InjectionPipeline


@pytest.fixture
def coding(engine):
    """What a coding agent asks for its context."""
    return InjectionPipeline(engine, zone=UTC)

from __future__ import annotations

from datetime import UTC

import pytest

from foreword.recipes.coding.companion import CodingCompanion
from foreword.recipes.coding.injection import InjectionPipeline


@pytest.fixture
def coding(engine):
    """What a coding agent asks for its context."""
    return InjectionPipeline(engine, zone=UTC)


@pytest.fixture
def folder(tmp_path):
    """The folder of a repository."""
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    return str(tmp_path / "shop")


@pytest.fixture
def companion(engine):
    return CodingCompanion(engine)

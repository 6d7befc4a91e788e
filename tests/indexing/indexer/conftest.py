"""A small project in a folder, and an engine that indexes it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.indexing.indexer import Indexed, Indexer
from foreword.types import Filters, Item

SAMPLES = Path(__file__).parent


def _write_file(folder, path, text):
    """Write a file whose time differs from what it had, whatever the clock's grain."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    before = file.stat().st_mtime_ns if file.exists() else 0
    file.write_text(text)
    if file.stat().st_mtime_ns == before:
        os.utime(file, ns=(before + 1_000_000, before + 1_000_000))


def _run_git(folder, *arguments, at="2026-01-01T12:00:00Z"):
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org", "GIT_AUTHOR_DATE": at,
        "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org", "GIT_COMMITTER_DATE": at,
    }  # fmt: skip
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True, timeout=120
    )
    return done.stdout.decode().strip()


def _commit_all(folder, message, minute=0):
    _run_git(folder, "add", "-A")
    _run_git(folder, "commit", "-q", "--allow-empty", "-m", message, at=f"2026-01-01T12:{minute:02}:00Z")


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch):
    """Files that have changed are read again however long that takes on a busy machine."""
    monkeypatch.setattr("foreword.capture.folder.file_items._CUT_SECONDS", 60)


@pytest.fixture
def write_file():
    """Write a file whose time differs from what it had: `write_file(folder, path, text)`."""
    return _write_file


@pytest.fixture
def run_git():
    """Run a git command in a folder; gives what it prints."""
    return _run_git


@pytest.fixture
def commit_all():
    """Commit everything in a folder."""
    return _commit_all


@pytest.fixture
def engine(home):
    with ContextEngine(settings=Settings(home=home, embedding="none")) as engine:
        yield engine


@pytest.fixture
def root(tmp_path):
    """A project: two files of code, one document."""
    folder = tmp_path / "shop"
    _write_file(folder, "src/ledger.py", (SAMPLES / "ledger.txt").read_text())
    _write_file(folder, "src/tiny.py", "def one():\n    return 1\n")
    _write_file(folder, "docs/guide.md", (SAMPLES / "guide.txt").read_text())
    return folder


@pytest.fixture
def index(engine, root):
    """Index the project into its own workspace."""

    def run(folder=root, workspace=None, **chosen) -> Indexed:
        return Indexer(engine).index(folder, workspace or str(root), **chosen)

    return run


@pytest.fixture
def items(engine, root):
    def scan(workspace=None, **filters) -> list[Item]:
        return list(engine.store.scan(workspace or str(root), Filters(**filters)))

    return scan

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.engine.embedder import Embedder
from foreword.errors import ForewordError
from foreword.spaces import bundled
from foreword.testing import FixedClock, HashEmbeddings

# The same examples every time, so that a change is judged by what it changed; `make fuzz` looks for new ones,
# and ten times as many. A property that needs more than others asks for so many `settings().max_examples`.
_FUZZ = "FOREWORD_FUZZ" in os.environ
settings.register_profile(
    "foreword",
    deadline=None,
    max_examples=1_000 if _FUZZ else 100,
    # (Examples are made too slowly on a busy machine.)
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    derandomize=not _FUZZ,
)
settings.load_profile("foreword")

# Where tests run in the background, Ctrl-C is switched off, and every process they start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["fault_table", "fault_shim"]

REPOSITORY = Path(__file__).parent.parent


def pytest_collection_modifyitems(items):
    """Files with slow tests come first, so that no long file is begun when the rest is nearly done."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """Every test has a data folder of its own, and none sees the developer's settings."""
    kept = {"FOREWORD_DATA", "FOREWORD_AGENTS_CACHE", "FOREWORD_SERVERS_CACHE"}
    ours = [name for name in os.environ if name.startswith("FOREWORD_") and name not in kept]
    for name in (*ours, "CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "OPENCODE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    folder = tmp_path / "home"
    monkeypatch.setenv("FOREWORD_HOME", str(folder))
    return folder


@pytest.fixture
def count_calls():
    """How many calls, of Python and of C, a function makes: a measure of work that a busy machine keeps."""

    def count(function, *arguments):
        calls = 0

        def note(_frame, event, _argument):
            nonlocal calls
            calls += event in ("call", "c_call")

        before = sys.getprofile()
        sys.setprofile(note)
        try:
            function(*arguments)
        finally:
            sys.setprofile(before)
        return calls

    return count


@pytest.fixture(autouse=True)
def no_reader(request, monkeypatch):
    """Engines made in a test have no reader: floors judge made-up texts. The mark `reader` keeps it."""
    if "reader" not in request.keywords:
        monkeypatch.setattr("foreword.engine.context_engine.default_reader", lambda _settings: None)


@pytest.fixture(autouse=True)
def no_token_space(request, monkeypatch):
    """Engines made in a test compare no tokens, which takes a second model. The mark `tokens` keeps it."""
    if "tokens" not in request.keywords:
        monkeypatch.setattr("foreword.engine.context_engine.default_token_space", lambda _settings: None)


@pytest.fixture(scope="session", autouse=True)
def models_started_once():
    """The engines of all tests share one session of each bundled model, which only reads."""
    start, started = bundled.start_inference_session, {}

    def start_once(graph, threads):
        key = graph, threads
        if key not in started:
            started[key] = start(graph, threads)
        return started[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundled, "start_inference_session", start_once)
        yield


@pytest.fixture
def patient_gap(monkeypatch):
    """Filling a gap waits for as long as a busy machine needs, where users would be answered without."""
    monkeypatch.setattr("foreword.recipes.gap.stages.TIMEOUT_SECONDS", 120)


@pytest.fixture
def clock():
    return FixedClock()


def embed_at_once(embedder, workspace, *_items, **_options):
    """Makes the vectors that a workspace lacks; like the thread that does it otherwise, it raises nothing."""
    with suppress(ForewordError):
        embedder.embed_missing(workspace)


@pytest.fixture
def engine(home, clock, monkeypatch):
    """An engine on a real store, with the hash encoder and a clock that stands still.

    A write returns with its vectors made, so that no answer depends on how fast a thread is.
    """
    monkeypatch.setattr(Embedder, "embed_soon", embed_at_once)
    with ContextEngine(
        embedding_provider=HashEmbeddings(), settings=Settings(home=home), clock=clock
    ) as engine:
        yield engine


@pytest.fixture
def project(engine, clock):
    """A small workspace named `shop`, its vectors made."""
    clock.now -= timedelta(days=30)
    statements = [
        ("We chose Postgres over MySQL for its JSON operators.", "decision"),
        ("The session timeout for staff is thirty minutes.", "fact"),
        ("Priya prefers small pull requests with a test in each.", "preference"),
        ("Deploys happen on Tuesdays, never on Fridays.", "workflow"),
        ("psycopg.errors.DeadlockDetected while expire_holds deletes rows.", "error"),
    ]
    items = []
    for text, label in statements:
        items.append(engine.remember(text, "shop", type=label))
        clock.advance(days=5)
    engine.embed_pending("shop")
    return items

"""Real agents, a fake model, and a world of their own for each test.

`make agents` fetches the agents into a cache; without it these tests say that they were skipped.
"""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

_CACHE = Path(os.environ.get("FOREWORD_AGENTS_CACHE") or "~/.cache/foreword-agents").expanduser()
_SECONDS = 240
_MAX_PROMPTS = 12


def _fake_model():
    spec = importlib.util.spec_from_file_location("fake_model", Path(__file__).with_name("fake_model.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.FakeModel


FakeModel = _fake_model()


def find_in_cache(pattern: str) -> Path:
    """A program in the cache of agents; the test is skipped where it is not there."""
    found = sorted(_CACHE.glob(f"node_modules/{pattern}"))
    if not found:
        pytest.skip(f"no {pattern} in {_CACHE}; run: make agents")
    return found[0]


@dataclass
class World:
    """A user with a home, a project under git, a data folder, and a model that listens."""

    root: Path
    model: Any
    more: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for folder in (self.home, self.project):
            folder.mkdir()
        self.run("git", "init", "-q")

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def project(self) -> Path:
        return self.root / "a project"

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TERM": "dumb",
            "LANG": "C.UTF-8",
            "FOREWORD_HOME": str(self.data),
            **self.more,
        }

    def run(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a program in the project, with nothing on stdin."""
        ran = subprocess.run(
            words,
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        assert not check or ran.returncode == 0, f"{words}: {ran.stdout}\n{ran.stderr}"
        return ran

    def foreword(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "-m", "foreword", *words, check=check)

    def install(self, agent: str, *options: str) -> None:
        """Install as a user would, with the deadlines that users have."""
        self.foreword("install", agent, *options)

    def ask_until_told(self, word: str, ask: Any, *prompts: tuple[str, ...]) -> int:
        """Ask with the first prompt, then again with the last, until the model was sent a word.

        Beside a real agent, an answer can take longer than its deadline on a busy machine. What was not
        delivered does not count as shown, so it comes with a later prompt of the session. Gives the number
        of prompts it took.
        """
        for count in range(1, _MAX_PROMPTS + 1):
            ask(*prompts[min(count, len(prompts)) - 1])
            if word in self.model.texts[-1]:
                return count
        pytest.fail(f"{word!r} was never sent in {_MAX_PROMPTS} prompts; see {self.data / 'run'}")

    def status(self) -> dict[str, Any]:
        return json.loads(self.foreword("status", "--json", check=False).stdout)

    def serve(self) -> int:
        """Start the service and wait until it has loaded everything; gives its process."""
        self.foreword("serve")
        warm = self.until(lambda: (status := self.status()).get("warm") and status, "the service never warms")
        return warm["pid"]

    def until(self, condition: Any, reason: str) -> Any:
        """Wait until a condition holds; gives its value, or fails with the reason."""
        ends = time.monotonic() + _SECONDS
        while not (value := condition()):
            assert time.monotonic() < ends, reason
            time.sleep(0.1)
        return value

    def search_texts(self, query: str, kind: str = "turn") -> list[str]:
        """The texts of that kind which a search finds."""
        ran = self.foreword("search", query, "--kind", kind, "--json", check=False)
        return [hit["text"] for hit in json.loads(ran.stdout or "[]")]

    def end(self) -> None:
        """Leave no process behind, whatever the test did to it."""
        if not (self.data / "run").exists():
            return
        if asleep := self.status().get("pid"):
            os.kill(asleep, signal.SIGCONT)
        self.foreword("stop", check=False)


@pytest.fixture
def world(tmp_path):
    """A world, and after the test nothing that still runs."""
    with FakeModel() as model:
        made = World(tmp_path, model)
        yield made
        made.end()


@pytest.fixture
def claude(world):
    """Run Claude Code on a prompt; gives what it printed, as JSON."""
    program = find_in_cache("@anthropic-ai/claude-code-*/claude")
    world.more |= {
        "CLAUDE_CONFIG_DIR": str(world.home / ".claude"),
        "ANTHROPIC_BASE_URL": world.model.url,
        "ANTHROPIC_API_KEY": "a-key-for-nobody",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
    }

    def run(*words: str) -> Any:
        ran = world.run(str(program), *words)
        return json.loads(ran.stdout) if "json" in words else ran.stdout

    def ask(prompt: str, *options: str) -> Any:
        return run("-p", prompt, "--output-format", "json", "--allowedTools", "Bash", *options)

    ask.run = run
    ask.program = str(program)
    return ask


@pytest.fixture
def codex(world):
    """Run Codex on a prompt; gives what it printed."""
    program = find_in_cache(".bin/codex")
    if shutil.which("node") is None:
        pytest.skip("codex needs node")
    folder = world.home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(
        'model = "fake"\nmodel_provider = "fake"  # which only listens\n\n[model_providers.fake]\n'
        f'name = "fake"\nbase_url = "{world.model.url}/v1"\nenv_key = "FAKE_KEY"\nwire_api = "responses"\n'
        "request_max_retries = 0\nstream_max_retries = 0\n"
    )
    world.more |= {"CODEX_HOME": str(folder), "FAKE_KEY": "a-key-for-nobody"}

    def run(*words: str) -> str:
        return world.run(str(program), *words).stdout

    def ask(*words: str) -> str:
        # The hooks are our own and the folder is thrown away; a user reviews and trusts them instead.
        return run("exec", "--dangerously-bypass-hook-trust", "--skip-git-repo-check", *words)

    ask.run = run
    return ask


@pytest.fixture
def opencode(world):
    """Run opencode on a prompt; gives what it printed."""
    program = find_in_cache("opencode-*/bin/opencode")
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "fake",
        "options": {"baseURL": f"{world.model.url}/v1", "apiKey": "a-key-for-nobody"},
        "models": {"fake": {"name": "fake", "tool_call": True}},
    }
    settings = {"model": "fake/fake", "small_model": "fake/fake", "autoupdate": False, "share": "disabled"}
    folder = world.home / ".config" / "opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.json").write_text(json.dumps({**settings, "provider": {"fake": provider}}, indent=2))
    world.more |= {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}

    def ask(*words: str) -> str:
        return world.run(str(program), "run", *words).stdout

    return ask


def pytest_report_header() -> str:
    return f"agents: {_CACHE} ({platform.system().lower()}-{platform.machine()})"

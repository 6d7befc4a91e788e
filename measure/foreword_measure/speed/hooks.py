"""How many milliseconds a hook adds to a prompt: its process, with the service and a search behind it.

Bare interpreters and hooks run in turn, alone and four at once, so that other load on the machine affects all
of them. The service is the real one, with the bundled models. What is stored and asked is such as people
write; only the vectors of the stored statements mean nothing, and cost as much as others.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import foreword
from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.engine.embedder import TALK
from foreword.errors import ForewordError
from foreword.spaces.bundled import BundledEmbeddingProvider
from foreword.spaces.dense import DenseSpace
from foreword.spaces.tokens import TokenEncoder
from foreword.store.base import ListWithoutTokenCodes, PutTokenCodes
from foreword.testing import FixedClock
from foreword_measure.report import Cell, Table
from foreword_measure.speed import corpus
from foreword_measure.speed.clock import spread, time_milliseconds
from foreword_measure.speed.parts import cells

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from foreword.types import Item
    from foreword_measure.speed.clock import Progress, Spread

RUNS = 100
SIZE = 10_000
AT_ONCE = 4
MAX_ADDED_P50_MS, MAX_ADDED_P99_MS, MAX_MS = 40.0, 150.0, 300.0
_FAULT_RUNS = 25
_START_RUNS = 3
_PROMPTS_A_SESSION = 10
_TIMEOUT_SECONDS = 60.0
_BARE, _HOOK = "bare interpreter", "hook"
_LESSONS = Path(__file__).parents[2] / "lessons"
_PROMPTS_SKIPPED = 20
_CLIENT = Path(foreword.__file__).parent / "edges" / "hook_client.py"
_INTERPRETER = os.path.realpath(sys.executable)


@dataclass(frozen=True, slots=True)
class Hooks:
    """Runs hooks for one home and one project."""

    home: Path
    project: Path
    python: str = sys.executable

    def run(
        self, event: str, deadline_ms: float, prompt: str = "", session: str = "", agent: str = "-"
    ) -> bytes:
        """Run one hook as an agent does; returns what it printed."""
        payload = {
            "hook_event_name": event,
            "session_id": session,
            "cwd": str(self.project),
            "prompt": prompt,
        }
        command = [_INTERPRETER, "-I", "-S", str(_CLIENT), "--home", str(self.home), "--event", event]
        command += ["--agent", agent, "--deadline-ms", str(deadline_ms), "--python", self.python]
        done = subprocess.run(  # noqa: S603  (ourselves)
            command,
            input=json.dumps(payload).encode(),
            capture_output=True,
            check=True,
            env=_environment(),
            timeout=2 * _TIMEOUT_SECONDS,
        )
        return done.stdout


def _environment() -> dict[str, str]:
    """This process's environment without the user's own FOREWORD_ settings."""
    return {name: value for name, value in os.environ.items() if not name.startswith("FOREWORD_")}


def measure(
    folder: Path, sizes: tuple[int, ...], progress: Progress, runs: int = RUNS
) -> tuple[list[Table], dict[str, Any]]:
    """Fill a workspace, start a service on it, and run bare interpreters and hooks in turn."""
    size = min(max(sizes), SIZE)
    hooks = Hooks(folder / "hooks", folder / "project")
    (hooks.project / ".git").mkdir(parents=True)
    statements, prompts = _read_lessons()
    _fill(hooks, statements[:size], progress)
    try:
        starts = [_time_start(hooks) for _ in range(_START_RUNS)]
        with _run_service(hooks) as pid:
            times, answered = _time_in_turn(hooks, iter(prompts), runs, progress)
            os.kill(pid, signal.SIGSTOP)
            faults = {"the service stands still": _time_unanswered(hooks, _FAULT_RUNS)}
            os.kill(pid, signal.SIGCONT)
        nobody = Hooks(folder / "nobody", hooks.project, "/nowhere")
        faults["there is no service"] = _time_unanswered(nobody, _FAULT_RUNS)
    finally:
        _end_processes(folder)
    found = {name: spread(values) for name, values in (times | faults | {"start": starts}).items()}
    tables = [
        _times_table(found, answered, size),
        _faults_table({name: found[name] for name in faults}),
        _starts_table(starts),
    ]
    return tables, {"items": size, "answered": answered} | {k: each.as_dict() for k, each in found.items()}


# Measuring -----------------------------------------------------------------------------------------------


def _time_in_turn(
    hooks: Hooks, prompts: Iterator[str], runs: int, progress: Progress
) -> tuple[dict[str, list[float]], float]:
    """The times of bare interpreters and of hooks, alone and at once, and the share of answered prompts."""
    times: dict[str, list[float]] = defaultdict(list)
    answers: list[bytes] = []
    lock = threading.Lock()
    numbers = itertools.count()

    def hook() -> None:
        with lock:
            number, prompt = next(numbers), next(prompts)
        said = hooks.run("UserPromptSubmit", 250, prompt, f"session-{number // _PROMPTS_A_SESSION}")
        answers.append(said)

    works = {_BARE: _run_bare, _HOOK: hook}
    rounds = max(1, runs // AT_ONCE)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for turn in range(runs + rounds):
            at_once = 1 if turn < runs else AT_ONCE
            for name, work in works.items():
                taken = list(pool.map(time_milliseconds, [work] * at_once))
                times[f"{name}, {_at_once_text(at_once)}"] += taken
            progress("hooks", turn + 1, runs + rounds)
    return dict(times), sum(map(bool, answers)) / len(answers)


def _at_once_text(at_once: int) -> str:
    return "alone" if at_once == 1 else f"{at_once} at once"


def _run_bare() -> None:
    subprocess.run([_INTERPRETER, "-I", "-S", "-c", "pass"], check=True, timeout=_TIMEOUT_SECONDS)  # noqa: S603  (ourselves)


def _time_unanswered(hooks: Hooks, runs: int) -> list[float]:
    """The times of hooks that get no answer; returns after their background work is done, too."""
    log = hooks.home / "run" / "hook.log"
    before = _count_lines(log)
    times = [time_milliseconds(lambda: hooks.run("PreToolUse", 250)) for _ in range(runs)]
    _wait_until(lambda: _count_lines(log) - before >= runs)
    return times


def _count_lines(path: Path) -> int:
    return len(path.read_text().splitlines()) if path.exists() else 0


def _time_start(hooks: Hooks) -> float:
    """How many milliseconds a session's start takes if it has to start the service first."""
    (hooks.home / "run" / "starting").unlink(missing_ok=True)
    taken = time_milliseconds(lambda: hooks.run("SessionStart", _TIMEOUT_SECONDS * 1000, session="start"))
    _stop_service(hooks)
    return taken


# Data, the service and its processes ---------------------------------------------------------------------


def _read_lessons() -> tuple[list[str], list[str]]:
    """The statements and the prompts of the histories in `measure/lessons`, each once.

    How long a statement is read depends on its length and its words, so they must be such as people write. No
    prompt is asked twice, since the encoders and the reader cache what they were asked.
    """
    lines = (line for path in sorted(_LESSONS.glob("h*.jsonl")) for line in path.read_text().splitlines())
    histories = [json.loads(line) for line in lines]
    statements = [one["text"] for history in histories for one in history["statements"]]
    prompts = [one["text"] for history in histories for one in history["prompts"]]
    return list(dict.fromkeys(statements)), list(dict.fromkeys(prompts))[::_PROMPTS_SKIPPED]


def _fill(hooks: Hooks, statements: Sequence[str], progress: Progress) -> None:
    """Store statements as turns of the project's workspace, with synthetic vectors and real codes of tokens.

    Synthetic codes would let talk rank below everything else.
    """
    space, size = DenseSpace(BundledEmbeddingProvider()), len(statements)
    workspace = str(hooks.project.resolve())
    clock = FixedClock(corpus.time_after(size))
    with ContextEngine(settings=Settings(home=hooks.home, embedding="none"), clock=clock) as engine:
        for done in corpus.fill(engine, space, size, lambda at: _make_turn(at, statements[at]), workspace):
            progress("hooks: fill", done, size)
        tokens, encoded = TokenEncoder(), 0
        missing = ListWithoutTokenCodes(workspace, tokens.digest, corpus.BATCH, TALK)
        while items := engine.store.run(missing):
            codes = dict(zip((item.id for item in items), tokens.encode_items(items), strict=True))
            engine.store.run(PutTokenCodes(workspace, tokens.digest, codes))
            encoded += len(items)
            progress("hooks: encode tokens", encoded, size)


def _make_turn(at: int, text: str) -> Item:
    session = corpus.session_name(at)
    return replace(corpus.invent_item(at), text=text, kind="turn", about="", session=session)


@contextmanager
def _run_service(hooks: Hooks) -> Iterator[int]:
    """Run a service until everything is loaded, then give the id of its process; stop it at the end."""
    hooks.run("SessionStart", _TIMEOUT_SECONDS * 1000)
    try:
        _wait_until(lambda: _read_status(hooks)["warm"] and _has_loaded_http(hooks))
        yield int(_read_status(hooks)["pid"])
    finally:
        _stop_service(hooks)


def _read_status(hooks: Hooks) -> dict[str, Any]:
    status: dict[str, Any] = json.loads(hooks.run("", 5000, agent="status") or "{}")
    return {"warm": False, "http_port": None, "uptime_seconds": 0.0, "pid": 0} | status


def _has_loaded_http(hooks: Hooks) -> bool:
    """Whether HTTP is loaded, or has had enough time for it."""
    status = _read_status(hooks)
    return status["http_port"] is not None or status["uptime_seconds"] > _TIMEOUT_SECONDS / 4


def _stop_service(hooks: Hooks) -> None:
    pid = int(_read_status(hooks)["pid"])
    if pid:
        os.kill(pid, signal.SIGTERM)
        _wait_until(lambda: not _is_alive(pid))


def _end_processes(folder: Path) -> None:
    """End all processes for this folder: a hook that gets no answer starts a service."""
    for pid in _find_processes(folder):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    _wait_until(lambda: not _find_processes(folder))


def _find_processes(folder: Path) -> list[int]:
    """The ids of other processes whose command line has the folder; empty if there is no /proc."""
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # the process has ended in the meantime
            if str(folder).encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return [pid for pid in found if pid != os.getpid()]


def _is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:
        return False
    except OSError:
        return Path("/proc").is_dir() is False


def _wait_until(condition: Callable[[], object]) -> None:
    ends = time.monotonic() + _TIMEOUT_SECONDS
    while not condition():
        if time.monotonic() > ends:
            raise ForewordError(
                f"the service did not do its part within {_TIMEOUT_SECONDS:.0f} seconds; see its log"
            )
        time.sleep(0.05)


# Tables --------------------------------------------------------------------------------------------------


def _times_table(found: dict[str, Spread], answered: float, size: int) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for crowd in (_at_once_text(1), _at_once_text(AT_ONCE)):
        bare, hook = (found[f"{name}, {crowd}"] for name in (_BARE, _HOOK))
        rows += [
            (f"{name}, {crowd}", *cells(each.as_dict(), 1), None, None)
            for name, each in ((_BARE, bare), (_HOOK, hook))
        ]
        p50, p99 = round(hook.p50 - bare.p50, 1), round(hook.p99 - bare.p99, 1)
        well = p50 <= MAX_ADDED_P50_MS and p99 <= MAX_ADDED_P99_MS
        target = f"{MAX_ADDED_P50_MS:.0f} / {MAX_ADDED_P99_MS:.0f}"
        rows.append(
            (
                f"what the hook adds, {crowd}",
                hook.count,
                None,
                p50,
                p99,
                None,
                target,
                "yes" if well else "no",
            )
        )
    return Table(
        f"A prompt's hook over {size:,} items, milliseconds",
        ("what", "runs", "min", "p50", "p99", "max", "target p50 / p99, at most", "met"),
        tuple(rows),
        (
            "each run is a fresh process: the client, the service, the search, and the prompt kept",
            f"{answered:.0%} of the prompts were told something; the others were not worth a word",
        ),
    )


def _faults_table(found: dict[str, Spread]) -> Table:
    rows = tuple(
        (name, *cells(each.as_dict(), 1), MAX_MS, "yes" if each.max <= MAX_MS else "no")
        for name, each in found.items()
    )
    columns = ("when", "runs", "min", "p50", "p99", "max", "target, at most", "met")
    return Table("A hook that nobody answers, milliseconds", columns, rows, ("its deadline is 250 ms",))


def _starts_table(times: list[float]) -> Table:
    each = spread(times)
    note = "a session that begins where no service runs: starting one, loading its models, the answer"
    return Table(
        "Starting the service, milliseconds",
        ("runs", "min", "p50", "max"),
        ((each.count, *(round(n, 1) for n in (each.min, each.p50, each.max))),),
        (note,),
    )

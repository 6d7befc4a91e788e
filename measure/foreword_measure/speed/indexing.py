"""How fast a folder is indexed, and how fast its code gets vectors.

Python's own library is indexed, the first time and again, and a synthetic history of commits, always the
same. The bundled encoder makes vectors for a part of that library in three ways: in the simplest, as it was
done at first: whole texts, in the order in which they are stored, one batch after the other, each shared out
to all threads; the same for views; and as the engine does it, which is views, several batches at once.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sysconfig
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.engine.embedder import BATCH
from foreword.errors import ValidationError
from foreword.indexing.indexer import Indexer
from foreword.spaces.bundled import (
    BundledEmbeddingProvider,
    first_token_vectors,
    run_in_batches_by_length,
    translate_and_cut_for_models,
)
from foreword.spaces.dense import text_to_embed
from foreword.types import text_hash
from foreword_measure.report import Table
from foreword_measure.speed import corpus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from foreword.types import Item
    from foreword_measure.report import Cell
    from foreword_measure.speed.clock import Progress

MAX_FILES = 2_000
MAX_COMMITS = 5_000
MIN_FILES_A_SECOND = 150.0
MAX_UNCHANGED_SECONDS = 2.0
MAX_COMMITS_SECONDS = 10.0

MAX_EMBEDDED = 400
MIN_TIMES_FASTER = 2.0
_FIRST_COMMIT = 1_600_000_000
_HOUR = 3600


@dataclass(frozen=True, slots=True)
class _Run:
    """One run: how many files or commits and items, how many seconds, and how many of processor time."""

    count: int
    items: int
    seconds: float
    computing: float


def measure(folder: Path, sizes: tuple[int, ...], progress: Progress) -> tuple[list[Table], dict[str, Any]]:
    """Index at most 2,000 files twice, and at most 5,000 commits once; no more than the largest size."""
    most = max(sizes)
    library, repository = folder / "library", folder / "history"
    files = _copy_library(library, min(most, MAX_FILES))
    progress("index", 1, 4)
    _make_history(repository, commits := min(most, MAX_COMMITS))
    progress("index", 2, 4)
    with ContextEngine(settings=Settings(home=folder / "index", embedding="none")) as engine:
        engine.remember("Before the clock runs.", "elsewhere")  # loads the tokenizer before anything is timed
        first = _index_folder(engine, library)
        again = _index_folder(engine, library)
        progress("index", 3, 4)
        history = _index_folder(engine, repository, commits=True)
        progress("index", 4, 4)
        code = [item for item in engine.store.scan(str(library)) if item.kind == "code"]
    ways = _embed_in_each_way(_sample_evenly(code, min(most, MAX_EMBEDDED)), progress)
    runs = {"first": first, "again": again, "history": history}
    return [_table(files, commits, first, again, history), _embedding_table(ways)], {
        "embedding": {name: asdict(way) for name, way in ways.items()},
        "files": files,
        "commits": commits,
        "files_per_second": first.count / first.seconds,
        **{name: asdict(run) for name, run in runs.items()},
    }


def _index_folder(engine: ContextEngine, root: Path, *, commits: bool = False) -> _Run:
    computing = _cpu_seconds()
    indexed = Indexer(engine).index(root, str(root), code=not commits, documents=not commits, commits=commits)
    computing = _cpu_seconds() - computing
    if commits:
        return _Run(indexed.commits, indexed.commits, indexed.seconds, computing)
    return _Run(indexed.files, indexed.units, indexed.seconds, computing)


def _sample_evenly(items: list[Item], most: int) -> list[Item]:
    """At most `most` of the items, evenly from the whole list, in its order."""
    return items[:: max(1, -(-len(items) // most))]


def _embed_in_each_way(items: list[Item], progress: Progress) -> dict[str, _Run]:
    """How long the encoder takes for these items, from the simplest way to ours, without loading it."""
    encoder = BundledEmbeddingProvider()
    encoder.embed_batch(["Before the clock runs."])
    plain = [item.searchable for item in items]
    views = {text_hash(text): text for text in sorted(map(text_to_embed, items), key=len)}
    one_by_one = partial(_embed_batch_after_batch, encoder)
    steps: list[tuple[str, list[str], Callable[[list[str]], object]]] = [
        ("whole texts, as they are stored", plain, one_by_one),
        ("views by length, each once", list(views.values()), one_by_one),
        ("the same, several batches at once", list(views.values()), encoder.embed_batch),
    ]
    ways: dict[str, _Run] = {}
    for done, (name, texts, embed) in enumerate(steps, 1):
        started, computing = time.perf_counter(), _cpu_seconds()
        for at in range(0, len(texts), BATCH):
            embed(texts[at : at + BATCH])
        ways[name] = _Run(len(items), len(texts), time.perf_counter() - started, _cpu_seconds() - computing)
        progress("index: vectors", done, len(steps))
    return ways


def _embed_batch_after_batch(encoder: BundledEmbeddingProvider, texts: list[str]) -> list[list[float]]:
    """The vectors of texts, made as they were at first: a batch at a time, with all threads for each."""
    model = encoder.load()
    tokens = [model.tokenizer.encode(translate_and_cut_for_models(text)).ids for text in texts]
    vectors: list[list[float]] = []
    run_in_batches_by_length(
        model, tokens, 1, lambda _, hidden_states: vectors.extend(first_token_vectors(hidden_states))
    )
    return vectors


def _embedding_table(ways: dict[str, _Run]) -> Table:
    slow, *_, ours = ways.values()
    rows = []
    for name, run in ways.items():
        times = round(slow.seconds / run.seconds, 2)
        met = "yes" if times >= MIN_TIMES_FASTER else "no"
        judged = (MIN_TIMES_FASTER, met) if run is ours else (None, None)
        rate = round(run.count / run.seconds, 1)
        numbers = (round(run.seconds, 1), round(run.computing, 1), rate, times)
        rows.append((name, run.count, run.items, *numbers, *judged))
    return Table(
        "Vectors of code, by the bundled encoder",
        (
            "how",
            "units",
            "texts",
            "seconds",
            "cpu",
            "units a second",
            "times as fast",
            "target, at least",
            "met",
        ),
        tuple(rows),
        ("all in this run; the first row is how it would be done without any care, and was done at first",),
    )


def _cpu_seconds() -> float:
    """The processor time of this process and of its children that have ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _copy_library(library: Path, most: int) -> int:
    """Copy at most `most` sources of Python's library, evenly from all of it; returns how many."""
    home = Path(sysconfig.get_paths()["stdlib"])
    sources = [path for path in sorted(home.rglob("*.py")) if "site-packages" not in path.parts]
    chosen = sources[:: max(1, -(-len(sources) // most))]
    for path in chosen:
        place = library / path.relative_to(home)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    return len(chosen)


def _make_history(repository: Path, commits: int) -> None:
    """Create a repository whose commits have the texts of synthetic items."""
    repository.mkdir()
    git = shutil.which("git")
    if git is None:
        raise ValidationError("git is not installed; install it, or name the other parts")
    subprocess.run([git, "init", "-q", "-b", "main", str(repository)], check=True, timeout=60)  # noqa: S603
    stream = b"".join(_format_commit(number) for number in range(commits))
    arguments = [git, "-C", str(repository), "fast-import", "--quiet"]
    subprocess.run(arguments, input=stream, check=True, timeout=600)  # noqa: S603


def _format_commit(number: int) -> bytes:
    """One commit that changes three files, in the format of `git fast-import`."""
    message = corpus.invent_item(number).text.encode()
    when = f"Ada <ada@example.org> {_FIRST_COMMIT + number * _HOUR} +0000"
    lines = [
        b"commit refs/heads/main",
        f"committer {when}".encode(),
        f"data {len(message)}".encode(),
        message,
        *_format_changes(number),
        b"",
    ]
    return b"\n".join(lines)


def _format_changes(number: int) -> Iterator[bytes]:
    for place in range(3):
        content = f"line {number} of file {place}\n".encode()
        yield f"M 100644 inline src/part{(number + place * 7) % 40}.py".encode()
        yield f"data {len(content)}".encode()
        yield content


def _table(files: int, commits: int, first: _Run, again: _Run, history: _Run) -> Table:
    rate = first.count / first.seconds
    fast = rate >= MIN_FILES_A_SECOND
    rows = (
        _row("files, first time", files, first, rate, f"≥ {MIN_FILES_A_SECOND:.0f} a second", met=fast),
        _row(
            *("files, unchanged", files, again, None, f"≤ {MAX_UNCHANGED_SECONDS:.0f} s"),
            met=again.seconds <= MAX_UNCHANGED_SECONDS,
        ),
        _row(
            *("commits", commits, history, history.count / history.seconds, f"≤ {MAX_COMMITS_SECONDS:.0f} s"),
            met=history.seconds <= MAX_COMMITS_SECONDS,
        ),
    )
    return Table(
        "Reading a folder",
        ("what", "there are", "items kept", "seconds", "computing", "a second", "target", "met"),
        rows,
        (
            "the sources of Python's own library, read, cut into functions and classes, stored; no vectors",
            "computing: seconds of processor time, of all processes, which a busy machine stretches less",
        ),
    )


def _row(what: str, count: int, run: _Run, rate: float | None, target: str, *, met: bool) -> tuple[Cell, ...]:
    seconds, computing = round(run.seconds, 2), round(run.computing, 2)
    per_second = None if rate is None else round(rate)
    return what, count, run.items, seconds, computing, per_second, target, "yes" if met else "no"

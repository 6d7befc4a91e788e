"""How long a click on the page takes, in a real browser: from the click until the part is shown.

A separate service holds synthetic items and receipts. Clicks on every part alternate with clicks on a page of
an empty workspace, which show the browser's own time. How much the browser loads for a part, and how much the
service's memory grows, is measured, too. Needs Playwright and a Chromium (`make chromium`); without them
there is a note in place of numbers.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from collections import defaultdict
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.store.base import PutReceipt
from foreword.testing import FixedClock
from foreword_measure.report import Table
from foreword_measure.speed import corpus
from foreword_measure.speed.clock import spreads
from foreword_measure.speed.parts import target_table

if TYPE_CHECKING:
    from pathlib import Path

    from foreword_measure.report import Cell
    from foreword_measure.speed.clock import Progress, Samples

RUNS = 30
SIZE = 10_000
MAX_MS, MAX_BYTES, MAX_GROWTH_BYTES = 300.0, 150_000, 20_000_000
PARTS = ("now", "prompts", "try", "memory", "health")
_EMPTY = "an empty page"
_RECEIPTS = 200
_READY = "main[data-ready]"
_CLICK = """(href) => new Promise((done) => {
    const main = document.getElementById("main");
    delete main.dataset.ready;
    const began = performance.now();
    const seen = new MutationObserver(() => {
        if (!main.dataset.ready) return;
        seen.disconnect();
        requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
    });
    seen.observe(main, { attributes: true, attributeFilter: ["data-ready"] });
    const link = document.createElement("a");
    link.href = href;
    document.body.append(link);
    link.click();
    link.remove();
})"""


def measure(
    folder: Path, sizes: tuple[int, ...], progress: Progress, runs: int = RUNS
) -> tuple[list[Table], dict[str, Any]]:
    """Fill a workspace, serve it, and click through its page."""
    chromium = os.environ.get("FOREWORD_CHROMIUM") or shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        return [Table("The page", ("what",), (), ("no browser here; run: make chromium",))], {}
    size, home = min(max(sizes), SIZE), folder / "view"
    _fill(home, size, progress)
    address = _run_foreword(home, "view", "-w", corpus.WORKSPACE, "--no-browser")
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            times, weights, growth = _click_through(browser, address, home, runs, progress)
            browser.close()
    finally:
        _run_foreword(home, "stop")
    found = spreads(times)
    rows = [(name, name, None if name == _EMPTY else MAX_MS) for name in (_EMPTY, *PARTS)]
    note = f"{size:,} items, {_RECEIPTS} receipts; from the click until the part is there and painted"
    tables = [target_table("The page, milliseconds after a click", rows, found, note)]
    tables.append(_size_table(weights, growth))
    return tables, {"items": size, "times": found, "bytes": weights, "growth_bytes": growth}


def _size_table(weights: dict[str, int], growth: int) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (f"weight of {name}", weight, MAX_BYTES, "yes" if weight <= MAX_BYTES else "no")
        for name, weight in weights.items()
    ]
    met = "yes" if growth <= MAX_GROWTH_BYTES else "no"
    rows.append(("growth of the service's memory", growth, MAX_GROWTH_BYTES, met))
    return Table("The page, bytes", ("what", "bytes", "target, at most", "met"), tuple(rows), ())


def _fill(home: Path, size: int, progress: Progress) -> None:
    """Store synthetic items and the receipts of synthetic questions, without an encoder."""
    settings = Settings(home=home, embedding="none")
    with ContextEngine(settings=settings, clock=FixedClock()) as engine:
        for start in range(0, size, corpus.BATCH):
            stop = min(size, start + corpus.BATCH)
            engine.remember_all([corpus.invent_item(at) for at in range(start, stop)], corpus.WORKSPACE)
            progress("view: fill", stop, size)
        asked = corpus.invent_questions(size)
        for at in range(_RECEIPTS):
            made = engine.preview_context(asked[at % len(asked)].text, corpus.WORKSPACE, floor=0.0)
            moment = made.receipt.created_at - timedelta(hours=at)
            receipt = replace(made.receipt, id=f"{at:012x}", created_at=moment)
            engine.store.run(PutReceipt(corpus.WORKSPACE, receipt))


def _run_foreword(home: Path, *arguments: str) -> str:
    environment = {**os.environ, "FOREWORD_HOME": str(home), "FOREWORD_EMBEDDING": "none"}
    ran = subprocess.run(  # noqa: S603  (our own command)
        [sys.executable, "-m", "foreword", *arguments],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    return ran.stdout.strip()


def _click_through(
    browser: Any,  # noqa: ANN401
    address: str,
    home: Path,
    runs: int,
    progress: Progress,
) -> tuple[Samples, dict[str, int], int]:
    """The times of clicks by part, the bytes loaded for each, and the growth of the service's memory."""
    tab = browser.new_page(viewport={"width": 1180, "height": 860})
    weights = {part: _measure_weight(tab, address, part) for part in PARTS}
    before = _resident_bytes(home)
    times: Samples = defaultdict(list)
    for run in range(runs + 1):
        for name in (_EMPTY, *PARTS):
            workspace, part = ("nothing", "try") if name == _EMPTY else (corpus.WORKSPACE, name)
            taken = tab.evaluate(_CLICK, f"/view/{part}?w={workspace}")
            if run:
                times[name].append(taken)
        progress("view: click", run + 1, runs + 1)
    return dict(times), weights, _resident_bytes(home) - before


def _measure_weight(tab: Any, address: str, part: str) -> int:  # noqa: ANN401
    """How many bytes a browser loads when a part is opened by its address."""
    sizes: list[int] = []

    def note(answer: Any) -> None:  # noqa: ANN401
        sizes.append(len(answer.body()))

    tab.on("response", note)
    tab.goto(address.replace("/view/now?", f"/view/{part}?"))
    tab.wait_for_selector(_READY)
    tab.wait_for_load_state("networkidle")
    tab.remove_listener("response", note)
    return sum(sizes)


def _resident_bytes(home: Path) -> int:
    """The memory of the service, as its status reports it."""
    port = json.loads((home / "run" / "http.json").read_text())["port"]
    token = (home / "run" / "token").read_text().strip()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/status", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        return int(json.load(answer)["resident_bytes"])

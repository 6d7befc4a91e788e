"""How long the proxy delays the first token, compared with a bare pass-through in the same run.

A model on loopback answers at once. Each question is sent to it in three ways in turn: directly, through the
proxy as a request that it does not understand and forwards unchanged, and through the proxy with context from
a conversation and documents. The proxy is `foreword proxy` in its own process.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx2

from foreword.config import Settings
from foreword.edges.service.loopback import listen_on_loopback, make_uvicorn_server
from foreword.engine.context_engine import ContextEngine
from foreword.errors import ForewordError
from foreword_measure.report import Table
from foreword_measure.speed import corpus, dialogue
from foreword_measure.speed.parts import fill_and_ask, send, target_verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from foreword_measure.report import Cell
    from foreword_measure.speed.clock import Progress

TARGET_ADDED = 60.0
"""The most milliseconds that the proxy may add to the first token, at the median."""

WAYS = ("directly", "bare pass-through", "with context")
_COLUMNS = ("way", "requests", "min", "p50", "p95", "max")
_RUNS, _WARM_UP_RUNS = 60, 5
_BARE = "/v1/bare"
_CHAT = "/v1/chat/completions"


def measure(folder: Path, sizes: tuple[int, ...], progress: Progress) -> tuple[list[Table], dict[str, Any]]:
    """Fill the workspace as `dialogue` does, then send questions through the proxy."""
    chunks = min(dialogue.CHUNKS, max(sizes))
    turns = min(dialogue.TURNS, max(1, chunks // 10))
    home = folder / "proxy"
    _, asked = fill_and_ask("proxy", home, chunks, turns, label="proxy: ", progress=progress)
    title = f"First token, {turns:,} turns, {chunks:,} chunks of documents, milliseconds"
    rows: list[tuple[Cell, ...]] = [(way, *asked["times"][way].values()) for way in WAYS]
    added = round(asked["times"][WAYS[2]]["p50"] - asked["times"][WAYS[1]]["p50"], 1)
    share = f"{asked['contexts']} of {asked['times'][WAYS[2]]['count']} requests got a context"
    notes = (
        f"added at p50: {added} (aim: at most {TARGET_ADDED:g}; met: {target_verdict(added, TARGET_ADDED)})",
        share,
    )
    stages = tuple((name, *spread.values()) for name, spread in asked["stages"].items())
    tables = [
        Table(title, _COLUMNS, tuple(rows), notes),
        Table("Stages of the contexts, milliseconds", ("stage", *_COLUMNS[1:]), stages),
    ]
    return tables, {
        "chunks": chunks,
        "turns": turns,
        "added": added,
    } | asked


# Tasks, each in its own process --------------------------------------------------------------------------


def ask(folder: Path, chunks: int, turns: int) -> dict[str, Any]:
    """Start the model and the proxy, and send questions in three ways in turn; returns the times."""
    model = _Model()
    runs = min(_RUNS, turns) + _WARM_UP_RUNS
    questions = [question.text for question in corpus.invent_questions(chunks, runs)]
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    receipts: list[str] = []
    with _serve(model) as upstream, _start_proxy(folder, upstream) as proxy:
        addresses = (f"{upstream}{_CHAT}", f"{proxy}{_BARE}", f"{proxy}{_CHAT}")
        with httpx2.Client(timeout=60, trust_env=False) as client:
            for at in range(runs):
                for way, address in zip(WAYS, addresses, strict=True):
                    taken, receipt = _milliseconds_to_first_token(client, address, questions[at])
                    if at >= _WARM_UP_RUNS:
                        times[way].append(taken)
                        receipts += [receipt] if receipt else []
                send(progress=[at + 1, runs])
    return {
        "turns": turns,
        "contexts": model.contexts,
        "times": {way: _spread(values) for way, values in times.items()},
        "stages": {name: _spread(values) for name, values in _stage_times(folder, receipts).items()},
    }


def _stage_times(folder: Path, receipts: Sequence[str]) -> dict[str, list[float]]:
    """The times of each stage of the contexts, from their receipts."""
    times: dict[str, list[float]] = {}
    with ContextEngine(settings=Settings(home=folder, embedding="none")) as engine:
        for name in receipts:
            receipt = engine.explain(corpus.WORKSPACE, name)
            for stage in receipt.stages if receipt else ():
                times.setdefault(stage.stage, []).append(stage.milliseconds)
    return times


def _milliseconds_to_first_token(client: httpx2.Client, address: str, question: str) -> tuple[float, str]:
    """Send a question and read its answer; returns the milliseconds to the first piece, and the receipt."""
    body = {"model": "gpt-4o", "stream": True, "messages": [{"role": "user", "content": question}]}
    headers = {"x-foreword-session": "bench", "x-foreword-workspace": corpus.WORKSPACE}
    began = time.perf_counter()
    with client.stream("POST", address, json=body, headers=headers) as answer:
        pieces = answer.iter_raw()
        next(pieces)
        taken = (time.perf_counter() - began) * 1000
        for _ in pieces:
            pass
    return taken, answer.headers.get("x-foreword-receipt", "")


def _spread(samples: Sequence[float]) -> dict[str, float]:
    """The spread of measurements, with the 95th percentile, by which proxies are usually judged."""
    ordered = sorted(samples)
    places = {"min": 0.0, "p50": 0.5, "p95": 0.95, "max": 1.0}
    found = {
        name: round(ordered[max(0, math.ceil(share * len(ordered)) - 1)], 1) for name, share in places.items()
    }
    return {"count": len(ordered), **found}


class _Model:
    """An ASGI application that streams an answer at once, and counts the requests that have a context."""

    def __init__(self) -> None:
        self.contexts = 0

    async def __call__(self, scope: Any, receive: Any, send_answer: Any) -> None:  # noqa: ANN401  (ASGI)
        """Answer one request."""
        if scope["type"] == "lifespan":
            for step in ("startup", "shutdown"):
                await receive()
                await send_answer({"type": f"lifespan.{step}.complete"})
            return
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        self.contexts += b"<foreword-context>" in body
        headers = [(b"content-type", b"text/event-stream")]
        await send_answer({"type": "http.response.start", "status": 200, "headers": headers})
        for event in _EVENTS:
            await send_answer({"type": "http.response.body", "body": event, "more_body": True})
        await send_answer({"type": "http.response.body", "body": b"", "more_body": False})


_EVENTS = (
    b'data: {"choices": [{"index": 0, "delta": {"content": "Noted."}}]}\n\n',
    b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n',
    b"data: [DONE]\n\n",
)


@contextmanager
def _serve(model: _Model) -> Iterator[str]:
    """Serve the model on a port of loopback; gives its address."""
    with listen_on_loopback() as listening:
        server = make_uvicorn_server(model)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)


@contextmanager
def _start_proxy(home: Path, upstream: str) -> Iterator[str]:
    """Run `foreword proxy` in its own process, with a long deadline for contexts; gives its address."""
    command = [sys.executable, "-P", "-m", "foreword", "proxy", "--upstream", upstream, "--port", "0"]
    command += ["--deadline", "60000", "--json"]
    environment = {**os.environ, "FOREWORD_HOME": str(home)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:  # noqa: S603
        try:
            lines = []
            for line in child.stdout or ():
                lines.append(line)
                if line.strip() == "}":
                    break
            if not lines:
                raise ForewordError("the proxy did not start; what it wrote above says why")
            yield str(json.loads("".join(lines))["url"]).removesuffix("/v1")
        finally:
            child.terminate()


TASKS = {"fill": dialogue.fill, "ask": ask}

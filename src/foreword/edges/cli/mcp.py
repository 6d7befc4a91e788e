"""Mcp: the protocol by which agents reach their memory, over stdin and stdout, or over HTTP on loopback.

On stdin and stdout nothing but the protocol is written, and the engine is opened with the first call: an
agent that only asks what there is need not wait for it.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from foreword.edges.cli.common import Call, command, emit, opened, settings, tell
from foreword.errors import MissingExtra
from foreword.workspace import workspace_of

if TYPE_CHECKING:
    from foreword.config import Settings
    from foreword.engine.context_engine import ContextEngine

_PROJECT = "CLAUDE_PROJECT_DIR"
"""Where an agent that starts us elsewhere says which project it works on."""


@command("mcp", "claude mcp add foreword -- foreword mcp\nforeword mcp --http --port 8765")
@click.option("--http", is_flag=True, help="Serve HTTP on 127.0.0.1 instead of stdin and stdout.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="With --http; 0 is any free one."
)
def mcp(call: Call, http: bool, port: int) -> int:
    """Serve memory to an agent that speaks the Model Context Protocol.

    An agent starts this itself and talks to it on stdin and stdout. With --http it serves HTTP on 127.0.0.1
    to whoever holds the token; where both are is said first.
    """
    _refuse_bare_installation("mcp.server", *(["uvicorn"] if http else []))
    workspace = Call(call.named if call.named is not None else _project()).workspace
    chosen = settings()
    if http:
        _serve_http(call, chosen, workspace, port)
    else:
        _serve_stdio(chosen, workspace)
    return 0


def _refuse_bare_installation(*modules: str) -> None:
    try:
        for module in modules:
            importlib.import_module(module)
    except ImportError:
        raise MissingExtra("mcp", "server") from None


def _project() -> str | None:
    """The workspace of the project that the agent names, if it names one that is there."""
    folder = os.environ.get(_PROJECT)
    return workspace_of(Path(folder)) if folder and Path(folder).is_dir() else None


class _Later:
    """An engine that is opened when it is first asked for, once."""

    def __init__(self, chosen: Settings, until: ExitStack) -> None:
        self._chosen = chosen
        self._until = until
        self._lock = threading.Lock()
        self._engine: ContextEngine | None = None

    def __call__(self) -> ContextEngine:
        with self._lock:
            if self._engine is None:
                self._engine = self._until.enter_context(opened(at=self._chosen))
            return self._engine


def _serve_stdio(chosen: Settings, workspace: str) -> None:
    from foreword.edges.mcp import server

    if sys.stdin.isatty():
        tell("an agent is expected on stdin, not a person; see: foreword mcp --help (Ctrl-D ends this)")
    with ExitStack() as until:
        server(_Later(chosen, until), workspace).run("stdio")


def _serve_http(call: Call, chosen: Settings, workspace: str, port: int) -> None:
    from foreword.edges.hook import aside
    from foreword.edges.http.application import application, listen, server
    from foreword.edges.service.run_folder import RunFolder

    aside.private(str(chosen.home.absolute()), "run")
    folder = RunFolder(chosen.home)
    token = folder.token()
    with listen(port) as listening, opened(at=chosen) as engine:
        taken = listening.getsockname()[1]
        told = {"url": f"http://127.0.0.1:{taken}/mcp", "token_file": str(folder.token_file)}
        app = application(engine, token=token, port=taken, status=lambda: told, workspace=workspace)
        if call.as_json:
            emit(told)
        else:
            tell(f"MCP at {told['url']}; the token is in {told['token_file']}")
        server(app).run(sockets=[listening])


COMMANDS = (mcp,)

"""`python -m foreword.edges.proxy URL`: the proxy with its guard; `foreword proxy` has more options."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from foreword.edges.http.guard import ProxyGuard
from foreword.edges.proxy.application import ProxyApplication, ProxyOptions
from foreword.edges.proxy.asker import ProxyAsker
from foreword.edges.proxy.memory import ProxyMemory
from foreword.edges.proxy.upstream import Upstream
from foreword.edges.service.loopback import listen_on_loopback, make_uvicorn_server
from foreword.errors import ForewordError

if TYPE_CHECKING:
    from foreword.engine.context_engine import ContextEngine


def build_proxy(
    engine: ContextEngine,
    upstream: Upstream,
    options: ProxyOptions,
    port: int,
    *,
    capture: bool = True,
) -> ProxyGuard:
    """The proxy behind its guard; with `capture`, requests and answers are stored."""
    memory = ProxyMemory(engine, capture=capture)
    return ProxyGuard(ProxyApplication(upstream, memory, engine.tokenizer, options), port=port)


def main(url: str) -> int:
    """Serve with the defaults, in the workspace of the current folder, until stopped; returns 0."""
    from pathlib import Path

    from foreword.capture.folder.workspace import workspace_of
    from foreword.engine.context_engine import ContextEngine

    with listen_on_loopback() as listening, ContextEngine() as engine:
        port = listening.getsockname()[1]
        options = ProxyOptions(ProxyAsker(workspace_of(Path.cwd())))
        sys.stderr.write(f"http://127.0.0.1:{port}/v1\n")
        make_uvicorn_server(build_proxy(engine, Upstream(url), options, port)).run(sockets=[listening])
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:2]))
    except (ForewordError, OSError, TypeError) as error:
        sys.exit(f"foreword: {error}")

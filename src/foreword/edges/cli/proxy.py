"""Proxy: an OpenAI-compatible API in front of a model's own, which adds memory."""

from __future__ import annotations

import importlib

import click

from foreword.edges.cli.common import CliCall, command, load_settings, open_engine, port_type
from foreword.errors import ForewordError, MissingExtra
from foreword.options import MAX_NAME_CHARACTERS


@command(
    "proxy",
    "foreword proxy --upstream https://api.openai.com/v1 --user mara\n"
    "foreword proxy --upstream http://127.0.0.1:11434/v1 &  OPENAI_BASE_URL=http://127.0.0.1:8790/v1 my_chat",
)
@click.option("--upstream", required=True, metavar="URL", help="The API's base URL, usually ending in /v1.")
@click.option("--port", type=port_type, default=8790, show_default=True, metavar="N", help="0 is any.")
@click.option("--user", default="", metavar="U", help="Who asks where a request names nobody.")
@click.option(
    "--budget",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    metavar="TOKENS",
    help="The most a context may have.",
)
@click.option(
    "--window",
    type=click.IntRange(0),
    default=0,
    metavar="TOKENS",
    help="The model's window [default: by its name, 8,192 for one that is not known].",
)
@click.option(
    "--deadline",
    "deadline_ms",
    type=click.FloatRange(1),
    default=500.0,
    show_default=True,
    metavar="MS",
    help="A context that takes longer is left out.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(1),
    default=600.0,
    show_default=True,
    metavar="SECONDS",
    help="The longest silence of the API that is waited for.",
)
@click.option("--no-capture", is_flag=True, help="Recall, but remember nothing new.")
def serve_proxy(
    call: CliCall,
    upstream: str,
    port: int,
    user: str,
    budget: int,
    window: int,
    deadline_ms: float,
    timeout: float,
    no_capture: bool,
) -> int:
    """Serve a model's API with memory, documents and receipts.

    An application uses http://127.0.0.1:PORT/v1 in place of its API's base URL, with its own key. Chat
    completions, Anthropic's messages and responses get context; everything else passes as it is. The headers
    x-foreword-workspace, x-foreword-session and x-foreword-user say whose request it is; without a session
    and a user, it gets what is for everybody, such as documents, and nothing of it is remembered.
    """
    try:
        from foreword.edges.proxy.__main__ import build_proxy
        from foreword.edges.proxy.application import ProxyOptions
        from foreword.edges.proxy.asker import ProxyAsker
        from foreword.edges.proxy.upstream import Upstream
        from foreword.edges.service.loopback import listen_on_loopback, make_uvicorn_server

        importlib.import_module("uvicorn")
    except ImportError:
        raise MissingExtra("httpx2", "server") from None
    if len(user) > MAX_NAME_CHARACTERS:
        raise click.UsageError(f"--user has more than {MAX_NAME_CHARACTERS} characters")
    options = ProxyOptions(ProxyAsker(call.workspace, user=user), budget, deadline_ms, window)
    server = Upstream(upstream, timeout)
    try:
        socket = listen_on_loopback(port)
    except OSError as error:
        advice = "choose another with --port, 0 for any"
        raise ForewordError(f"port {port} cannot be used ({error.strerror}); {advice}") from error
    with socket as listening, open_engine(load_settings()) as engine:
        bound = listening.getsockname()[1]
        facts = {"url": f"http://127.0.0.1:{bound}/v1", "upstream": server.url, "workspace": call.workspace}
        whose = f"are {user}'s" if user else "get documents, and are not remembered (see --user)"
        note = f"{facts['url']} stands before {server.url}; requests that name nobody {whose}"
        call.answer(facts, note=f"{note}; Ctrl-C ends this")
        application = build_proxy(engine, server, options, bound, capture=not no_capture)
        make_uvicorn_server(application).run(sockets=[listening])
    return 0

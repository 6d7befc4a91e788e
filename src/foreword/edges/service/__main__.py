"""`python -m foreword.edges.service`: the service, with its responder, HTTP and MCP.

The command line uses the same two functions to serve in the foreground, and MCP over HTTP.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from foreword.edges.service.process import ServiceOptions, read_service_options, run_service
from foreword.errors import ForewordError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.applications import Starlette

    from foreword.config import Settings
    from foreword.edges.install.examine import Finding
    from foreword.edges.service.responder import HookResponder
    from foreword.engine.context_engine import ContextEngine


_DOCTOR_SECONDS, _DOCTOR_NICENESS = 60.0, 10


def main(options: ServiceOptions, settings: Settings | None = None) -> int:
    """Serve hooks, HTTP and MCP until stopped; returns the exit code of `run_service`."""
    return run_service(options, _build_responder, build_application, settings=settings)


def build_application(
    engine: ContextEngine,
    *,
    token: str,
    port: int,
    status: Callable[[], Mapping[str, Any]],
    metrics: Callable[[], str] | None = None,
    workspace: str | None = None,
) -> Starlette:
    """The HTTP application with MCP at /mcp and the page; MCP calls that name no workspace use `workspace`.

    The page's key is a new one each time, so one that a browser has stored is useless afterwards.
    """
    from foreword.edges.http.application import build_api
    from foreword.edges.http.guard import MAX_BODY_BYTES, allowed_hosts, allowed_origins
    from foreword.edges.mcp.protocol import build_http_app, server
    from foreword.edges.view.application import PageApplication
    from foreword.edges.view.health import RecentHealthFindings
    from foreword.edges.view.visit import PageBackend

    mcp = build_http_app(
        server(engine, workspace), allowed_hosts(port), allowed_origins(port), MAX_BODY_BYTES
    )
    findings = RecentHealthFindings(lambda name: _run_doctor(engine, name))
    page = PageApplication(PageBackend(engine, status, findings.find))
    key = secrets.token_urlsafe(24)
    return build_api(
        engine, token=token, port=port, status=status, metrics=metrics, mcp=mcp, page=page, page_key=key
    )


def _run_doctor(engine: ContextEngine, workspace: str) -> list[Finding]:
    """The findings of `foreword doctor`, run in its own process because it loads the models to check them."""
    from foreword.edges.install.examine import Finding

    command = [sys.executable, "-P", "-m", "foreword", "doctor", "--json", "--workspace", workspace]
    environment = {**os.environ, "FOREWORD_HOME": str(engine.settings.home.absolute())}
    folder = workspace if os.path.isabs(workspace) and os.path.isdir(workspace) else None  # noqa: PTH112, PTH117
    with subprocess.Popen(  # noqa: S603  (our own command)
        command, env=environment, cwd=folder,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as doctor:  # fmt: skip
        if hasattr(os, "setpriority"):
            os.setpriority(os.PRIO_PROCESS, doctor.pid, _DOCTOR_NICENESS)  # prompts come first
        try:
            printed, _ = doctor.communicate(timeout=_DOCTOR_SECONDS)
        except subprocess.TimeoutExpired:
            doctor.kill()
            raise
    try:
        report = json.loads(printed)
    except ValueError:
        return [Finding("doctor", "could not be asked", ok=False, advice="run: foreword doctor")]
    (diagnosis,) = report["workspaces"]
    sound = Finding("workspace", f"{diagnosis['items']:,} items: rows, indexes and vectors agree")
    problems = [Finding(**problem) for problem in diagnosis["problems"]]
    return [*(problems or [sound]), *(Finding(**finding) for finding in report["environment"])]


def _build_responder(engine: ContextEngine) -> HookResponder:
    from foreword.edges.service.responder import HookResponder

    return HookResponder(engine)


if __name__ == "__main__":
    try:
        sys.exit(main(read_service_options(sys.argv[1:])))
    except (ForewordError, OSError) as error:  # recorded where hooks and `doctor` look
        sys.exit(f"foreword: {error}")

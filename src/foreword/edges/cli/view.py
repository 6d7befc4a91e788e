"""View: open the page that shows what is remembered, what was injected and why, in a browser."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import time
import urllib.request
import webbrowser
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import click

from foreword.edges.cli import show
from foreword.edges.cli.common import CliCall, command, load_settings
from foreword.edges.cli.service import ensure_service
from foreword.edges.service.run_folder import RunFolder
from foreword.errors import ForewordError, MissingExtra, ValidationError

if TYPE_CHECKING:
    from pathlib import Path

    from foreword.config import Settings

_PARTS = ("now", "prompts", "try", "memory", "health")
_RECEIPT_ID = re.compile("(?:graph-)?[0-9a-f]+")
_HTTP_SECONDS = 30.0
_POLL_SECONDS = 0.05
_REDIRECT_NAME = "view.html"


@command("view", "foreword view\nforeword view prompts\nforeword view 4be1f02c99aa --no-browser")
@click.argument("place", metavar="[PART|RECEIPT]", default="now")
@click.option("--no-browser", is_flag=True, help="Say where the page is, and open nothing.")
def open_view(call: CliCall, place: str, no_browser: bool) -> int:
    """Open the page that shows what is remembered, and why it was said.

    PART is now, prompts, try, memory or health; anything else is the id of a receipt. The page is served on
    this machine alone, by the service, which is started if need be. Its address holds a key that lasts until
    the service stops: whoever has it can read and change what is remembered.
    """
    if place not in _PARTS and not _RECEIPT_ID.fullmatch(place):
        raise ValidationError(f"{place!r} is neither a receipt's id nor a part: {', '.join(_PARTS)}")
    settings = load_settings()
    try:
        for module in ("starlette", "uvicorn", "mcp.server"):
            importlib.import_module(module)
    except ImportError:
        raise MissingExtra("view", "server") from None
    ensure_service(settings)
    address = _find_page_address(settings, call.workspace, place)
    is_open = not no_browser and not call.as_json and _open_browser(settings, address)
    call.answer({"address": address, "opened": is_open}, address)
    if not is_open and not no_browser and not call.as_json:
        show.print_note("no browser was found; open the address above in one on this machine")
    return 0


def _find_page_address(settings: Settings, workspace: str, place: str) -> str:
    """The address of a part of the page or of a receipt, with the page's key."""
    plain, _, key = _request_page_address_from_service(settings).partition("#")
    part = place if place in _PARTS else f"prompts/{quote(place, safe='')}"
    return f"{plain}/{part}?{urlencode({'w': workspace})}#{key}"


def _request_page_address_from_service(settings: Settings) -> str:
    """The address of the page, from the service, once it serves HTTP; ForewordError if it does not."""
    run = RunFolder(settings.home)
    until = time.monotonic() + _HTTP_SECONDS
    while not run.http_file.exists():
        if time.monotonic() > until or run.running_pid() is None:
            raise ForewordError(f"the service serves no page; its log is {run.log}")
        time.sleep(_POLL_SECONDS)
    port = int(json.loads(run.http_file.read_text())["port"])
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/view", headers={"Authorization": f"Bearer {run.read_or_create_token()}"}
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=_HTTP_SECONDS) as answer:
        facts: dict[str, Any] = json.load(answer)
    return str(facts["address"])


def _open_browser(settings: Settings, address: str) -> bool:
    """Open a browser on the page, and return whether one was found.

    It opens a file of ours that redirects to the page: other users could read the key on a command line.
    """
    file = settings.home.absolute() / "run" / _REDIRECT_NAME
    _write_redirect(file, address)
    with contextlib.suppress(webbrowser.Error):
        return webbrowser.open(file.as_uri())
    return False


def _write_redirect(file: Path, address: str) -> None:
    """Write a file that redirects a browser to the address, readable by its owner alone."""
    file.unlink(missing_ok=True)
    refresh = f'<meta http-equiv="refresh" content="0; url={escape(address)}">'
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(f"<!doctype html>{refresh}<title>Foreword</title>")

"""The ways in which a text can reach the disk ("doors"), each really used, and what is on the disk then.

Every door has its own home. A text is passed as a user, an agent, a program or a repository would pass it;
then all files of the home are read as bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import os
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from foreword.config import Settings
from foreword.edges.cli.main import run as run_command
from foreword.edges.langgraph.store import ForewordStore
from foreword.edges.mcp.tools import MemoryTools
from foreword.edges.service.__main__ import build_application
from foreword.edges.service.process import RedactingFilter
from foreword.edges.service.responder import HookResponder
from foreword.edges.shared.spool_files import write_to_spool
from foreword.engine.context_engine import ContextEngine
from foreword.indexing.indexer import Indexer
from foreword.indexing.knowledge_base import Document, KnowledgeBase
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

_WORKSPACE = "secrets"
_AT = datetime(2026, 1, 5, 9, tzinfo=UTC)
_TOKEN = "measure-" + "m" * 32
_PORT = 8765


@dataclass(frozen=True, slots=True)
class Door:
    """One way in which texts reach the disk; `bring` passes texts that way into a home."""

    name: str
    bring: Callable[[Path, Sequence[str]], None]


def read_home(home: Path) -> bytes:
    """The bytes of all files of a home."""
    return b"\n".join(path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file())


@contextlib.contextmanager
def _open_engine(home: Path) -> Iterator[ContextEngine]:
    with ContextEngine(settings=Settings(home=home, embedding="none", reader="none")) as engine:
        yield engine


def _bring_by_hook(home: Path, texts: Sequence[str], event: Callable[[str], dict[str, Any]]) -> None:
    """Pass the texts as events of an agent's hook."""
    with _open_engine(home) as engine:
        responder = HookResponder(engine)
        for number, text in enumerate(texts):
            payload = {"session_id": f"s{number}", "cwd": str(home.parent), **event(text)}
            responder.answer_and_store(json.dumps(payload).encode(), _AT, None)


def _prompt_event(text: str) -> dict[str, Any]:
    return {"hook_event_name": "UserPromptSubmit", "prompt": text}


def _message_event(text: str) -> dict[str, Any]:
    return {"hook_event_name": "Stop", "last_assistant_message": text}


def _tool_input_event(text: str) -> dict[str, Any]:
    given = {"command": f"./deploy.sh <<'END'\n{text}\nEND", "description": text}
    name, answer = "PostToolUse", {"stdout": "deployed", "exit_code": 0}
    return {"hook_event_name": name, "tool_name": "Bash", "tool_input": given, "tool_response": answer}


def _tool_output_event(text: str) -> dict[str, Any]:
    given, answer = {"command": "make deploy"}, {"stdout": f"error: no\n{text}", "exit_code": 1}
    name = "PostToolUse"
    return {"hook_event_name": name, "tool_name": "Bash", "tool_input": given, "tool_response": answer}


def _tool_edit_event(text: str) -> dict[str, Any]:
    given = {"file_path": "/x/notes.md", "old_string": "", "new_string": text}
    return {"hook_event_name": "PostToolUse", "tool_name": "Edit", "tool_input": given, "tool_response": "ok"}


def _bring_to_spool(home: Path, texts: Sequence[str]) -> None:
    for number, text in enumerate(texts):
        write_to_spool(
            str(home), f"{1_760_000_000 + number}.000000", json.dumps(_prompt_event(text)).encode()
        )


def _bring_by_command(home: Path, texts: Sequence[str]) -> None:
    before = {name: os.environ.get(name) for name in ("FOREWORD_HOME", "FOREWORD_EMBEDDING")}
    os.environ |= {"FOREWORD_HOME": str(home), "FOREWORD_EMBEDDING": "none"}
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            for text in texts:
                run_command(["remember", "--workspace", _WORKSPACE, "--", text])
            run_command(["export", str(home / "backup.jsonl"), "--workspace", _WORKSPACE])
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _bring_by_http(home: Path, texts: Sequence[str]) -> None:
    import httpx

    async def post_all(engine: ContextEngine) -> None:
        application = build_application(engine, token=_TOKEN, port=_PORT, status=dict)
        transport = httpx.ASGITransport(app=application)
        headers = {"Authorization": f"Bearer {_TOKEN}"}
        async with httpx.AsyncClient(
            transport=transport, base_url=f"http://127.0.0.1:{_PORT}", headers=headers
        ) as client:
            for text in texts:
                body = {"workspace": _WORKSPACE, "text": text, "metadata": {"note": text}}
                (await client.post("/v1/remember", json=body)).raise_for_status()

    with _open_engine(home) as engine:
        asyncio.run(post_all(engine))


def _bring_by_mcp(home: Path, texts: Sequence[str]) -> None:
    with _open_engine(home) as engine:
        tools = MemoryTools(lambda: engine, _WORKSPACE)
        for text in texts:
            tools.memory_store(text)


def _bring_by_graph(home: Path, texts: Sequence[str]) -> None:
    with _open_engine(home) as engine:
        store = ForewordStore(engine, _WORKSPACE)
        for number, text in enumerate(texts):
            store.put(("notes",), f"n{number}", {"text": text})


def _bring_questions(home: Path, texts: Sequence[str]) -> None:
    """Ask the texts as questions, whose receipts are stored."""
    with _open_engine(home) as engine:
        for text in texts:
            engine.build_context(text, _WORKSPACE)


def _bring_documents(home: Path, texts: Sequence[str]) -> None:
    with _open_engine(home) as engine:
        documents = [
            Document(f"Note {number}", text, doc_id=f"n{number}") for number, text in enumerate(texts)
        ]
        KnowledgeBase(engine, _WORKSPACE).index_documents(documents)


def _bring_files(home: Path, texts: Sequence[str]) -> None:
    folder = home.parent / "files"
    folder.mkdir()
    for number, text in enumerate(texts):
        (folder / f"note{number}.md").write_text(f"# Note {number}\n\n{text}\n", encoding="utf-8")
        (folder / f"note{number}.py").write_text(f"NOTE = 1\n{text}\n", encoding="utf-8")
    with _open_engine(home) as engine:
        Indexer(engine).index(folder, str(folder), commits=False)


def _bring_commits(home: Path, texts: Sequence[str]) -> None:
    folder = home.parent / "history"
    folder.mkdir()
    who = ("-c", "user.name=anna", "-c", "user.email=anna@x.example")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)  # noqa: S607
    for text in texts:
        command = ["git", *who, "commit", "-q", "--allow-empty", "--cleanup=verbatim", "-F", "-"]
        subprocess.run(command, cwd=folder, input=text.encode(), check=True)  # noqa: S603
    with _open_engine(home) as engine:
        Indexer(engine).index(folder, str(folder))


def _bring_to_log(home: Path, texts: Sequence[str]) -> None:
    home.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(home / "service.log", encoding="utf-8")
    handler.addFilter(RedactingFilter())
    plain, ours = logging.getLogger("foreword.measure.plain"), get_logger("foreword.measure.ours")
    loggers = [plain, logging.getLogger("foreword.measure.ours")]
    for logger in loggers:
        logger.addHandler(handler)
        logger.propagate = False
    try:
        for text in texts:
            plain.warning("it failed: %s", text)
            ours.warning("it failed", problem=text)
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
            logger.propagate = True
        handler.close()


def _hook_door(name: str, event: Callable[[str], dict[str, Any]]) -> Door:
    return Door(name, lambda home, texts: _bring_by_hook(home, texts, event))


DOORS = (
    _hook_door("a prompt", _prompt_event),
    _hook_door("an agent's message", _message_event),
    _hook_door("a tool's input", _tool_input_event),
    _hook_door("a tool's output", _tool_output_event),
    _hook_door("an edit", _tool_edit_event),
    Door("the spool", _bring_to_spool),
    Door("the command line, and a backup", _bring_by_command),
    Door("HTTP", _bring_by_http),
    Door("MCP", _bring_by_mcp),
    Door("a graph's store", _bring_by_graph),
    Door("a question, in its receipt", _bring_questions),
    Door("a document", _bring_documents),
    Door("files", _bring_files),
    Door("commits", _bring_commits),
    Door("the log", _bring_to_log),
)

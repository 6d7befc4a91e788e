from __future__ import annotations

import json
from datetime import timedelta
from itertools import count

import pytest

from foreword.edges.service.responder import HookResponder
from foreword.errors import StorageError

SECRET = "Mauve-Otter-58"
REVEALED = f"the admin password for orion is {SECRET}, use it for the smoke test"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    return str(tmp_path / "shop")


@pytest.fixture
def responder(engine):
    return HookResponder(engine)


@pytest.fixture
def tell(clock, folder, responder):
    """Have an event answered and stored, a second after the one before."""
    seconds = count(1)

    def handle(name, responder=responder, session="monday", **facts):
        event = {"hook_event_name": name, "session_id": session, "cwd": folder, **facts}
        at = clock.now + timedelta(seconds=next(seconds))
        return responder.answer_and_store(json.dumps(event).encode(), at, None)

    return handle


def stored_words(engine, folder):
    """Every text of the store."""
    return "\n".join(f"{item.about} {item.text} {dict(item.metadata)}" for item in engine.store.scan(folder))


def files_with_secret(engine):
    """The files of the home, receipts and logs among them, that hold the secret."""
    files = [path for path in engine.settings.home.rglob("*") if path.is_file()]
    assert files
    return [path for path in files if SECRET.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    "repeated",
    [
        {"name": "Stop", "last_assistant_message": f"I logged in with {SECRET} and the smoke test passes."},
        {"name": "Stop", "last_assistant_message": f"It is `{SECRET}`, as in **{SECRET}**."},
        {"name": "UserPromptSubmit", "prompt": f"try {SECRET}. once more on the staging host"},
        {
            "name": "PostToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": f"./smoke --as admin {SECRET} --orion", "description": f"use {SECRET}"},
            "tool_response": {"stdout": f"orion said hello to {SECRET}", "stderr": f"{SECRET}?"},
        },
        {
            "name": "PostToolUse",
            "tool_name": "Write",
            "tool_input": {"file_path": f"notes/{SECRET}.md", "content": f"orion: {SECRET}"},
        },
        {
            "name": "PostToolUse",
            "tool_name": "Task",
            "tool_response": f"The subagent used {SECRET} on orion.",
        },
        {"name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": f"orion-login {SECRET}"}},
    ],
)
def test_a_secret_that_was_recognised_once_is_redacted_in_all_that_follows(engine, folder, tell, repeated):
    tell("UserPromptSubmit", prompt=REVEALED)
    tell(**repeated)
    tell("SessionEnd")
    assert "[redacted:password]" in stored_words(engine, folder)
    assert SECRET not in stored_words(engine, folder)
    assert files_with_secret(engine) == []


def test_the_summary_of_the_session_does_not_hold_it_either(engine, folder, tell):
    tell("UserPromptSubmit", prompt=REVEALED)
    tell("Stop", last_assistant_message=f"I changed the login of the crawler to {SECRET}.")
    (summary,) = (item for item in engine.store.scan(folder) if item.kind == "summary")
    assert "login of the crawler" in summary.text
    assert SECRET not in summary.text


@pytest.mark.parametrize(
    ("shown", "again"),
    [
        ("DB_PASSWORD=q7Lw2-zzP9", "The database took q7Lw2-zzP9 at once."),
        ("export STRIPE=sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc", "I used sk_live_4eC39HqLyjWDarjtT1zdp7dc."),
        ("postgres://ana:Vx9!kd72p@db/shop", "Ana's word is Vx9!kd72p here, Vx9%21kd72p in a URL."),
    ],
)
def test_a_secret_that_a_tool_printed_is_recognised_as_well(engine, folder, tell, shown, again):
    given = {"tool_name": "Bash", "tool_input": {"command": "make env"}, "tool_response": {"stdout": shown}}
    tell("PostToolUse", **given)
    tell("Stop", last_assistant_message=again)
    (message,) = (
        item.text
        for item in engine.store.scan(folder)
        if item.source.trust == "agent" and item.kind == "turn"
    )
    assert "[redacted:" in message
    assert not any(word in message for word in ("q7Lw2", "4eC39", "kd72p"))


def test_a_word_that_is_not_distinctive_stays_a_word(engine, folder, tell):
    tell("UserPromptSubmit", prompt='the password of the demo is "sunshine", by the way')
    tell("Stop", last_assistant_message="The sunshine widget of the weather page is done.")
    assert "The sunshine widget of the weather page is done." in stored_words(engine, folder)


def test_another_session_is_read_as_before(engine, folder, tell):
    tell("UserPromptSubmit", prompt=REVEALED)
    tell("Stop", session="tuesday", last_assistant_message=f"The ship {SECRET} is in the harbour.")
    assert f"The ship {SECRET} is in the harbour." in stored_words(engine, folder)


def test_a_folder_that_bears_the_name_of_a_secret_keeps_its_name(engine, tmp_path, tell):
    place = tmp_path / SECRET
    (place / ".git").mkdir(parents=True)
    tell("UserPromptSubmit", prompt=REVEALED, cwd=str(place))
    tell("Stop", last_assistant_message="The smoke test of orion passes.", cwd=str(place))
    assert "The smoke test of orion passes." in stored_words(engine, str(place))


def test_what_has_to_wait_in_the_spool_is_written_without_it(engine, tmp_path, folder, tell, monkeypatch):
    tell("UserPromptSubmit", prompt=REVEALED)

    def fail(*_, **__):
        raise StorageError("the disk is full")

    monkeypatch.setattr(engine, "remember_all", fail)
    tell("Stop", last_assistant_message=f"I logged in with {SECRET} and the smoke test passes.")
    (waiting,) = (engine.settings.home / "spool").glob("*.event")
    assert "smoke test passes" in waiting.read_text()
    assert SECRET not in waiting.read_text()

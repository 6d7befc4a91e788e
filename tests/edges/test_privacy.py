"""What must not be kept, through the doors that agents and people use: hooks, commands, HTTP, MCP, Python.

After each, every file of the data folder is searched for the words: databases, logs, spool, vectors.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from foreword import ContextEngine, Settings
from foreword.capture.pauses import begin_pause, end_pauses
from foreword.edges import hook_client
from foreword.edges.hook_client import HookEvent, NoAnswer
from foreword.edges.mcp.tools import MemoryTools
from foreword.edges.service import spool
from foreword.edges.service.__main__ import build_application
from foreword.edges.service.responder import HookResponder
from foreword.edges.shared.spool_files import write_to_spool
from foreword.edges.shared.vector_requests import request_vectors
from foreword.errors import StorePaused
from foreword.indexing.indexer import Indexer
from foreword.testing import HashEmbeddings

pytestmark = pytest.mark.usefixtures("no_model")
WORD = "zanzibar"
SAID = f"The launch code name is {WORD}, and the harbour office must not hear of it."


def files_with(home, word=WORD):
    """The files under a folder that hold a word, as it is or as SQLite and JSON write it."""
    return [
        path.relative_to(home).as_posix()
        for path in sorted(home.rglob("*"))
        if path.is_file() and word.encode() in path.read_bytes().lower()
    ]


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


@pytest.fixture
def start_service(home, until):
    """Start the real service as a process; gives it when it is ready."""

    def is_ready():
        options = ["--home", str(home), "--agent", "status", "--deadline-ms", "5000"]
        with contextlib.suppress(OSError, NoAnswer), contextlib.chdir("."):
            return hook_client.ask_service(HookEvent(options, hook_client.time.monotonic()), b"")

    def start():
        command = [sys.executable, "-m", "foreword.edges.service"]
        started.append(subprocess.Popen(command, env=os.environ.copy()))
        until(is_ready, "the service was never ready")
        return started[-1]

    started = []
    yield start
    for process in started:
        process.terminate()
        process.wait(120)


@pytest.fixture
def service(start_service):
    """The real service as a process."""
    return start_service()


@pytest.fixture
def tell(hook, project):
    """Send an event through the real hook from the project; gives the answer."""

    def send(event, **fields):
        ran = hook(event, interpreter=sys.executable, answered=True, **{"cwd": str(project), **fields})
        assert ran.code == 0
        return json.loads(ran.out) if ran.out else {}

    return send


def say_everything(tell, **fields):
    """A whole turn of a session that holds the word in each of its events."""
    tell("UserPromptSubmit", prompt=SAID, **fields)
    tell("PreToolUse", tool_name="Bash", tool_input={"command": f"echo {WORD} > x"}, **fields)
    tell(
        "PostToolUse", tool_name="Bash", tool_input={"command": f"make {WORD}"},
        tool_response={"stdout": f"{WORD} was made", "stderr": ""}, **fields,
    )  # fmt: skip
    tell("Stop", last_assistant_message=f"I have made {WORD} and told nobody of it.", **fields)
    tell("SessionEnd", reason="other", **fields)


# Pauses


def test_without_a_pause_the_turn_is_kept(service, tell, home):
    say_everything(tell)
    assert any(name.endswith(("memory.db", "-wal")) for name in files_with(home))


@pytest.mark.parametrize("words", [("pause",), ("pause", "--for", "2h"), ("pause", "--project")])
def test_what_is_said_in_a_pause_is_nowhere(
    service, start_service, tell, home, project, monkeypatch, foreword, words
):
    monkeypatch.chdir(project)
    assert foreword(*words).code == 0
    started = tell("SessionStart", source="startup")
    assert set(started) == {"systemMessage"}
    assert "paused" in started["systemMessage"]
    assert "foreword resume" in started["systemMessage"]
    say_everything(tell)
    service.terminate()
    service.wait(120)
    assert files_with(home) == []
    assert not list((home / "workspaces").rglob("*.db")) if (home / "workspaces").exists() else True
    assert foreword("resume").code == 0
    start_service()
    say_after = tell("UserPromptSubmit", prompt="Which deploys happen on Tuesdays?")
    assert "systemMessage" not in say_after


def test_a_pause_recalls_nothing(service, tell, project, monkeypatch, foreword):
    monkeypatch.chdir(project)
    foreword("remember", SAID)
    assert WORD in json.dumps(
        tell("UserPromptSubmit", prompt="What is the launch code name?", session_id="a")
    )
    foreword("pause")
    assert tell("UserPromptSubmit", prompt="What is the launch code name?", session_id="b") == {}


def test_without_a_service_a_hook_leaves_nothing_of_a_pause_in_the_spool(hook, home, project, until):
    begin_pause(home, 0.0)
    hook("UserPromptSubmit", prompt=SAID, cwd=str(project), interpreter="/bin/false")
    log = home / "run" / "hook.log"
    until(lambda: log.exists() and "UserPromptSubmit" in log.read_text(), "the hook never said why")
    assert files_with(home) == []
    assert not list((home / "spool").glob("*")) if (home / "spool").exists() else True


@pytest.mark.parametrize("restarted", [False, True])
def test_the_answer_to_a_prompt_of_the_pause_is_not_kept_after_it(home, project, engine, clock, restarted):
    """Nor if the service was started anew in between, and so has not seen the prompt itself."""
    first = HookResponder(engine)
    begin_pause(home, clock.now.timestamp() - 60, clock.now.timestamp() + 60)

    def send(event, at, **fields):
        body = {"hook_event_name": event, "session_id": "s", "cwd": str(project), **fields}
        responder = HookResponder(engine) if restarted else first
        return responder.answer_and_store(json.dumps(body).encode(), at, None)

    later = clock.now + timedelta(hours=1)
    send("UserPromptSubmit", clock.now, prompt=SAID)
    send("Stop", later, last_assistant_message=f"As you said, {WORD} is the name.")
    send("PostCompact", later, compact_summary=f"The user spoke of {WORD}.")
    assert engine.count(str(project)).items == 0
    send("UserPromptSubmit", later, prompt="Deploys happen on Tuesdays from now on.")
    send("Stop", later, last_assistant_message="Deploys happen on Tuesdays: noted in the calendar.")
    assert engine.count(str(project)).kinds["turn"] == 2
    assert not engine.find_by_words(str(project), WORD)


def test_without_a_service_the_answer_to_a_prompt_of_the_pause_is_not_spooled_after_it(hook, home, project):
    begin_pause(home, 0.0)
    hook("UserPromptSubmit", prompt=SAID, cwd=str(project), interpreter="/bin/false")
    end_pauses(home, datetime.now(UTC).timestamp(), "")
    hook("Stop", last_assistant_message=SAID, cwd=str(project), interpreter="/bin/false")
    assert files_with(home) == []
    hook("UserPromptSubmit", prompt="Now go on.", cwd=str(project), interpreter="/bin/false")
    hook("Stop", last_assistant_message=SAID, cwd=str(project), interpreter="/bin/false")
    assert len(files_with(home)) == 1


def test_what_was_said_before_the_pause_and_still_waits_is_stored_after_it(home, project, monkeypatch):
    said_at = datetime.now(UTC) - timedelta(minutes=5)
    body = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(project), "prompt": SAID}
    write_to_spool(str(home), f"{said_at.timestamp():.6f}", json.dumps(body).encode())
    begin_pause(home, said_at.timestamp() + 60)
    with ContextEngine(settings=Settings(home=home, embedding="none")) as engine:
        responder = HookResponder(engine)
        assert spool.drain_spool(home / "spool", responder.capture).waiting == 1
        end_pauses(home, datetime.now(UTC).timestamp(), "")
        assert spool.drain_spool(home / "spool", responder.capture).stored == 1
        assert [item.text for item in engine.store.scan(str(project))] == [SAID]


def test_in_a_pause_every_explicit_door_says_so_and_keeps_nothing(foreword, home, project, monkeypatch):
    monkeypatch.chdir(project)
    (project / "notes.md").write_text(f"# Plan\n\n{SAID}\n")
    foreword("pause")
    attempt = ("--domain", "debugging", "--strategy", "ask-user", "--goal", SAID, "--hypothesis", "h")
    attempt = ("experience", "start", *attempt, "--action", "a", "--prediction", "p")
    for words in (("remember", SAID), ("index", "."), attempt):
        ran = foreword(*words)
        assert ran.code == 3, words
        assert "foreword resume" in ran.err
    assert foreword("context", SAID).code == 1
    assert foreword("search", SAID).code == 1
    with ContextEngine(settings=Settings(home=home, embedding="none")) as engine:
        with pytest.raises(StorePaused, match="foreword resume"):
            engine.remember(SAID, str(project))
        engine.build_context(SAID, str(project))
    assert files_with(home) == []


@pytest.fixture
def http(engine, serve_application):
    """A client of the HTTP door."""
    token = secrets.token_urlsafe(32)
    with serve_application(
        lambda port: build_application(engine, token=token, port=port, status=dict)
    ) as port:
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=120) as client:
            yield client


def test_over_http_a_pause_is_an_error_and_what_is_private_is_left_out(http, home, engine):
    said = {"workspace": "shop", "text": f"Deploys happen on Tuesdays. <private>{SAID}"}
    assert http.post("/v1/remember", json=said).status_code == 200
    asked = {"workspace": "shop", "query": f"When do deploys happen? <private>{SAID}"}
    assert http.post("/v1/context", json=asked).status_code == 200
    begin_pause(home, 0.0)
    refused = http.post("/v1/remember", json={"workspace": "shop", "text": SAID})
    assert refused.status_code == 503
    assert "foreword resume" in refused.json()["error"]["message"]
    assert engine.count("shop").items == 1
    assert files_with(home) == []


def test_a_lookup_in_a_pause_leaves_no_receipt(foreword, home, project, monkeypatch):
    monkeypatch.chdir(project)
    foreword("remember", "Deploys happen on Tuesdays, never on Fridays.")
    foreword("pause")
    ran = foreword("context", f"When do deploys happen, {WORD}?")
    assert "Tuesdays" in ran.out
    assert "no receipt kept: Foreword is paused" in " ".join(ran.err.split())
    assert files_with(home) == []
    assert foreword("why").code == 1


def test_to_resume_says_what_is_still_paused(foreword):
    assert foreword("resume").code == 1
    foreword("pause", "-w", "/elsewhere")
    foreword("pause", "--for", "3d")
    ran = foreword("resume")
    assert (ran.code, "/elsewhere" in ran.err) == (0, True)
    assert foreword("resume", "-w", "/elsewhere", "--json").json["still_paused"] == []


@pytest.mark.parametrize("length", ["2", "h", "0h", "-1h", "2 hours", "1y"])
def test_a_length_of_time_that_is_none_is_refused(foreword, home, length):
    ran = foreword("pause", "--for", length)
    assert (ran.code, "30m, 2h, 1d" in ran.err) == (2, True)
    assert not (home / "pauses.json").exists()


# A project's own settings


def test_a_project_that_is_off_keeps_nothing_and_says_so(service, tell, home, project, foreword, monkeypatch):
    (project / ".foreword.toml").write_text("off = true\n")
    started = tell("SessionStart", source="startup")
    assert set(started) == {"systemMessage"}
    assert ".foreword.toml" in started["systemMessage"]
    say_everything(tell)
    below = project / "deep"
    below.mkdir()
    say_everything(tell, cwd=str(below))
    monkeypatch.chdir(project)
    assert foreword("remember", SAID).code == 3
    assert files_with(home) == []


@pytest.mark.parametrize(
    "text", ["off = ", "of = true", 'off = "yes"', 'exclude = "secrets"', "exclude = [1]", "\xff"]
)
def test_a_project_file_that_is_not_understood_keeps_nothing(home, project, engine, clock, text):
    (project / ".foreword.toml").write_bytes(text.encode("latin-1"))
    responder = HookResponder(engine)
    body = {"session_id": "s", "cwd": str(project)}
    start = json.dumps({**body, "hook_event_name": "SessionStart", "source": "startup"}).encode()
    prompt = json.dumps({**body, "hook_event_name": "UserPromptSubmit", "prompt": SAID}).encode()
    assert ".foreword.toml" in json.loads(responder.answer_and_store(start, clock.now, None))["systemMessage"]
    assert responder.answer_and_store(prompt, clock.now, None) == b""
    assert engine.count(str(project)).items == 0


def test_excluded_paths_are_never_remembered_from_tool_calls(service, tell, home, project):
    (project / ".foreword.toml").write_text('exclude = ["secrets/", "*.pem"]\n')
    calls = [
        ("Bash", {"command": "make secrets/prod.env"}, f"wrote {WORD}"),
        ("Bash", {"command": "make all"}, f"./secrets/prod.env: {WORD}"),
        ("Write", {"file_path": str(project / "secrets" / "a.py"), "content": f"x = '{WORD}'"}, "ok"),
        ("Edit", {"file_path": "deep/key.pem", "old_string": "a", "new_string": WORD}, "ok"),
        ("mcp__files__put", {"path": "secrets/a"}, f"stored {WORD} there for good"),
    ]
    for tool, given, output in calls:
        facts = {"tool_name": tool, "tool_input": given}
        tell("PreToolUse", **facts)
        tell("PostToolUse", **facts, tool_response={"stdout": output, "stderr": ""})
    tell("PostToolUse", tool_name="Bash", tool_input={"command": "make harbour"}, tool_response="built")
    service.terminate()
    service.wait(120)
    assert files_with(home) == []
    assert files_with(home, "harbour")


def test_excluded_files_are_not_indexed_and_leave_the_index(engine, project):
    (project / "plan.md").write_text(f"# Plan\n\n{SAID}\n")
    (project / "read.md").write_text("# Read me\n\nDeploys happen on Tuesdays.\n")
    workspace = str(project)
    Indexer(engine).index(project, workspace)
    assert engine.find_by_words(workspace, WORD)
    (project / ".foreword.toml").write_text('exclude = ["plan.md"]\n')
    told = engine.build_context("What is the launch code name?", workspace, floor=0.0).context
    assert WORD not in told
    indexed = Indexer(engine).index(project, workspace)
    assert indexed.skipped["excluded"] == 1
    assert not engine.find_by_words(workspace, WORD)
    assert engine.find_by_words(workspace, "Tuesdays")


# What is marked private

MARKED = [
    f"Deploys happen on Tuesdays. <private>{SAID}</private> And on no other day.",
    f"Deploys happen on Tuesdays, and on no other day. <private>{SAID}",
    f"Deploys happen on Tuesdays. <PRIVATE>{SAID}<private>{SAID}</private>{SAID}</Private> On no other day.",
    f"Deploys happen on Tuesdays. < private >{SAID}\n\n{SAID}</ private > And on no other day.",
    f"Deploys happen on Tuesdays. <private>{'long ' * 900}{SAID}{'long ' * 900}</private> When do they?",
]


@pytest.mark.parametrize("text", MARKED)
def test_what_is_marked_private_in_a_session_is_nowhere(service, tell, home, text):
    tell("SessionStart", source="startup")
    tell("UserPromptSubmit", prompt=text)
    tell("PreToolUse", tool_name="Bash", tool_input={"command": f"echo '{text}' > x"})
    tell("PostToolUse", tool_name="Bash", tool_input={"command": f"make x # {text}"}, tool_response=text)
    tell("Stop", last_assistant_message=text)
    tell("SessionEnd", reason="other")
    service.terminate()
    service.wait(120)
    assert files_with(home) == []
    assert files_with(home, "tuesdays")


@pytest.mark.parametrize("text", MARKED)
def test_what_is_marked_private_is_nowhere_whichever_door_it_comes_through(
    foreword, home, project, monkeypatch, text
):
    monkeypatch.chdir(project)
    where = str(project)
    foreword("remember", text, "--about", f"x <private>{WORD}</private>", "--meta", f"note=<private>{WORD}",
             "--type", f"t<private>{WORD}</private>")  # fmt: skip
    foreword("context", text)
    foreword("search", text)
    line = json.dumps({"text": text, "metadata": {"a": [f"<private>{WORD}</private>"]}})
    foreword("import", "-", stdin=line.encode())
    with ContextEngine(settings=Settings(home=home), embedding_provider=HashEmbeddings()) as engine:
        engine.remember(text, where, session=f"<private>{WORD}</private>")
        engine.build_context(text, where)
        tools = MemoryTools(lambda: engine, where)
        tools.memory_store(text)
        tools.memory_search(text)
        tools.context_build(text)
    write_to_spool(
        str(home), "1800000000.0",
        json.dumps({"hook_event_name": "UserPromptSubmit", "cwd": where, "prompt": text}).encode(),
    )  # fmt: skip
    assert files_with(home) == []
    assert files_with(home, "tuesdays")


def test_a_text_that_is_private_as_a_whole_is_refused(foreword, home):
    ran = foreword("remember", f"<private>{SAID}")
    assert (ran.code, "private" in ran.err) == (2, True)
    assert files_with(home) == []


# Forgetting by words


def test_forgetting_by_words_shows_what_goes_and_waits_for_yes(foreword, shop, home):
    ran = foreword("forget", "--query", "postgres json")
    assert (ran.code, shop["postgres"] in ran.out, "--yes" in ran.err) == (1, True, True)
    preview = foreword("forget", "--query", "Postgres", "--json")
    assert [one["id"] for one in preview.json["would_forget"]] == [shop["postgres"]]
    assert foreword("search", "Postgres").code == 0
    ran = foreword("forget", "--query", "Postgres", "--yes", "--json")
    assert (ran.code, ran.json["forgotten"], ran.json["problems"]) == (0, [shop["postgres"]], [])
    assert files_with(home, "postgres") == []
    assert files_with(home, "tuesdays")


def test_forgetting_by_words_asks_at_a_terminal(foreword, shop, terminal):
    ran = foreword("forget", "--query", "tuesday", stdin=terminal("n\n"))
    assert (ran.code, shop["tuesday"] in ran.out) == (1, True)
    assert foreword("forget", "--query", "tuesday", stdin=terminal("y\n")).code == 0
    assert foreword("forget", "--query", "tuesday", "--yes").code == 1


def test_what_was_asked_goes_with_what_is_forgotten(foreword, home):
    foreword("remember", SAID)
    foreword("context", f"Who may hear of {WORD}?")
    foreword("context", SAID)
    assert foreword("forget", "--query", WORD, "--yes").code == 0
    assert files_with(home) == []


def test_a_prompt_that_is_forgotten_leaves_its_receipt_with_it(
    service, tell, home, project, foreword, monkeypatch, until
):
    monkeypatch.chdir(project)
    tell("UserPromptSubmit", prompt=SAID)
    until(lambda: foreword("search", WORD).code == 0, "the prompt was never stored")
    until(lambda: not list((home / "spool").glob("*.event")), "the spool was never empty")
    (found,) = foreword("search", WORD, "--json").json
    assert foreword("forget", found["id"]).code == 0
    service.terminate()
    service.wait(120)
    assert files_with(home) == []


# Purging


def test_a_purge_leaves_nothing_but_the_users_settings(
    service, tell, home, project, foreword, monkeypatch, until
):
    monkeypatch.chdir(project)
    (home / "config.toml").write_text('template = "chat"\n')
    (home / "mine.txt").write_text("not Foreword's")
    request_vectors(home, str(project))
    say_everything(tell)
    foreword("remember", SAID)
    assert foreword("purge").code == 2, "in a script it needs --yes"
    assert foreword("purge", "--json").code == 2
    ran = foreword("purge", "--yes", "--json")
    assert (ran.code, ran.json["files"] > 2) == (0, True)
    service.wait(120)
    assert sorted(path.name for path in home.rglob("*")) == ["config.toml", "mine.txt"]
    assert foreword("purge", "--yes").code == 1


def test_a_purge_asks_at_a_terminal_and_works_with_settings_that_are_wrong(foreword, shop, home, terminal):
    (home / "config.toml").write_text("tokn = 3")
    assert foreword("purge", stdin=terminal("n\n")).code == 1
    assert files_with(home, "postgres")
    assert foreword("purge", stdin=terminal("y\n")).code == 0
    assert files_with(home, "postgres") == []


def test_a_pause_outlives_a_purge(foreword, shop, home):
    foreword("pause")
    foreword("purge", "--yes")
    assert foreword("remember", SAID).code == 3


def put_into_spool(home):
    """Let a prompt of the session s wait in the spool, and beside it what nobody can read; gives its file."""
    body = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(Path.cwd()), "prompt": SAID}
    write_to_spool(str(home), f"{datetime.now(UTC).timestamp():.6f}", json.dumps(body).encode())
    unreadable = home / "spool" / "bad" / "1.event"
    unreadable.parent.mkdir()
    unreadable.write_text(f"{WORD} without its brackets")
    return unreadable


def test_what_waits_in_the_spool_is_forgotten_too_and_does_not_come_back(foreword, home):
    put_into_spool(home)
    assert WORD in foreword("forget", "--query", WORD).out
    assert len(files_with(home)) > 1, "without --yes it is only shown"
    assert foreword("forget", "--query", WORD, "--yes").code == 0
    assert files_with(home) == []


@pytest.fixture
def mcp_command(home, first_json):
    """The address and the headers of `foreword mcp --http`, run as a process for the workspace shop."""
    command = [sys.executable, "-m", "foreword", "mcp", "--http", "--json", "-w", "shop"]
    environment = {**os.environ, "FOREWORD_EMBEDDING": "none"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    where = first_json(process)
    token = Path(where["token_file"]).read_text().strip()
    yield where["url"].removesuffix("/mcp"), {"Authorization": f"Bearer {token}"}
    process.terminate()
    process.communicate(timeout=120)


def forget_over_http(address, headers):
    asked = {"workspace": str(Path.cwd()), "session": "s"}
    return httpx.post(f"{address}/v1/forget", json=asked, headers=headers, timeout=120).json()["ids"]


def forget_over_mcp(address, headers, **more):
    call = {"name": "memory_forget", "arguments": {"session": "s", "workspace": str(Path.cwd()), **more}}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    headers = {**headers, "Accept": "application/json, text/event-stream"}
    told = httpx.post(f"{address}/mcp", json=asked, headers=headers, timeout=120).text
    return json.loads(told[told.index("{") :])["result"]["structuredContent"]["ids"]


@pytest.mark.parametrize("forget", [forget_over_http, forget_over_mcp])
def test_what_waits_in_the_spool_is_forgotten_through_every_door(mcp_command, home, forget):
    put_into_spool(home)
    assert len(forget(*mcp_command)) == 1
    assert files_with(home) == []


def test_a_preview_shows_what_waits_in_the_spool_and_drops_nothing(mcp_command, home):
    unreadable = put_into_spool(home)
    assert len(forget_over_mcp(*mcp_command, dry_run=True)) == 1
    assert unreadable.exists()


def test_what_a_program_makes_is_for_its_owner_alone_whatever_its_umask(tmp_path):
    """A program that uses the library has a umask of its own."""
    script = (
        "import os; os.umask(0)\n"
        "from pathlib import Path\n"
        "from foreword import ContextEngine\n"
        "from foreword.testing import HashEmbeddings\n"
        "with ContextEngine(embedding_provider=HashEmbeddings()) as engine:\n"
        "    engine.remember('We chose ships.', 'shop'); engine.embed_pending('shop')\n"
        "    engine.build_context('What did we choose?', 'shop')\n"
        "    engine.store.back_up('shop', 'by-hand-1')\n"
        "    made = Path(os.environ['FOREWORD_HOME']).rglob('*')\n"
        "    print([str(path) for path in made if path.lstat().st_mode & 0o077])"
    )
    environment = {**os.environ, "FOREWORD_HOME": str(tmp_path / "data")}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True)
    assert done.stdout == b"[]\n"


def test_marks_are_found_in_texts_that_are_cut(engine, project, clock):
    """The mark is a million characters away from what it marks: the cut must not separate them."""
    responder = HookResponder(engine)
    text = f"Deploys happen on Tuesdays. {'word ' * 150_000}<private>{'w ' * 700_000}{SAID}"
    body = {"hook_event_name": "Stop", "session_id": "s", "cwd": str(project), "last_assistant_message": text}
    responder.answer_and_store(json.dumps(body).encode(), clock.now, None)
    items = list(engine.store.scan(str(project)))
    assert items
    assert not any(WORD in item.text for item in items)


def test_the_recall_notice_can_be_switched_off(home, project, clock):
    for wanted, expected in ((True, "Foreword: 1 recalled"), (False, None)):
        settings = Settings(home=home / str(wanted), recall_notice=wanted)
        with ContextEngine(settings=settings, embedding_provider=HashEmbeddings(), clock=clock) as engine:
            engine.remember("We chose Postgres for the billing service.", str(project))
            responder = HookResponder(engine)
            body = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(project)}
            asked = json.dumps({**body, "prompt": "Which database has the billing service?"}).encode()
            answer = json.loads(responder.answer_and_store(asked, clock.now, None))
            assert answer.get("systemMessage") == expected


def test_words_are_looked_for_in_what_was_stored_and_not_in_the_names_of_its_fields(engine):
    kept = engine.remember("Deploys happen on Tuesdays.", "w", metadata={"owner": "Bettina"})
    assert [item.id for item in engine.find_by_words("w", "Bettina")] == [kept.id]
    assert engine.find_by_words("w", "owner") == []

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

CHAT = Path(__file__).parent.parent / "examples" / "chat.py"


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "hours.md").write_text("# Opening hours\n\nThe bakery opens at eight o'clock on Saturdays.\n")
    (folder / "nuts.md").write_text("# Allergies\n\nCakes without nuts are baked in a tin of their own.\n")
    return folder


@pytest.fixture
def chat(notes):
    """Talk: lines in, an ended process out; without an encoder, which takes a second to load."""

    def talk(*lines, arguments=(), folder=notes, **environment):
        return subprocess.run(
            [sys.executable, CHAT, folder, *arguments],
            input="\n".join(lines),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, "FOREWORD_EMBEDDING": "none", **environment},
        )

    return talk


@contextmanager
def endpoint(answer, status=200):
    """A server that speaks the chat API and notes what it is asked."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((self.path, self.headers.get("Authorization"), body))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1", asked
        finally:
            server.shutdown()
            thread.join(60)
            assert not thread.is_alive(), "the server did not end"


class TestWithoutAModel:
    def test_the_answer_says_which_sources_and_turns_the_prompt_held(self, chat):
        lines = ("When does the bakery open on Saturdays?", "Thank you, that helps.")
        ended = chat(*lines, FOREWORD_EMBEDDING="bundled")
        first, second = ended.stdout.splitlines()
        assert ended.returncode == 0
        assert "hours.md" in first
        assert "0 turns" in first
        assert "2 turns" in second
        assert "2 files are new" in ended.stderr
        assert "2 pieces understood" in ended.stderr

    def test_why_and_prompt_show_the_last_one(self, chat):
        question = "When does the bakery open on Saturdays?"
        ended = chat("/why", question, "/why", "/prompt", "/quit", "Nobody reads this.")
        before, _, *after = ended.stdout.splitlines()
        assert before == "(ask something first)"
        assert after[0].endswith("of 4096 tokens; compression: none")
        assert after[1].startswith("  injected: document ")
        assert "opens at eight" in after[2]
        assert after[-2:] == ["[USER]", question]
        assert "Nobody" not in ended.stdout

    def test_why_tells_what_was_recalled_of_the_user_and_of_the_talk(self, chat):
        chat("I'm allergic to nuts.", arguments=("--user", "mara", "--session", "monday"))
        lines = ("My order is PB-112.", "Which order is mine?", "/why")
        shown = chat(*lines, arguments=("--user", "mara", "--session", "friday")).stdout
        assert "      I'm allergic to nuts." in shown
        assert "      User: My order is PB-112." in shown

    def test_the_conversation_goes_on_where_it_ended(self, chat):
        chat("I am Mara Lind.")
        ended = chat("/why", "Who am I?", "/prompt")
        assert "User: I am Mara Lind." in ended.stdout
        assert "0 files are new, 2 as they were." in ended.stderr
        assert "Mara Lind" not in chat("Who am I?", "/prompt", arguments=("--session", "other")).stdout

    def test_a_question_that_does_not_fit_gets_no_answer_and_is_not_kept(self, chat):
        ended = chat("far too long for such a window", arguments=("--tokens", "5"))
        assert "(no answer: the query has" in ended.stdout
        assert "0 turns" in chat("Who am I?").stdout

    def test_a_folder_that_is_not_there_is_named(self, chat, tmp_path):
        ended = chat("Hello?", folder=tmp_path / "nowhere")
        assert ended.returncode == 1
        assert "nowhere" in ended.stderr.splitlines()[-1]
        assert "Traceback" not in ended.stderr


class TestWithAnEndpoint:
    def test_it_is_sent_the_prompt_and_its_answer_is_kept(self, chat):
        key = secrets.token_hex(8)
        with endpoint({"choices": [{"message": {"content": "At eight."}}]}) as (url, asked):
            arguments = ("--url", url, "--model", "m-1")
            ended = chat(
                "When does the bakery open on Saturdays?",
                "And with nuts?",
                arguments=arguments,
                OPENAI_API_KEY=key,
            )
        assert ended.stdout.splitlines() == ["At eight."] * 2
        (path, authorization, first), (_, _, second) = asked
        assert (path, authorization, first["model"]) == ("/v1/chat/completions", f"Bearer {key}", "m-1")
        assert [message["role"] for message in first["messages"]] == ["system", "user"]
        assert "eight o'clock" in first["messages"][-1]["content"]
        assert [message["role"] for message in second["messages"]] == ["system", "user", "assistant", "user"]
        assert second["messages"][2]["content"] == "At eight."

    @pytest.mark.parametrize(
        ("answer", "status", "told"),
        [
            ({"error": "busy"}, 503, "503"),
            ({"model": "m"}, 200, "does not speak the chat API"),
            ([], 200, "API"),
        ],
    )
    def test_an_endpoint_that_fails_is_told_and_the_chat_goes_on(self, chat, answer, status, told):
        with endpoint(answer, status) as (url, _):
            ended = chat("Hello there, who are you?", "/why", arguments=("--url", url))
        assert ended.returncode == 0
        assert "(no answer: " in ended.stdout
        assert told in ended.stdout
        assert "tokens; compression" in ended.stdout

    def test_nobody_there_is_told(self, chat):
        with endpoint({}) as (url, _):
            pass
        assert "(no answer: " in chat("Hello?", arguments=("--url", url)).stdout

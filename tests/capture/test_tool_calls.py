from __future__ import annotations

import pytest

from foreword.capture.tool_calls import (
    ToolCall,
    build_call_record,
    first_host,
    host_fetched_from,
    prints_what_can_be_read_again,
    read_command,
)
from foreword.types import Source


def bash(command, output="", outcome=""):
    return build_call_record(ToolCall("Bash", {"command": command}, output, outcome, "/work/shop"))


# Commands


def test_a_command_is_kept_with_how_it_ended_and_what_it_said():
    assert bash("make deploy", "deployed v3", "exit 0").text == "$ make deploy\nexit 0\ndeployed v3"


@pytest.mark.parametrize(
    "tool", ["Bash", "bash", "shell", "local_shell", "exec_command", "run_shell_command"]
)
def test_every_agents_shell_is_a_shell(tool):
    assert build_call_record(ToolCall(tool, {"command": "make"}, "built")).text == "$ make\nbuilt"


def test_a_command_that_only_looks_leaves_nothing():
    assert bash("cat README.md", "# Shop") is None


def test_a_command_without_words_leaves_nothing():
    assert build_call_record(ToolCall("Bash", {"command": 7})) is None
    assert build_call_record(ToolCall("Bash", {})) is None


def test_a_long_command_keeps_both_ends():
    told = bash("echo start > f; " + "x " * 1_000 + "; make finish")
    assert len(told.text) < 700
    assert told.text.endswith("make finish")


@pytest.mark.parametrize(
    ("command", "source"),
    [
        ("curl -s https://api.example.com/v1 | jq .", Source("api.example.com", "web")),
        ("wget http://Example.org/x.tar.gz", Source("example.org", "web")),
        ("gh issue view 12", Source("github.com", "web")),
        ("cd /x && gh pr diff 3", Source("github.com", "web")),
        ("curl http://localhost:8080/health", Source("tool:Bash", "tool")),
        ("curl http://127.0.0.1:8080/health", Source("tool:Bash", "tool")),
        ("make test", Source("tool:Bash", "tool")),
    ],
)
def test_what_a_command_brought_from_the_web_is_the_webs(command, source):
    assert bash(command, "some words").source == source


# Changes


def test_an_edit_tells_the_file_and_the_lines_that_went_and_came():
    old = "MAX_RETRIES = 3\n\ndef charge():\n    pass"
    new = "MAX_RETRIES = 5\n\ndef charge():\n    pass\n\ndef backoff(attempt):\n    return attempt"
    call = ToolCall(
        "Edit",
        {"file_path": "/work/shop/pay/adapter.py", "old_string": old, "new_string": new},
        "",
        "",
        "/work/shop",
    )
    told = build_call_record(call)
    assert told.file == "pay/adapter.py"
    assert told.text.startswith(
        "Edited pay/adapter.py (+3 −1 lines): charge, backoff\n- MAX_RETRIES = 3\n+ MAX_RETRIES = 5"
    )
    assert told.source == Source("tool:Edit", "tool")


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Write", {"file_path": "a/b.py", "content": "x = 2\n"}),
        ("write_file", {"file_path": "a/b.py", "content": "x = 2\n"}),
        ("MultiEdit", {"file_path": "a/b.py", "edits": [{"old_string": "", "new_string": "x = 2"}, "odd"]}),
        ("NotebookEdit", {"notebook_path": "a/b.py", "new_source": "x = 2"}),
        ("replace", {"file_path": "a/b.py", "old_string": "x = 1", "new_string": "x = 2"}),
        (
            "apply_patch",
            {"input": "*** Begin Patch\n*** Update File: a/b.py\n@@\n-x = 1\n+x = 2\n*** End Patch"},
        ),
        ("patch", {"diff": "--- a/a/b.py\n+++ b/a/b.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"}),
    ],
)
def test_a_change_is_known_whichever_way_the_tool_says_it(tool, given):
    told = build_call_record(ToolCall(tool, given))
    assert told.file == "a/b.py"
    assert "\n+ x = 2" in told.text
    assert "\n- x = 1" in told.text or told.text.startswith("Wrote")


def test_a_written_document_is_told_by_its_headings_and_stays_short():
    content = "# Retry policy\n\n" + "Word " * 3_000 + "\n## Limits\n"
    told = build_call_record(ToolCall("Write", {"file_path": "docs/retry.md", "content": content}))
    assert "Retry policy, Limits" in told.text.partition("\n")[0]
    assert len(told.text) < 900


def test_a_change_that_failed_or_names_no_file_leaves_nothing():
    given = {"file_path": "a.py", "old_string": "a", "new_string": "b"}
    assert build_call_record(ToolCall("Edit", given, "String to replace not found", "failed")) is None
    assert build_call_record(ToolCall("Write", {"content": "x"})) is None


# The rest


@pytest.mark.parametrize(
    "tool",
    [
        *(
            "Read",
            "Grep",
            "Glob",
            "LS",
            "read_file",
            "read_many_files",
            "list_directory",
            "search_file_content",
        ),
        *(
            "NotebookRead",
            "TodoWrite",
            "ToolSearch",
            "BashOutput",
            "mcp__filesystem__read_file",
            "TaskUpdate",
        ),
    ],
)
def test_what_was_only_looked_at_is_not_kept(tool):
    assert build_call_record(ToolCall(tool, {"file_path": "a.py"}, "contents of the file")) is None


@pytest.mark.parametrize(
    "tool",
    [
        "mcp__foreword__memory_search",
        "memory_get",
        "mcp__other__search_memories",
        "mcp_foreword_context_build",
        "",
    ],
)
def test_a_memory_does_not_feed_on_a_memory(tool):
    assert build_call_record(ToolCall(tool, {"query": "retries"}, "We cap retries at five.")) is None


@pytest.mark.parametrize(
    ("tool", "given", "source"),
    [
        (
            "WebFetch",
            {"url": "https://docs.python.org/3/", "prompt": "what?"},
            Source("docs.python.org", "web"),
        ),
        ("WebSearch", {"query": "retry policy"}, Source("web", "web")),
        ("google_web_search", {"query": "retry policy"}, Source("web", "web")),
        ("mcp__playwright__browser_navigate", {"url": "http://[half"}, Source("playwright", "web")),
        ("mcp__github__get_issue", {"number": 3}, Source("github", "web")),
        ("mcp__any__load", {"target": "https://example.com/a"}, Source("example.com", "web")),
        ("mcp__postgres__query", {"sql": "select 1"}, Source("tool:mcp__postgres__query", "tool")),
    ],
)
def test_an_answer_from_outside_is_the_webs(tool, given, source):
    told = build_call_record(ToolCall(tool, given, "an answer"))
    assert told.source == source
    assert told.text.startswith(tool)
    assert told.text.endswith("an answer")


def test_what_a_subagent_reports_is_the_agents_word_without_its_task():
    told = build_call_record(ToolCall("Task", {"prompt": "read https://example.org"}, "The parser is fine."))
    assert (told.text, told.source) == ("The parser is fine.", Source("subagent", "agent"))


def test_a_tool_that_answered_nothing_leaves_nothing():
    assert build_call_record(ToolCall("mcp__postgres__query", {"sql": "select 1"}, "(no output)")) is None


# Shell commands


@pytest.mark.parametrize(
    "command",
    [
        *(
            "ls -la",
            "cat a.py | head -20",
            "cd src && rg -n 'a|b;c > d' .",
            "git status",
            "git -C /x log --oneline",
        ),
        *(
            "find . -name '*.py' | xargs grep foo",
            "grep x f 2>/dev/null",
            "sed -n '1,20p' f 2>&1",
            "pytest --version",
        ),
        *(
            "FOO=1 env",
            "echo 'a > b'",
            "timeout 5 tail -f log",
            "make --help",
            "foreword search retries",
            "pwd; ls\nwc f",
        ),
    ],
)
def test_looking_around_is_known(command):
    assert prints_what_can_be_read_again(command)


@pytest.mark.parametrize(
    "command",
    [
        *(
            "pytest -q",
            "make",
            "echo x > f",
            "cat <<EOF > f\nx\nEOF",
            "sed -i s/a/b/ f",
            "find . -delete",
            "git commit -m x",
        ),
        *(
            "cat $(ls)",
            "ls && rm -rf build",
            "curl https://example.com",
            "cat `ls`",
            "find . -exec rm {} ;",
            "npm test",
        ),
        "ls " + "a" * 5_000,
    ],
)
def test_doing_something_is_known(command):
    assert not prints_what_can_be_read_again(command)


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ({"command": " make "}, "make"),
        ({"cmd": "make"}, "make"),
        ({"command": ["bash", "-lc", "make all"]}, "make all"),
        ({"command": ["make", "all"]}, "make all"),
        ({"command": None}, ""),
        ({}, ""),
    ],
)
def test_the_command_is_found(given, command):
    assert read_command(given) == command


def test_hosts_are_found_and_broken_addresses_passed_over():
    assert first_host("see http://[half and https://Docs.Example.com:8443/a?b") == "docs.example.com"
    assert first_host("nothing here") == ""
    assert host_fetched_from("curl http://shop.local/x") == ""


@pytest.mark.parametrize("unit", ['"\\', "'", "a=", "sudo ", ">"])
def test_a_hostile_command_is_not_taken_for_one_that_only_reads(unit):
    """Steps that double with each character would not come to an end within a test's time."""
    assert not prints_what_can_be_read_again(unit * (2_000 // len(unit)))


def test_a_command_of_enormous_length_is_not_looked_into(count_calls):
    assert not prints_what_can_be_read_again("ls " * 100_000)
    assert count_calls(prints_what_can_be_read_again, "ls " * 100_000) < 10

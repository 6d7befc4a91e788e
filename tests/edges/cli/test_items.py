"""List, show, edit, relate, completion: what a person does with single items at a terminal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def ids(foreword):
    """Three items: the second replaces the first."""
    texts = [
        "Staff sessions end after 30 minutes.",
        "Deploys happen on Tuesdays.",
        "Postcards sell on Saturdays.",
    ]
    kept = [foreword("remember", text, "--type", "fact").out.strip() for text in texts]
    foreword("remember", "Mara reviews calendar changes.", "--kind", "turn", "--session", "s1")
    return kept


def test_list_shows_the_newest_first_and_how_many_are_left(foreword, ids):
    ran = foreword("list", "--limit", "2")
    assert [line for line in ran.out.splitlines() if "Postcards" in line]
    assert ran.out.index("Mara") < ran.out.index("Postcards")
    assert "2 more; see them with --skip 2" in ran.err
    assert "30 minutes" in foreword("list", "--skip", "2").out


def test_list_takes_filters_and_answers_json(foreword, ids):
    assert [one["text"] for one in foreword("list", "--kind", "turn", "--json").json] == [
        "Mara reviews calendar changes."
    ]
    assert {one["id"] for one in foreword("list", "--type", "fact", "--json").json} == set(ids)
    assert foreword("list", "--session", "nobody").code == 1


def test_a_beginning_of_an_id_is_enough_and_two_that_fit_are_named(foreword, ids):
    assert foreword("show", ids[0][:10], "--json").json["item"]["id"] == ids[0]
    assert foreword("show", "no-such-id").code == 2
    foreword("import", "-", stdin=b'{"text": "One.", "id": "ab1"}\n{"text": "Two.", "id": "ab2"}\n')
    assert "several ids begin with 'ab': ab1, ab2" in foreword("show", "ab").err


def test_the_beginning_of_an_id_says_what_a_memory_supersedes(foreword, ids):
    new = foreword("remember", "Staff stay signed in.", "--supersedes", ids[0][:10]).out.strip()
    assert foreword("show", ids[0], "--json").json["item"]["superseded_by"] == new


def test_an_edit_is_a_new_version_and_the_old_one_is_its_history(foreword, ids):
    new = foreword("edit", ids[0][:12], "Staff sessions end after 15 minutes.").out.strip()
    shown = foreword("show", new).out
    assert shown.startswith("Staff sessions end after 15 minutes.")
    assert "30 minutes" in shown
    assert "replaced by: " in foreword("show", ids[0]).out
    assert [one["id"] for one in foreword("list", "--replaced", "--json").json] == [ids[0]]
    assert ids[0] not in {one["id"] for one in foreword("list", "--holding", "--json").json}
    assert "15 minutes" in foreword("context", "When do staff sessions end?").out


def test_an_edit_reads_stdin_and_refuses_what_was_replaced(foreword, ids):
    new = foreword("edit", ids[0], "-", stdin=b"Staff sessions end after 15 minutes.\n").out.strip()
    assert foreword("show", new, "--json").json["item"]["text"] == "Staff sessions end after 15 minutes."
    again = foreword("edit", ids[0], "Never.")
    assert again.code == 2
    assert new in again.err


def test_an_edit_that_changes_nothing_keeps_nothing(foreword, ids):
    ran = foreword("edit", ids[0], "Staff sessions end after 30 minutes.")
    assert (ran.code, "nothing was changed" in ran.err) == (1, True)


def test_an_edit_without_a_text_needs_a_terminal(foreword, ids):
    assert "no terminal" in foreword("edit", ids[0]).err


def test_a_relation_is_kept_and_followed(foreword, ids):
    ran = foreword("relate", ids[0][:14], ids[1][:14], "--type", "caused_by")
    assert ran.out == f"{ids[0]} caused_by {ids[1]}\n"
    assert f"→ caused_by: {ids[1][:12]}" in foreword("show", ids[0]).out
    assert f"← caused_by: {ids[0][:12]}" in foreword("show", ids[1]).out
    assert "Deploys" in foreword("search", "staff sessions minutes", "--related", "1").out
    assert foreword("relate", ids[0], ids[0]).code == 2


def test_forget_takes_the_beginning_of_an_id_and_shows_what_goes(foreword, ids, terminal):
    ran = foreword("forget", ids[0][:12], stdin=terminal("n\n"))
    assert "Staff sessions end after 30 minutes." in ran.out
    assert foreword("forget", ids[0][:12]).code == 0
    assert foreword("show", ids[0]).code == 2


def test_forget_shows_what_goes_in_a_script_too(foreword, ids):
    foreword("relate", ids[0], ids[1])
    out = foreword("forget", ids[0][:12]).out
    assert "Staff sessions end after 30 minutes." in out
    assert "with 1 relation" in out
    assert "forgotten: 1 item" in out


def test_what_was_told_was_last_shown_then(foreword, ids):
    assert "last shown:  never" in foreword("show", ids[1]).out
    foreword("context", "When do deploys happen?")
    assert "last shown:  never" not in foreword("show", ids[1]).out


def test_the_name_of_a_file_is_not_taken_for_a_text(foreword, terminal):
    Path("notes.txt").write_text("Deploys happen on Tuesdays.\n")
    ran = foreword("remember", "notes.txt")
    assert (ran.code, "--file notes.txt" in ran.err) == (2, True)
    assert (
        foreword("remember", "notes.txt", "--json", stdin=terminal("y\n")).json["text"].startswith("Deploys")
    )
    assert foreword("remember", "--file", "notes.txt", "--json").json["text"] == "Deploys happen on Tuesdays."
    assert foreword("remember", "text", "--file", "notes.txt").code == 2
    assert foreword("remember").code == 2


def test_a_long_text_is_kept_in_pieces_at_its_paragraphs(foreword):
    paragraphs = [f"Paragraph {number} says " + "something " * 60 for number in range(30)]
    Path("long.txt").write_text("\n\n".join(paragraphs))
    kept = foreword("remember", "--file", "long.txt", "--json").json
    assert len(kept) > 3
    assert all(one["text"].startswith("Paragraph ") for one in kept)
    assert " ".join(" ".join(one["text"] for one in kept).split()) == " ".join(" ".join(paragraphs).split())


def test_questions_are_read_from_stdin(foreword, ids):
    assert "Tuesdays" in foreword("search", "-", stdin=b"deploys\n").out
    assert "Tuesdays" in foreword("context", "-", stdin=b"When do deploys happen?\n").out


@pytest.mark.parametrize("columns", ["20", "40", "59"])
def test_narrow_terminals_show_the_text(foreword, ids, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    for command in (("list",), ("search", "deploys"), ("show", ids[1])):
        assert "Deploys happen" in foreword(*command).out
    foreword("context", "When do deploys happen?")
    assert "Deploys" in foreword("why").out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_a_script_that_asks_us(foreword, shell):
    script = foreword("completion", shell).out
    assert f"_FOREWORD_COMPLETE={shell}_complete" in script


@pytest.fixture
def with_program(tmp_path):
    """The environment of a shell in which `foreword` is a command."""
    program = tmp_path / "foreword"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m foreword "$@"\n')
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_commands_and_options(with_program, foreword):
    script = foreword("completion", "bash").out
    asked = 'COMP_WORDS=(foreword "$1" "$2"); COMP_CWORD=$3; _foreword_completion foreword'
    for words, wanted in ((("rem", "", "1"), "remember"), (("search", "--lim", "2"), "--limit")):
        ran = subprocess.run(
            ["bash", "-c", f"{script}\n{asked}\necho ${{COMPREPLY[@]}}", "bash", *words],
            capture_output=True, text=True, timeout=120, check=False, env=with_program,
        )  # fmt: skip
        assert wanted in ran.stdout.split(), ran.stderr


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish")
def test_fish_completes_commands_and_options(with_program, foreword):
    script = foreword("completion", "fish").out
    for line, wanted in (("foreword rem", "remember"), ("foreword search --lim", "--limit")):
        ran = subprocess.run(
            ["fish", "--no-config", "-c", f"{script}\ncomplete -C '{line}'"],
            capture_output=True, text=True, timeout=120, check=False, env=with_program,
        )  # fmt: skip
        assert wanted in ran.stdout.split(), ran.stderr


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh")
def test_zsh_completes_commands_and_options(with_program, foreword):
    script = foreword("completion", "zsh").out
    shown = "compdef() { :; }; compadd() { :; }; _describe() { print -l -- ${(P)3}; }"
    for words, place, wanted in (("foreword rem", 2, "remember:"), ("foreword search --lim", 3, "--limit:")):
        asked = f"words=({words}); CURRENT={place}; _foreword_completion"
        ran = subprocess.run(
            ["zsh", "-f", "-c", f"{shown}\n{script}\n{asked}"],
            capture_output=True, text=True, timeout=120, check=False, env=with_program,
        )  # fmt: skip
        assert any(line.startswith(wanted) for line in ran.stdout.splitlines()), ran.stderr

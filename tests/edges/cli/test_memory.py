from __future__ import annotations

import json
from pathlib import Path

import pytest

from foreword.errors import EmbeddingError, MissingExtra
from foreword.testing import HashEmbeddings


class Failing(HashEmbeddings):
    def embed_batch(self, texts):
        raise EmbeddingError("the encoder is out")


# Remember


def test_remember_prints_the_id_and_nothing_else(foreword):
    ran = foreword("remember", "Deploys happen on Tuesdays.")
    assert (ran.code, ran.err) == (0, "")
    assert len(ran.out.split()) == 1
    assert foreword("search", "deploys", "--json").json[0]["id"] == ran.out.strip()


def test_remember_keeps_everything_it_was_told(foreword):
    ran = foreword(
        "remember", "The cause was a lock.", "--kind", "turn", "--type", "error", "--about", "Mara",
        "--session", "s1", "--conversation", "c1", "--confidence", "0.8", "--importance", "0.9",
        "--source", "jira", "--trust", "tool", "--meta", "ticket=LH-7", "--meta", "url=a=b", "--json",
    )  # fmt: skip
    item = ran.json
    assert item["kind"] == "turn"
    assert item["type"] == "error"
    assert item["about"] == "Mara"
    assert (item["session"], item["conversation"]) == ("s1", "c1")
    assert (item["confidence"], item["importance"]) == (0.8, 0.9)
    assert item["source"] == {"name": "jira", "trust": "tool"}
    assert item["metadata"] == {"ticket": "LH-7", "url": "a=b"}


def test_remember_reads_stdin_without_the_last_line_break(foreword):
    ran = foreword("remember", "-", "--json", stdin="första\nandra\r\n".encode())
    assert ran.json["text"] == "första\nandra"


@pytest.mark.parametrize("stdin", [b"", b"\n", b"\xff\xfe", b"a\0b"])
def test_stdin_that_is_not_text_is_refused_in_one_line(foreword, stdin):
    ran = foreword("remember", "-", stdin=stdin)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)


def test_saying_the_same_again_gives_the_same_id(foreword):
    assert foreword("remember", "Once.").out == foreword("remember", "Once.").out


def test_a_successor_replaces_the_older_item_in_contexts(foreword):
    old = foreword("remember", "Staff sessions end after 30 minutes.").out.strip()
    new = foreword("remember", "Staff sessions end after 15 minutes.", "--supersedes", old).out.strip()
    context = foreword("context", "When do staff sessions end?")
    assert "15 minutes" in context.out
    assert "30 minutes" not in context.out
    found = {item["id"]: item["superseded_by"] for item in foreword("search", "staff", "--json").json}
    assert found == {old: new, new: None}
    assert f"superseded by {new}" in " ".join(foreword("search", "staff").out.split())


def test_a_wrong_id_to_supersede_leaves_nothing_behind(foreword):
    assert foreword("remember", "New.", "--supersedes", "nothing").code == 2
    assert foreword("stats", "--json").json["items"] == 0


def test_an_item_cannot_supersede_itself(foreword):
    item = foreword("remember", "Same.").out.strip()
    ran = foreword("remember", "Same.", "--supersedes", item)
    assert ran.code == 2
    assert "itself" in ran.err


def test_the_vector_is_made_before_the_command_ends(foreword, monkeypatch):
    monkeypatch.setattr(
        "foreword.engine.context_engine.default_embedding_provider", lambda _settings: HashEmbeddings()
    )
    assert foreword("remember", "Deploys happen on Tuesdays.").code == 0
    assert foreword("stats", "--json").json["vectors"] == {"semantic": 1}


def test_no_embed_stores_without_an_encoder(foreword, monkeypatch):
    monkeypatch.setenv("FOREWORD_EMBEDDING", "bundled")
    assert foreword("remember", "Quickly.", "--no-embed").code == 0
    assert foreword("stats", "--json").json["vectors"] == {}


def test_a_failing_encoder_loses_nothing_and_is_reported(foreword, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(
            "foreword.engine.context_engine.default_embedding_provider", lambda _settings: Failing()
        )
        ran = foreword("remember", "Deploys happen on Tuesdays.")
    assert ran.code == 4
    assert "stored" in ran.err
    assert foreword("search", "deploys", "--json").json[0]["id"] == ran.out.strip()


def test_a_missing_package_is_reported_before_anything_is_stored(foreword, monkeypatch):
    def missing(settings):
        if settings.embedding == "fastembed":
            raise MissingExtra("fastembed", "fastembed")

    monkeypatch.setattr("foreword.engine.context_engine.default_embedding_provider", missing)
    monkeypatch.setenv("FOREWORD_EMBEDDING", "fastembed")
    assert foreword("remember", "x").code == 5
    assert foreword("stats", "--json").json["items"] == 0


# Search


def test_search_shows_a_table_with_the_best_first(foreword, shop):
    ran = foreword("search", "Which day do deploys happen?")
    assert ran.code == 0
    rows = ran.out
    assert shop["tuesday"] in rows
    assert "workflow" in rows
    assert all(len(line) <= 80 for line in rows.splitlines())


def test_search_that_finds_nothing_says_so_with_exit_code_1(foreword):
    ran = foreword("search", "anything")
    assert (ran.code, ran.out) == (1, "")
    assert "nothing found" in ran.err
    assert foreword("search", "anything", "--json").json == []


def test_search_lists_what_has_all_the_words_however_little_it_seems_to_help(foreword, monkeypatch):
    monkeypatch.setenv("FOREWORD_EMBEDDING", "bundled")
    monkeypatch.setattr("foreword.edges.cli.memory.FLOOR", 1.1)
    for text in ("Removed the platypus flag from the exporter.", "The exporter runs at night."):
        foreword("remember", text)
    ran = foreword("search", "platypus exporter", "--json")
    assert [one["text"] for one in ran.json] == ["Removed the platypus flag from the exporter."]
    assert "1 more hardly fit" in ran.err
    assert foreword("search", "?!", "--json").json == []


def test_search_that_finds_only_what_hardly_fits_says_so_in_one_line(foreword, monkeypatch):
    monkeypatch.setenv("FOREWORD_EMBEDDING", "bundled")
    monkeypatch.setattr("foreword.edges.cli.memory.FLOOR", 1.1)
    foreword("remember", "The exporter runs at night.")
    ran = foreword("search", "exporter penguins")
    assert (ran.code, ran.err) == (1, "foreword: nothing found; 1 hardly fit; see them with --all\n")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--type", "fact"], {"timeout"}),
        (["--type", "fact", "--type", "decision"], {"timeout", "postgres"}),
        (["--session", "tuesday"], {"tuesday"}),
        (["--conversation", "none"], set()),
        (["--kind", "commit"], set()),
        (["--since", "1h"], {"timeout", "postgres", "tuesday"}),
        (["--until", "2020-01-01"], set()),
        (["--limit", "1"], {"postgres"}),
        (["--deadline", "5000"], {"timeout", "postgres", "tuesday"}),
    ],
)
def test_search_answers_only_with_what_was_asked_for(foreword, shop, options, expected):
    found = foreword("search", "postgres session deploys json mysql", *options, "--json").json
    assert {item["id"] for item in found} == {shop[name] for name in expected}


def test_search_follows_relations(foreword, shop):
    line = f'{{"from_id": "{shop["postgres"]}", "to_id": "{shop["timeout"]}", "type": "led_to"}}'
    foreword("import", "-", stdin=line.encode())
    found = foreword("search", "postgres", "--limit", "1", "--related", "1", "--json").json
    assert found[0]["related"][0]["item"]["id"] == shop["timeout"]
    assert "→ led_to" in foreword("search", "postgres", "--limit", "1", "--related", "1").out


def test_markup_and_escapes_in_a_text_are_shown_as_text(foreword):
    foreword("remember", "-", stdin="[red]danger[/red] \x1b[31mescape\u202e :smile:".encode())
    ran = foreword("search", "danger")
    assert "[red]danger[/red]" in " ".join(ran.out.split())
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out


# Forget


def test_forget_removes_and_proves_it(foreword, shop):
    ran = foreword("forget", shop["postgres"])
    assert ran.code == 0
    assert shop["postgres"] in ran.out
    assert "hold nothing of them" in ran.out
    assert foreword("search", "postgres mysql", "--type", "decision").code == 1


@pytest.mark.parametrize(
    ("options", "left"), [(["--session", "tuesday"], 2), (["--source", "mara"], 0), (["--source", "x"], 3)]
)
def test_forget_takes_a_session_or_a_source(foreword, shop, options, left):
    ran = foreword("forget", *options, "--yes", "--json")
    assert len(ran.json["forgotten"]) == 3 - left
    assert ran.code == (0 if left < 3 else 1)
    assert foreword("stats", "--json").json["items"] == left


def test_forget_that_matches_nothing_is_exit_code_1(foreword, shop):
    for what in (["no-such-id"], ["--session", "no-such-session"]):
        ran = foreword("forget", *what)
        assert (ran.code, ran.out) == (1, "")
        assert "matched" in ran.err


def test_forget_of_a_session_takes_its_receipts_even_without_items(foreword, shop):
    foreword("context", "deploys", "--session", "elsewhere")
    assert foreword("stats", "--json").json["receipts"] == 1
    assert foreword("forget", "--session", "elsewhere").code == 1
    assert foreword("stats", "--json").json["receipts"] == 0


def test_forget_asks_on_a_terminal_and_takes_no_for_an_answer(foreword, shop, terminal):
    ran = foreword("forget", shop["postgres"], stdin=terminal("n\n"))
    assert ran.code == 1
    assert "Forget 1 item for good?" in ran.err
    assert foreword("stats", "--json").json["items"] == 3
    assert foreword("forget", shop["postgres"], stdin=terminal("y\n")).code == 0
    assert foreword("forget", shop["tuesday"], "--yes", stdin=terminal()).code == 0


def test_forget_on_a_terminal_that_hangs_up_is_an_interruption(foreword, shop, terminal):
    assert foreword("forget", shop["postgres"], stdin=terminal("")).code == 130
    assert foreword("stats", "--json").json["items"] == 3


def test_forget_can_skip_the_check(foreword, shop):
    assert "not checked" in foreword("forget", shop["postgres"], "--no-verify").out


def test_forget_reports_what_the_check_finds(foreword, shop, monkeypatch):
    from foreword.store.base import Problem
    from foreword.store.sqlite import SqliteStore

    monkeypatch.setattr(SqliteStore, "check", lambda *_: (Problem("words", "one row too many"),))
    ran = foreword("forget", shop["postgres"])
    assert ran.code == 1
    assert "words: one row too many" in ran.out


def test_a_long_list_of_forgotten_ids_is_cut(foreword):
    lines = "\n".join(f'{{"text": "fact {number}", "session": "s"}}' for number in range(25))
    foreword("import", "-", stdin=lines.encode())
    assert "and 5 more" in foreword("forget", "--session", "s").out


# Export and import


def test_what_is_exported_can_be_imported_elsewhere(foreword, shop):
    assert "3 lines written" in foreword("export", "backup.jsonl").out
    assert Path("backup.jsonl").stat().st_mode & 0o077 == 0
    ran = foreword("import", "backup.jsonl", "-w", "copy")
    assert ran.out == "3 lines read: 3 new items, 0 new relations, 0 vectors made\n"
    assert foreword("export", "-w", "copy").out == foreword("export").out


def test_export_goes_to_stdout_as_lines_or_as_one_array(foreword, shop):
    lines = [json.loads(line) for line in foreword("export").out.splitlines()]
    assert lines == foreword("export", "-", "--json").json
    assert {line["id"] for line in lines} == set(shop.values())


def test_export_to_a_terminal_hides_nothing_unseen(foreword, monkeypatch, terminal):
    foreword("remember", "-", stdin="turn\u202earound".encode())
    assert "\u202e" in foreword("export").out
    out = terminal()
    monkeypatch.setattr("sys.stdout", out)
    foreword("export")
    out.seek(0)
    assert "turnaround" in out.read()


def test_export_of_nothing_leaves_the_file_alone(foreword):
    Path("backup.jsonl").write_text("older")
    assert foreword("export", "backup.jsonl").code == 1
    assert Path("backup.jsonl").read_text() == "older"


def test_a_failing_export_leaves_the_older_file_and_no_rubbish(foreword, shop, monkeypatch):
    def broken(*_):
        yield "{}"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("foreword.engine.context_engine.ContextEngine.export", broken)
    Path("backup.jsonl").write_text("older")
    assert foreword("export", "backup.jsonl").code == 2
    assert [path.read_text() for path in Path().iterdir()] == ["older"]


def test_export_in_json_names_the_file(foreword, shop):
    told = foreword("export", "backup.jsonl", "--json").json
    assert told == {"file": str(Path("backup.jsonl").absolute()), "lines": 3}


def test_export_writes_into_a_device_without_replacing_it(foreword, shop):
    assert foreword("export", "/dev/null").code == 0
    assert Path("/dev/null").is_char_device()


def test_import_stores_nothing_twice_and_makes_vectors(foreword, monkeypatch):
    monkeypatch.setattr(
        "foreword.engine.context_engine.default_embedding_provider",
        lambda settings: HashEmbeddings() if settings.embedding == "bundled" else None,
    )
    monkeypatch.setenv("FOREWORD_EMBEDDING", "bundled")
    lines = b'\xef\xbb\xbf{"text": "one"}\r\n\n{"text": "two"}\n'
    told = foreword("import", "-", "--json", stdin=lines).json
    assert told == {"lines": 2, "items": 2, "relations": 0, "vectors": 2}
    assert foreword("import", "-", "--json", stdin=lines).json["items"] == 0
    assert foreword("import", "-", "--json", "--no-embed", stdin=b'{"text": "three"}').json["vectors"] == 0


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        (b"garbage", "line 1 is not JSON"),
        (b'{"text": "fine"}\n[]', "line 2 is not a JSON object"),
        (b'{"text": "fine"}\n{"txt": "x"}', "line 2: unknown field 'txt'"),
        (b'{"text": "fine"}\n\xff', "line 2 is not UTF-8"),
        (b'{"text": ""}', "text is empty"),
    ],
)
def test_import_of_garbage_names_the_line_and_stores_nothing(foreword, lines, complaint):
    ran = foreword("import", "-", stdin=lines)
    assert (ran.code, ran.out) == (2, "")
    assert complaint in ran.err
    assert foreword("stats", "--json").json["items"] == 0


def test_a_progress_bar_is_shown_to_a_terminal_and_never_on_stdout(foreword, monkeypatch, terminal):
    monkeypatch.setattr("sys.stderr", terminal())
    ran = foreword("import", "-", "--json", stdin=b'{"text": "one"}')
    assert ran.json["items"] == 1

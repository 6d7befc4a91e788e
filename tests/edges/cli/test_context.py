from __future__ import annotations

import html
import re
from datetime import datetime

import pytest

GOLDEN = """\
Relevant context from past conversations:

- Deploys happen on Tuesdays, never on Fridays.
"""
GOLDEN_SUMMARY = "Key information:\nDeploys happen on Tuesdays, never on Fridays."


@pytest.fixture
def deploys(foreword):
    return foreword("remember", "Deploys happen on Tuesdays, never on Fridays.", "--type", "rule").out.strip()


def test_context_prints_exactly_what_an_agent_would_get(foreword, deploys):
    ran = foreword("context", "When do we deploy?")
    assert (ran.code, ran.out) == (0, GOLDEN)


def test_context_adds_no_line_break_of_its_own(foreword, deploys):
    for option in ("--recipe", "--template"):
        assert foreword("context", "When do we deploy?", option, "summary").out == GOLDEN_SUMMARY


def test_on_a_terminal_the_summary_gets_a_line_to_itself(foreword, deploys, monkeypatch, terminal):
    out = terminal()
    monkeypatch.setattr("sys.stdout", out)
    ran = foreword("context", "When do we deploy?", "--recipe", "summary")
    out.seek(0)
    assert out.read() == GOLDEN_SUMMARY
    assert ran.err.startswith("\nforeword: 1 item")


def test_the_summary_on_stderr_says_how_to_ask_why(foreword, deploys):
    ran = foreword("context", "When do we deploy?", "--budget", "300")
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("foreword: 1 item, ")
    assert "of 300 tokens" in ran.err
    asked = ran.err.strip().rpartition("foreword ")[2].split()
    assert foreword(*asked).code == 0


def test_the_suggestion_names_the_workspace_when_it_was_named(foreword):
    foreword("remember", "Deploys happen on Tuesdays.", "-w", "my shop")
    assert foreword("context", "deploys", "-w", "my shop").err.strip().endswith(" -w 'my shop'")


def test_metadata_is_shown_when_asked_for(foreword, deploys):
    assert "(rule, confidence 1.00, " in foreword("context", "deploy", "--metadata").out


def test_nothing_to_inject_is_silence_and_exit_code_1(foreword):
    ran = foreword("context", "anything")
    assert (ran.code, ran.out) == (1, "")
    assert "nothing to inject" in ran.err


def test_a_budget_too_small_for_anything_injects_nothing(foreword, deploys):
    ran = foreword("context", "deploy", "--budget", "1")
    assert (ran.code, ran.out) == (1, "")
    assert "there was no room" in foreword("why").out


def test_a_dry_run_gives_the_same_text_and_records_nothing(foreword, deploys):
    ran = foreword("context", "When do we deploy?", "--dry-run")
    assert (ran.code, ran.out) == (0, GOLDEN)
    assert foreword("why").code == 1


@pytest.mark.parametrize("ranker", ["default", "similarity", "recency", "confidence", "mmr"])
def test_every_ranker_can_be_asked_for(foreword, deploys, ranker):
    assert (
        foreword("context", "deploy", "--ranker", ranker, "--limit", "3", "--deadline", "5000").out == GOLDEN
    )


# Recipes


ASSEMBLED = """\
# Context

## Memories
**Memory**: Deploys happen on Tuesdays, never on Fridays.
*Category: rule, Importance: 0.5*

---
*1 items from 1 sources*
"""


def test_the_recipe_assembled_answers_by_source(foreword, deploys):
    assert foreword("context", "When do we deploy?", "--recipe", "assembled").out == ASSEMBLED


def test_its_floor_is_heeded(foreword, deploys):
    beside = ("context", "Deploys, and the weather?", "--recipe", "assembled")
    assert foreword(*beside, "--floor", "1").out == ""
    assert foreword(*beside, "--floor", "0").out == ASSEMBLED


def test_its_limit_is_of_each_source(foreword):
    for day in ("Tuesdays", "Thursdays"):
        foreword("remember", f"Deploys of the {day.lower()} team happen on {day}.")
    few = foreword("context", "When do we deploy?", "--recipe", "assembled", "--limit", "1", "--floor", "0")
    assert few.out.count("**Memory**") == 1


def test_its_budget_is_soft_and_by_how_much_it_is_exceeded_is_said(foreword, deploys):
    ran = foreword("context", "When do we deploy?", "--recipe", "assembled", "--budget", "5")
    assert ran.out == ASSEMBLED
    over = int(re.search(r" of 5 tokens \((\d+) over", ran.err)[1])
    told = foreword("context", "When do we deploy?", "--recipe", "assembled", "--budget", "5", "--json").json
    assert told["over_by"] == over == told["tokens"] - 5


def test_what_is_related_is_told_on_request(foreword, tmp_path):
    lines = [
        '{"id": "a", "text": "We deploy on Tuesdays.", "type": "decision"}',
        '{"id": "b", "text": "Migration 31 held a lock.", "type": "error"}',
        '{"from_id": "a", "to_id": "b", "type": "caused_by"}',
    ]
    (tmp_path / "lines.jsonl").write_text("\n".join(lines))
    assert foreword("import", str(tmp_path / "lines.jsonl")).code == 0
    assert "lock" not in foreword("context", "When do we deploy?").out
    told = "“We deploy on Tuesdays.” because of: Migration 31 held a lock."
    assert told in foreword("context", "When do we deploy?", "--related", "1").out
    assert "a caused_by b" in foreword("why", "--json").out


@pytest.mark.parametrize(
    ("recipe", "option"),
    [
        ("assembled", ["--ranker", "mmr"]),
        ("assembled", ["--metadata"]),
        ("coding", ["--floor", "0.5"]),
        ("coding", ["--lane", "full"]),
        ("coding", ["--related", "1"]),
        ("brief", ["--limit", "3"]),
        ("dialogue", ["--deadline", "50"]),
        ("dialogue", ["--floor", "0"]),
    ],
)
def test_an_option_that_a_recipe_does_not_heed_is_refused(foreword, deploys, recipe, option):
    ran = foreword("context", "deploy", "--recipe", recipe, *option)
    assert (ran.code, ran.out) == (2, "")
    assert f"{option[0]} means nothing to the recipe {recipe}, which takes --budget" in ran.err


@pytest.mark.parametrize("recipe", ["coding", "brief", "assembled", "dialogue"])
def test_a_recipe_takes_the_options_it_names(foreword, deploys, recipe):
    named = foreword("context", "deploy", "--recipe", recipe, "--metadata").err
    given = {"budget": "900", "session": "s1", "deadline": "5000", "limit": "5", "lane": "fast", "floor": "0"}
    options = [
        part for name, value in given.items() if f"--{name}" in named.partition("takes")[2]
        for part in (f"--{name}", value)
    ]  # fmt: skip
    assert "--budget" in options
    ran = foreword("context", "When do we deploy?", "--recipe", recipe, *options)
    assert (ran.code, recipe == "dialogue" or "Tuesdays" in ran.out) == (0, True)


def test_context_in_json_holds_the_text_and_the_receipt(foreword, deploys):
    told = foreword("context", "When do we deploy?", "--json").json
    assert told["context"] == GOLDEN
    assert told["items"] == [deploys]
    assert told["tokens"] == told["receipt"]["tokens"] <= told["budget"]


def test_notes_are_counted_in_the_summary_and_told_by_why(foreword, deploys, monkeypatch):
    from foreword.store.sqlite import SqliteStore
    from foreword.types import Findings, Note

    search = SqliteStore.search

    def late(self, operation):
        found = search(self, operation)
        return Findings(found.items, found.lists, (Note("lexical", "late: the deadline passed"),))

    monkeypatch.setattr(SqliteStore, "search", late)
    assert ", 1 note," in foreword("context", "deploy").err
    assert "note: words: late" in foreword("why").out


# Why


def test_why_says_what_was_injected_and_how_it_was_found(foreword, deploys):
    foreword("context", "When do we deploy?")
    out = foreword("why").out
    assert "When do we deploy?" in out
    assert "1 memory said" in out
    assert "shares ‘deploy’" in out
    assert "Deploys happen on Tuesdays" in " ".join(out.split())
    assert all(len(line) <= 80 for line in out.splitlines())


def test_why_takes_the_beginning_of_a_receipt(foreword, deploys):
    first = foreword("context", "When do we deploy?", "--json").json["receipt"]["id"]
    foreword("context", "another question about deploys")
    assert foreword("why", first[:8], "--json").json["query"] == "When do we deploy?"
    assert foreword("why", "--json").json["query"] == "another question about deploys"


def test_why_without_a_receipt_says_so_with_exit_code_1(foreword, deploys):
    for arguments in (["why"], ["why", "abcdef"]):
        ran = foreword(*arguments)
        assert (ran.code, ran.out) == (1, "")
        assert "no receipt" in ran.err
    assert foreword("why", "--json").json is None


def test_why_shows_that_an_item_was_forgotten_since(foreword, deploys):
    foreword("context", "When do we deploy?")
    foreword("forget", deploys)
    assert "(forgotten)" in foreword("why").out
    assert foreword("why", "--json").json["entries"][0]["text"] is None


def test_why_shows_ten_of_those_left_out_unless_asked_for_all(foreword):
    lines = "\n".join(
        f'{{"text": "deploy number {number} went to host {number * 7}"}}' for number in range(15)
    )
    foreword("import", "-", stdin=lines.encode())
    foreword("context", "deploy", "--limit", "2")
    some, everything = foreword("why").out, foreword("why", "--all").out
    entries = foreword("why", "--json").json["entries"]
    dropped = sum(entry["decision"] != "injected" for entry in entries)
    assert f"{dropped - 10} more were left out; see them with --all" in some
    assert everything.count("left out: ") == some.count("left out: ") + dropped - 10
    assert "more were left out" not in everything


def test_why_of_an_empty_context_says_that_nothing_was_found(foreword, shop):
    foreword("context", "zebra")
    assert "Nothing was found" in foreword("why").out


def test_why_has_a_bar_against_the_floor_and_what_nearly_was_said_before_the_rest(foreword, deploys):
    newer = "Deploys happen on Wednesdays, after the stand-up."
    foreword("remember", newer, "--supersedes", deploys)
    foreword("context", "When do we deploy?", "--floor", "0")
    out = " ".join(foreword("why").out.split())
    assert "█" in out
    assert out.index("Said") < out.index("Nearly said")
    assert f"replaced on {datetime.now().astimezone().day} " in out


@pytest.mark.parametrize("columns", [20, 40, 200])
def test_why_fits_the_terminal(foreword, deploys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    foreword("context", "When do we deploy?")
    out = foreword("why").out
    assert max(map(len, out.splitlines())) <= columns
    assert "Tuesdays" in "".join(out.split())


def test_why_as_one_file_loads_nothing_and_runs_nothing(foreword, tmp_path):
    foreword("remember", "Deploys happen on <script>alert(1)</script> Tuesdays.")
    foreword("context", "When do <img src=x onerror=alert(1)> we deploy?")
    file = tmp_path / "why.html"
    assert foreword("why", "--html", str(file)).code == 0
    page = file.read_text()
    assert foreword("why", "--html", "-").out == page
    assert "&lt;script&gt;alert(1)" in page
    tags = re.findall(r"<[^>]*>", page.partition("<body>")[2])
    assert not [tag for tag in tags if re.search(r"<(script|img|link|iframe)|\bon\w+=|src=|href=", tag)]
    assert "default-src 'none'" in html.unescape(page)


def test_assemble_reads_its_question_from_stdin(foreword):
    foreword("remember", "Deploys happen on Tuesdays.")
    receipt = foreword("assemble", "-", "--json", stdin=b"When do deploys happen?\n").json["receipt"]
    assert receipt["query"] == "When do deploys happen?"

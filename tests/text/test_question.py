"""What a message asks, wherever it stands in what was pasted."""

from __future__ import annotations

import pytest

from foreword.text.question import asks_or_requests, find_asking_sentences, shorten_with_question_first

TRACE = """Traceback (most recent call last):
  File "/srv/app/manage.py", line 12, in main
    run_command(sys.argv)
  File "/srv/app/commands/month.py", line 140, in handle
    close_month(options["month"], notify=options["notify"])
  File "/srv/app/billing/close.py", line 88, in close_month
    ledger.freeze(month)
  File "/srv/app/billing/ledger.py", line 31, in freeze
    raise LedgerError(f"month {month} has {len(open_items)} open items")
billing.errors.LedgerError: month 2025-03 has 4 open items"""

LOG = "\n".join(
    f"2025-03-04T10:{minute:02d}:00Z INFO worker-{minute % 4} GET /orders?page={minute} took {minute * 7} ms"
    for minute in range(40)
)

DIFF = """diff --git a/src/export.py b/src/export.py
index 3f1c2aa..9be0d11 100644
--- a/src/export.py
+++ b/src/export.py
@@ -10,7 +10,7 @@ def export(rows):
     writer = csv.writer(out)
-    writer.writerow(HEADER)
+    writer.writerow(HEADER if rows else [])
     for row in rows:
         writer.writerow(row)"""


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        (f"{TRACE}\n\nwhy does closing the month fail here?", "why does closing the month fail here?"),
        (f"What keeps the workers so slow?\n\n{LOG}", "What keeps the workers so slow?"),
        (f"{LOG}\n\nwhich of these requests came from the crawler?\n\n{LOG}", "which of these requests came"),
        (f"{TRACE}\nhow do i get past this\n{TRACE}", "how do i get past this"),
        (f"{DIFF}\n\nDoes an empty export still need its header?\n{DIFF}", "Does an empty export still need"),
        (f"```\n{LOG}\n```\nplease find the slowest worker\n```\n{LOG}\n```", "please find the slowest"),
        (f"{LOG}\nthe nightly import stalled again\n{LOG}", "the nightly import stalled again"),
        (f"{LOG}\n¿Por qué tarda tanto el segundo?\n{LOG}", "¿Por qué tarda tanto el segundo?"),
        (f"{LOG}\n为什么第二个这么慢？\n{LOG}", "为什么第二个这么慢？"),
    ],
)
def test_what_is_asked_stands_first_wherever_it_stood(message, asked):
    assert shorten_with_question_first(message, 2_000).startswith(asked)


@pytest.mark.parametrize("most", [0, 1, 5, 60, 401, 2_000])
def test_no_more_is_kept_than_was_allowed(most):
    for message in (LOG, f"{LOG}\nwhy?\n{DIFF}", "Is it? " * 500, "a" * 3_000):
        assert len(shorten_with_question_first(message, most)) <= most


def test_what_the_question_is_about_is_kept_beside_it():
    kept = shorten_with_question_first(f"{LOG}\nwhy is it so slow?\n{TRACE}", 1_000)
    assert "worker-0 GET" in kept
    assert "has 4 open items" in kept


def test_a_short_message_stays_as_it_is():
    assert (
        shorten_with_question_first("The build is red.\nWhat now?", 2_000) == "The build is red.\nWhat now?"
    )


def test_a_long_message_that_asks_at_its_beginning_is_only_cut():
    message = f"Why is the export empty?\n{DIFF}\n{LOG}"
    kept = shorten_with_question_first(message, 600)
    assert kept.startswith("Why is the export empty?\ndiff --git")
    assert kept.count("Why is the export empty?") == 1


def test_a_long_text_that_asks_nothing_keeps_its_two_ends():
    story = "The train was late. " * 100 + "So we walked."
    kept = shorten_with_question_first(story, 200)
    assert kept.startswith("The train was late.")
    assert kept.endswith("So we walked.")


@pytest.mark.parametrize(
    "message",
    [
        "How do I do that?",
        "with what do i pay",
        "until when can I ask for it",
        "thx. and when does it come",
        "ok its dark. and now what do i type as wifi password??",
        "can you send it again",
        "explain the second rule",
        "¿Y qué días es eso?",
        "今日は何時まで開いていますか？",
    ],
)
def test_a_question_needs_no_question_mark(message):
    assert asks_or_requests(message)


@pytest.mark.parametrize(
    "message",
    [
        "ok!",
        "hm ok, sounds fair",
        "How nice!",
        "what a day",
        "works, thank you",
        "he'll be annoyed haha",
        "There is an armchair by the window.",
        LOG,
        TRACE,
        "",
    ],
)
def test_chatter_and_what_programs_print_ask_nothing(message):
    assert not asks_or_requests(message)


def test_an_address_with_a_question_mark_is_no_question():
    assert find_asking_sentences("GET /orders?page=3 HTTP/1.1\nGET /orders?page=4 HTTP/1.1") == []

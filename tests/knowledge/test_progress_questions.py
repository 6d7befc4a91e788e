from __future__ import annotations

from datetime import UTC, datetime

import pytest

from foreword.knowledge.progress_questions import read_progress_question

NOW = datetime(2026, 5, 6, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("prompt", "asked"),
    [
        ("what's left to do?", "left"),
        ("hi again! what is still open", "left"),
        ("any open tasks?", "left"),
        ("Was ist noch offen?", "left"),
        ("qu'est-ce qu'il reste à faire ?", "left"),
        ("¿qué queda por hacer?", "left"),
        ("where were we?", "where"),
        ("continue with the uploads", "where"),
        ("Wo waren wir stehen geblieben?", "where"),
        ("où en étions-nous ?", "where"),
        ("¿dónde nos quedamos?", "where"),
        ("What did we decide last week in the meeting with the director?", "decided"),
        ("what was I working on yesterday", "did"),
        ("Was haben wir letzte Woche entschieden?", "decided"),
        ("qu'avons-nous décidé la semaine dernière ?", "decided"),
        ("¿qué decidimos la semana pasada?", "decided"),
    ],
)
def test_prompts_that_ask_for_the_course_of_the_work(prompt, asked):
    assert read_progress_question(prompt, NOW).asked == asked


@pytest.mark.parametrize(
    "prompt",
    [
        "the left column is too wide, what's wrong?",
        "what's on the left side of the screen?",
        "add a left join for the customers",
        "when is the roofer open now?",
        "what happens if the socket is left open?",
        "how do I continue a for loop in bash?",
        "did we ever settle the colours of the widget?",
        "what is the open source licence?",
        "what did the linter say?",
    ],
)
def test_prompts_that_only_have_such_words(prompt):
    assert read_progress_question(prompt, NOW) is None


def test_the_time_and_the_topic_are_read():
    question = read_progress_question("What did we decide last week in the meeting with Anna?", NOW)
    assert (question.span.since.day, question.span.until.day) == (27, 4)
    assert question.asked == "decided"
    assert question.topic == {"meet", "anna"}
    assert read_progress_question("what's left for the importer?", NOW).topic == {"import"}


@pytest.mark.parametrize(
    ("prompt", "subject"),
    [
        ("ok, what's left to do?", set()),
        ("Good morning! Where were we?", set()),
        ("what did we do last week?", set()),
        ("what's left for the invoices?", {"invoic"}),
        ("The build fails on quotes. What's next?", {"build", "fail", "quot"}),
    ],
)
def test_the_subject_is_what_the_whole_prompt_names(prompt, subject):
    assert read_progress_question(prompt, NOW).subject == subject

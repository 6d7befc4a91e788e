"""A gap is seen where an agent lacks something, for every reason there is, and nowhere else."""

from __future__ import annotations

import asyncio
import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.recipes.gap.detect import (
    CLEAR_CONFIDENCE,
    LIKELY_CONFIDENCE,
    MAX_MESSAGES_READ,
    MAX_READ_MESSAGES,
    current_agent,
    detect_context_gap,
    find_context_gap,
    find_request_in_message,
    find_unanswered_request,
    is_answered,
    receiving_agent,
)
from foreword.recipes.gap.request_judge import MAX_READ_SENTENCES
from foreword.recipes.gap.state import read_message, read_messages

MEANINGLESS = ("", "   ", None, 0, [], {}, False)


def agent(name, text, **more):
    return {"role": "assistant", "name": name, "content": text, **more}


def user(text):
    return {"role": "user", "content": text}


def reasons(state):
    gap = find_context_gap(state)
    return [] if gap is None else [sign.reason for sign in gap.reasons]


def said(*texts):
    return read_messages({"messages": [agent("dev", text) for text in texts]}).messages


def talk(*messages, **state):
    return {"messages": list(messages), "current_agent": "dev", **state}


REQUEST = "I need clarification on the export: CSV or Parquet?"
DONE = "Added the retries, all tests pass."
LACK = agent("dev", REQUEST)
CIRCLE = [
    agent("pm", "Acceptance criteria for refunds are incomplete, returning the story to the analyst."),
    agent("analyst", "Refund criteria depend on the priority the pm sets, returning the story to the pm."),
] * 2
SLOW = {"metrics": {"agent_cycle_times": {"dev": 500.0}, "overall_cycle_time": 100.0}}


def test_detection_can_be_awaited():
    gap = asyncio.run(detect_context_gap(talk(LACK)))
    assert (gap.agent, gap.reason, gap.confidence) == ("dev", "clarification_requested", 0.9)
    assert "CSV or Parquet" in gap.context_query
    assert asyncio.run(detect_context_gap({})) is None


@pytest.mark.parametrize(
    ("state", "reason", "confidence"),
    [
        (talk(LACK), "clarification_requested", 0.9),
        (
            talk(agent("dev", "Go on.", metadata={"clarification_needed": True})),
            "clarification_requested",
            0.95,
        ),
        (talk(cycle_analysis={"circular_detected": True}), "circular_logic", 0.8),
        (talk(*CIRCLE), "circular_logic", 0.75),
        (talk(health_status=SLOW), "long_cycle_time", 0.6),
        (talk(gate_blocked=True, gate_failure="missing_context"), "gate_failure", 0.85),
        (talk(missing_context=True), "explicit_flag", 0.95),
    ],
)
def test_each_indicator_alone_shows_a_gap(state, reason, confidence):
    gap = find_context_gap(state)
    assert (gap.reason, gap.confidence) == (reason, confidence)
    assert reasons(state) == [reason]


def test_every_reason_is_reported_and_the_surest_comes_first():
    state = talk(
        LACK,
        cycle_analysis={"circular_detected": True},
        health_status=SLOW,
        gate_blocked=True,
        gate_failure="context missing",
        missing_context="the agreed file format",
    )
    gap = find_context_gap(state)
    assert reasons(state) == [
        "explicit_flag", "clarification_requested", "gate_failure", "circular_logic", "long_cycle_time",
    ]  # fmt: skip
    assert (gap.reason, gap.confidence) == ("explicit_flag", 0.95)
    assert len(gap.indicators) == 5
    assert gap.context_query == "the agreed file format"


def test_question_marks_are_no_gap():
    assert (
        reasons(talk(agent("dev", "Ready? Set? Go? All tests pass. Shall I commit? Do you want more?"))) == []
    )


def test_a_request_is_none_any_more_once_it_is_answered():
    assert reasons(talk(LACK)) == ["clarification_requested"]
    assert reasons(talk(LACK, user("CSV."))) == []
    assert reasons(talk(LACK, agent("pm", "The export is CSV."))) == []
    assert reasons(talk(LACK, agent("dev", "Found it in the docs, going on."))) == []


def test_a_shrug_a_question_back_or_unrelated_news_answers_nothing():
    for after in (
        user("I don't know."),
        agent("pm", "Why do you ask?"),
        agent("tester", "All login tests are written."),
        {"role": "tool", "name": "grep", "content": "No matches found."},
    ):
        assert reasons(talk(LACK, after)) == ["clarification_requested"]


def test_somebody_elses_words_are_no_request():
    for quoted in (
        'The customer wrote "I need clarification, what do you mean?" and was answered.',
        "> I need clarification on this.\nSettled in version two.",
        "```\nraise Unclear('I need more information')\n```\nCommitted.",
        "The label is `need more info?` now.",
    ):
        assert reasons(talk(agent("dev", quoted))) == []
    assert reasons(talk(user("I need clarification on the export, what do you mean?"))) == []


def test_an_old_request_is_forgotten():
    since = [agent("tester", f"Wrote test {number}.") for number in range(12)]
    assert reasons(talk(LACK, *since)) == []


def test_a_review_goes_to_and_fro_without_being_a_circle():
    review = []
    for comment in ("Rename the variable.", "Add a test for expiry.", "Split the long function."):
        review += [agent("dev", "Fixed, please review again."), agent("reviewer", comment)]
    assert reasons(talk(*review)) == []


def test_a_circle_is_noticed_though_it_is_reworded():
    reworded = [
        agent("pm", "I can't rank the refund story before its criteria are finished."),
        agent("analyst", "Criteria for refunds depend on how the pm ranks the story."),
        agent("pm", "Ranking needs finished criteria for the refund story, so it goes back."),
        agent("analyst", "Without a rank from the pm there are no criteria for refunds; back to the pm."),
    ]
    assert reasons(talk(*reworded)) == ["circular_logic"]
    assert reasons(talk(*reworded[:3])) == []
    gets_on = agent("analyst", "Criteria for refunds are written, the rank from the pm is 3.")
    assert reasons(talk(*reworded[:3], gets_on)) == []


def test_three_agents_can_go_round_as_well():
    said_round = [
        agent("pm", "The refund story waits for the designer's mockup."),
        agent("designer", "The mockup waits for the developer's estimate."),
        agent("dev", "The estimate waits for the refund story of the pm."),
    ]
    assert "circular_logic" in reasons(talk(*said_round * 2))
    assert "circular_logic" not in reasons(talk(*said_round, *said_round[:2]))


def test_numbers_that_change_are_news_and_no_circle():
    stories = []
    for number in range(4):
        stories += [agent("pm", f"Story {number} is ready."), agent("dev", f"Story {number} is done now.")]
    assert reasons(talk(*stories)) == []


def test_a_cycle_analysis_in_the_state_is_believed():
    assert reasons(talk(*CIRCLE, cycle_analysis={"circular_detected": False})) == []
    gap = find_context_gap(
        talk(cycle_analysis={"circular_detected": True, "topic": "refund criteria of guests"})
    )
    assert "refund criteria" in gap.context_query


def test_an_agent_is_compared_with_itself_where_its_history_is_known():
    def health(times, overall=100.0):
        return {"metrics": {"agent_cycle_times": {"dev": times}, "overall_cycle_time": overall}}

    assert reasons(talk(health_status=health([300, 310, 290, 320]))) == []
    assert reasons(talk(health_status=health([30, 31, 29, 90]))) == ["long_cycle_time"]
    assert reasons(talk(health_status=health(199.0))) == []
    assert reasons(talk(health_status=health(200.0))) == []
    assert reasons(talk(health_status=health(201.0))) == ["long_cycle_time"]


@pytest.mark.parametrize("odd", [None, "n/a", -5, 0, math.nan, math.inf, True, [], {"history": 3}])
def test_times_that_are_none_are_not_compared(odd):
    metrics = {"agent_cycle_times": {"dev": odd}, "overall_cycle_time": 100.0}
    assert reasons(talk(health_status={"metrics": metrics})) == []
    assert (
        reasons(talk(health_status={"metrics": {"agent_cycle_times": odd, "overall_cycle_time": odd}})) == []
    )


def test_slow_work_that_reports_progress_is_no_gap():
    reports = [agent("dev", "Migrated the orders table."), agent("dev", "Added retries, tests pass.")]
    assert reasons(talk(*reports, health_status=SLOW)) == []
    assert reasons(talk(*reports[:1], *reports[:1], health_status=SLOW)) == ["long_cycle_time"]


def test_a_gate_that_failed_for_another_reason_is_no_gap():
    for failure in ("missing semicolon", "3 tests failed: test_context", "argument 'context' is missing", ""):
        assert reasons(talk(gate_blocked=True, gate_failure=failure)) == []
    assert reasons(talk(gate_blocked=False, gate_failure="missing context")) == []


@pytest.mark.parametrize("nothing", [*MEANINGLESS, "none", "No", "false"])
def test_a_flag_that_says_no_is_none(nothing):
    assert reasons(talk(missing_context=nothing)) == []
    assert reasons(talk(dev_output={"missing_context": nothing})) == []


def test_a_flag_is_seen_wherever_an_agent_puts_it():
    for state in (
        talk(dev_output={"missing_context": ["ttl"]}),
        talk(agent_outputs={"dev": {"missing_context": "ttl"}}),
        talk(agent("dev", "missing_context: the ttl")),
        talk({"role": "tool", "name": "lint", "content": "MISSING_CONTEXT: the ttl"}),
        talk(agent("dev", '{"missing_context": true}')),
    ):
        assert reasons(state) == ["explicit_flag"], state


def test_a_short_need_is_asked_for_together_with_the_task():
    gap = find_context_gap(
        {"missing_context": True, "current_agent": "dev", "current_task": "Seat holds expire"}
    )
    assert "Seat holds expire" in gap.context_query
    assert find_context_gap({"missing_context": True}).context_query == "unknown"


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("I need more information: what does `PAYMENT_GRACE_DAYS` mean?", "PAYMENT_GRACE_DAYS"),
        ('Which team owns the host "atlas-edge-2"? The inventory does not say.', "atlas-edge-2"),
        ('I need more information: what does "dual control" mean?', "dual control"),
    ],
)
def test_a_query_has_the_names_that_the_agent_put_in_marks(asked, name):
    assert name in find_context_gap(talk(agent("dev", asked))).context_query


def test_a_query_is_never_too_long():
    assert len(find_context_gap({"missing_context": "word " * 5000}).context_query) == 500


def test_whoever_asks_is_the_one_who_lacks():
    assert find_context_gap(talk(agent("pm", "I need more information about the priority."))).agent == "pm"
    state = {"current_agent": "dev", "next_agent": "pm", "gate_blocked": True, "gate_failure": "no context"}
    assert find_context_gap(state).agent == "pm"


def test_the_state_says_whose_turn_it_is_and_who_receives():
    assert current_agent({}) == "unknown"
    assert receiving_agent({"current_agent": "dev", "next_agent": "Dev"}) == ""
    assert receiving_agent({"current_agent": "dev", "handoff_context": {"target_agent": "pm"}}) == "pm"


def test_what_could_not_be_read_is_noted_in_the_gap():
    assert "could not be read" in find_context_gap(talk(None, LACK)).notes[0].message


def test_only_the_newest_messages_are_read_however_long_the_talk():
    reads = []

    class Counted:
        type = "ai"

        @property
        def content(self):
            reads.append(self)
            return "A step of the import is done."

    assert find_context_gap(talk(*[Counted() for _ in range(5000)])) is None
    assert len(set(reads)) == MAX_MESSAGES_READ


@pytest.mark.parametrize(
    "bait",
    [
        *("\n", "    x\n", "'a", "`", "> ", "? ", "“", "."),
        *("select ", "doc ", "need ", "what do ", "I can't ", "a" * 99),
    ],
)
def test_no_text_makes_detection_slow(bait):
    text = (bait * 8000)[:8000]
    state = talk(
        *[agent("dev", text)] * 12, agent("pm", f"{text} missing"), gate_failure=text, gate_blocked=True
    )
    started = time.thread_time()
    find_context_gap(state)
    assert time.thread_time() - started < 2


def test_question_fields_of_json_are_read():
    for text in (
        '{"status": "blocked", "open_questions": ["Which currency are the limits in?"]}',
        '```json\n{"done": ["parser"], "question": "Where is the schema kept, I cannot find it"}\n```',
    ):
        assert reasons(talk(agent("dev", text))) == ["clarification_requested"], text
    for text in (
        '{"status": "done", "open_questions": [], "needs_clarification": false}',
        '{"question": "Which currency are the limits in?", "answer": "Euros."}',
        '{"error": "the parameter region is required", "code": 422}',
    ):
        assert reasons(talk(agent("dev", text))) == [], text


def test_what_a_log_says_is_no_request():
    log = (
        "2026-05-04 10:00:01 ERROR missing context: which region?\nValueError: unclear which tenant is meant"
    )
    assert reasons(talk(agent("dev", f"The worker failed:\n{log}\nI restarted it and it runs."))) == []


def test_a_request_needs_what_its_asking_sentences_say():
    lack = "Nobody has told me which file format the partner bank expects."
    sign = find_unanswered_request(said(f"{DONE} {DONE} {lack}"))
    assert sign.needs == lack
    assert (sign.evidence, sign.agent, sign.position) == ("lack_stated", "dev", 0)
    assert find_unanswered_request(said(REQUEST)).evidence == "question_to_peers"


def test_asking_sentences_with_too_few_words_are_taken_with_the_rest_of_the_message():
    sign = find_unanswered_request(said("The export is half done. No idea which format."))
    assert "export" in sign.needs


def test_a_request_is_surer_the_clearer_it_is():
    assert find_unanswered_request(said(REQUEST)).confidence == CLEAR_CONFIDENCE
    signs = filter(None, map(find_request_in_message, said(REQUEST, "Which port?")))
    assert {sign.confidence for sign in signs} <= {CLEAR_CONFIDENCE, LIKELY_CONFIDENCE}


def test_whoever_goes_on_needs_no_answer_any_more():
    assert find_unanswered_request(said(REQUEST, DONE)) is None
    asked, went_on = said(REQUEST, DONE)
    assert is_answered(asked, [went_on])
    assert not is_answered(asked, [])


def test_whoever_calls_a_tool_is_looking_for_the_answer():
    calling = {"role": "assistant", "content": REQUEST, "tool_calls": [{"name": "grep", "args": {}}]}
    assert find_request_in_message(read_message(calling, 0)) is None


@pytest.mark.parametrize("role", ["user", "system", "tool"])
def test_only_agents_ask(role):
    assert find_request_in_message(read_message({"role": role, "content": REQUEST}, 0)) is None


def test_only_the_newest_messages_are_read():
    shown = []

    def read(passage, sentences):
        shown.extend(sentences)
        return [-9.0] * len(sentences)

    find_unanswered_request(said(*["Which branch? `main` or the other one."] * 6), read)
    assert 0 < len(shown) <= MAX_READ_MESSAGES * MAX_READ_SENTENCES


KEYS = st.sampled_from(
    [
        *("messages", "current_agent", "cycle_analysis", "circular_detected", "health_status", "metrics"),
        *("content", "agent_cycle_times", "overall_cycle_time", "gate_blocked", "gate_failure", "role"),
        *("missing_context", "output", "dev_output", "agent_outputs", "handoff_context"),
        *("current_task", "dev"),
    ]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=1000)
@given(st.dictionaries(KEYS, ANYTHING, max_size=5))
def test_no_state_makes_detection_fail(state):
    gap = find_context_gap(state)
    if gap is not None:
        assert gap.reasons
        assert gap.confidence == max(sign.confidence for sign in gap.reasons)
        assert gap.context_query

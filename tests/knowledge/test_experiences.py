from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta

import apsw
import pytest

from foreword.errors import StorageError, ValidationError
from foreword.knowledge import axes
from foreword.knowledge.evidence import Evidence
from foreword.knowledge.experience import MAX_HISTORY_ENTRIES, MAX_NOTES, Lesson, RootCause
from foreword.store import operations
from foreword.types import Filters, Source

CAUSE = RootCause("wrong-assumption", "The gateway retries too.")


def goals(results):
    return [result.memory.metadata["goal"] for result in results]


# Starting and changing


def test_what_was_started_is_open_and_found_by_its_id(experiences, begin, clock):
    begun = begin(session="s1", note="seen twice this week")
    assert (begun.status, begun.tier, begun.iteration_count) == ("open", None, 1)
    assert begun.created_at == clock()
    assert begun.notes == ("seen twice this week",)
    assert experiences.get("shop", begun.id) == experiences.active("shop", "s1") == begun
    assert experiences.active("shop") == begun
    assert experiences.active("shop", "s2") is None
    assert experiences.get("shop", "nobody") is None
    assert experiences.get("elsewhere", begun.id) is None


def test_an_experience_is_an_item_that_words_find(engine, begin):
    begun = begin(session="s1")
    item = engine.search("idempotency", "shop")[0].memory
    assert (item.id, item.kind, item.session) == (begun.id, "experience", "s1")
    assert item.type == "debugging/root-cause-analysis/open"
    assert item.text == axes.describe_whole_experience(begun)
    assert item.source == Source("agent", "agent")


def test_another_hypothesis_is_another_iteration_and_the_old_one_is_history(experiences, begin, clock):
    begun = begin()
    clock.advance(minutes=5)
    changed = experiences.update("shop", begun.id, hypothesis="The queue delivers twice.", note="not the key")
    assert changed.id == begun.id
    assert changed.created_at == begun.created_at
    assert changed.iteration_count == 2
    assert changed.hypothesis == "The queue delivers twice."
    assert changed.action == begun.action
    assert [(past.hypothesis, past.timestamp) for past in changed.history] == [(begun.hypothesis, clock())]
    assert experiences.get("shop", begun.id) == changed


def test_a_note_or_another_strategy_is_no_iteration(experiences, begin):
    begun = begin()
    noted = experiences.update("shop", begun.id, note="the gateway logs are gone")
    changed = experiences.update("shop", begun.id, strategy="read-the-error", hypothesis=begun.hypothesis)
    assert (noted.iteration_count, changed.iteration_count, changed.history) == (1, 1, ())
    assert changed.strategy == "read-the-error"
    assert changed.notes == noted.notes == ("the gateway logs are gone",)


def test_a_change_that_changes_nothing_keeps_nothing(engine, experiences, begin):
    begun = begin()
    assert experiences.update("shop", begun.id, action=begun.action) == begun
    assert engine.count("shop").items == 1


def test_versions_supersede_each_other_even_in_one_instant(engine, experiences, begin):
    begun = begin()
    for number in range(5):
        experiences.update("shop", begun.id, note=f"note {number}")
    items = list(engine.store.scan("shop", Filters(kinds=("experience",))))
    assert len(items) == 6
    assert [item.superseded_by for item in items] == [*(item.id for item in items[1:]), None]
    assert experiences.get("shop", items[2].id) == experiences.get("shop", begun.id)
    assert [len(one.notes) for one in experiences.list("shop")] == [5]


def test_history_and_notes_are_kept_within_bounds(experiences, begin):
    begun = begin()
    for number in range(MAX_NOTES + 5):
        last = experiences.update("shop", begun.id, action=f"try {number}", note=f"note {number}")
    assert (len(last.history), len(last.notes)) == (MAX_HISTORY_ENTRIES, MAX_NOTES)
    assert last.iteration_count == MAX_NOTES + 6
    assert last.notes[-1] == f"note {MAX_NOTES + 4}"


def test_a_session_has_one_open_experience(experiences, begin, live_experience):
    first = begin(session="s1")
    with pytest.raises(ValidationError, match=first.id):
        begin(session="s1")
    begin(session="s2")
    begin()
    experiences.resolve("shop", first.id, "abandoned", "no time")
    assert begin(session="s1").session == "s1"


def test_without_a_session_any_number_may_be_open_since_nobody_knows_whose_they_are(experiences, begin):
    first, second = begin(), begin(goal="Ship the invoice twice as fast.")
    assert [one.status for one in experiences.list("shop")] == ["open", "open"]
    assert first.id != second.id


@pytest.mark.parametrize(
    "wrong",
    [
        {"domain": "cooking"},
        {"strategy": "luck"},
        {"goal": " "},
        {"hypothesis": ""},
        {"action": None},
        {"prediction": "x" * 5_000},
        {"note": "x" * 2_001},
        {"goal": "half \ud800"},
        {"session": ""},
    ],
)
def test_a_wrong_beginning_is_refused_and_leaves_nothing(engine, begin, wrong):
    with pytest.raises(ValidationError):
        begin(**wrong)
    assert engine.count("shop").items == 0


@pytest.mark.parametrize("workspace", ["", " ", None])
def test_without_a_workspace_there_is_no_answer(experiences, workspace):
    for call in (
        lambda: experiences.active(workspace),
        lambda: experiences.get(workspace, "x"),
        lambda: experiences.search_axis(workspace, "x"),
        lambda: experiences.update(workspace, "x", note="y"),
    ):
        with pytest.raises(ValidationError, match="workspace"):
            call()


def test_a_secret_is_kept_neither_in_the_text_nor_in_the_parts(engine, experiences, begin):
    begun = begin(goal="Log in with <private>hunter2</private>.", note="<private>hunter2</private> is old")
    assert "hunter2" not in "\n".join(engine.export("shop"))
    assert "hunter2" not in repr(begun)


# Resolving


def test_confirmed_by_the_agent_is_silver_and_stays_findable(experiences, begin, clock):
    begun = begin(session="s1")
    clock.advance(minutes=9)
    ended = experiences.resolve(
        "shop", begun.id, "confirmed", "It charges once.", lesson=Lesson("Ask who else retries.")
    )
    assert (ended.status, ended.tier, ended.weight) == ("confirmed", "silver", 0.8)
    assert ended.outcome.captured_at == clock()
    assert ended.outcome.auto_captured is False
    assert experiences.active("shop", "s1") is None
    assert experiences.list("shop", status="confirmed") == [ended]


def test_a_guess_that_came_true_is_bronze(experiences, begin):
    begun = begin(hypothesis="Maybe something is wrong with the checkout.")
    assert experiences.resolve("shop", begun.id, "confirmed", "It was.").tier == "bronze"


def test_who_calls_it_falsified_says_what_surprised_and_why(experiences, begin):
    begun = begin()
    for told in ({}, {"surprise": "x"}, {"root_cause": CAUSE}):
        with pytest.raises(ValidationError, match="surprise"):
            experiences.resolve("shop", begun.id, "falsified", "Twice still.", **told)
    assert experiences.get("shop", begun.id) == begun
    ended = experiences.resolve(
        "shop", begun.id, "falsified", "Twice.", surprise="Two retries.", root_cause=CAUSE
    )
    assert (ended.surprise, ended.root_cause, ended.lacks) == ("Two retries.", CAUSE, ())


def test_a_run_that_falsifies_need_not_explain_but_somebody_may(experiences, begin):
    begun = begin(session="s1")
    ended = experiences.resolve("shop", begun.id, "falsified", "pytest: 1 failed", auto_captured=True)
    assert (ended.tier, ended.lacks) == ("silver", ("surprise", "root_cause"))
    assert experiences.list_unexplained("shop", "s1") == [ended]
    with pytest.raises(ValidationError, match="root_cause"):
        experiences.resolve("shop", begun.id, "falsified", surprise="Two retries.")
    told = experiences.resolve("shop", begun.id, "falsified", surprise="Two retries.", root_cause=CAUSE)
    assert (told.tier, told.outcome, told.lacks) == ("silver", ended.outcome, ())
    assert experiences.list_unexplained("shop") == []


def test_the_agent_may_contradict_a_run_but_nobody_the_agent(experiences, begin):
    begun = begin()
    experiences.resolve("shop", begun.id, "confirmed", "pytest: 3 passed", auto_captured=True)
    with pytest.raises(ValidationError, match="already"):
        experiences.resolve("shop", begun.id, "falsified", "pytest: 1 failed", auto_captured=True)
    said = experiences.resolve("shop", begun.id, "falsified", "Twice.", surprise="x", root_cause=CAUSE)
    assert (said.tier, said.outcome.auto_captured) == ("silver", False)
    with pytest.raises(ValidationError, match="already"):
        experiences.resolve("shop", begun.id, "confirmed", "Once.")
    with pytest.raises(ValidationError, match="already"):
        experiences.update("shop", begun.id, note="too late")


def test_a_lesson_may_come_later(experiences, begin):
    begun = begin()
    ended = experiences.resolve("shop", begun.id, "confirmed", "It charges once.")
    learnt = experiences.resolve("shop", begun.id, "confirmed", lesson=Lesson("Keys before retries."))
    assert learnt.lesson == Lesson("Keys before retries.")
    assert learnt.outcome == ended.outcome


def test_a_run_may_speak_of_its_sessions_own_and_then_of_those_of_no_session(experiences, begin, clock):
    nobodys = []
    for _ in range(2):
        clock.advance(minutes=1)
        nobodys.append(begin().id)
    clock.advance(minutes=1)
    mine = begin(session="s1")
    clock.advance(minutes=1)
    begin(session="s2")
    at = clock.advance(minutes=1)
    told = [one.id for one in experiences.list_open_for_run("shop", "s1", at)]
    assert told == [mine.id, nobodys[1], nobodys[0]], "its own first, then the newest"
    assert [one.id for one in experiences.list_open_for_run("shop", None, at)] == [nobodys[1], nobodys[0]]
    assert experiences.list_open_for_run("elsewhere", "s1", at) == []


def test_a_run_from_before_says_nothing_of_what_came_or_changed_after(experiences, begin, clock):
    before = clock()
    clock.advance(minutes=1)
    begun = begin(session="s1")
    assert experiences.list_open_for_run("shop", "s1", before) == []
    between = clock.advance(minutes=1)
    clock.advance(minutes=1)
    experiences.update("shop", begun.id, hypothesis="The queue delivers twice.")
    assert experiences.list_open_for_run("shop", "s1", between) == []


def test_a_run_ends_one_experience_however_often_it_is_told(experiences, begin, clock):
    first, second = begin(), begin(session="s1")
    at = clock.advance(minutes=1)
    clock.advance(minutes=1)
    assert experiences.confirm_experience_by_run("shop", second.id, "pytest: 3 passed", at)
    ended = experiences.get("shop", second.id)
    assert (ended.status, ended.tier, ended.outcome.captured_at) == ("confirmed", "silver", at)
    assert not experiences.confirm_experience_by_run("shop", first.id, "pytest: 3 passed", at)
    assert experiences.get("shop", first.id) == first
    assert experiences.confirm_experience_by_run(
        "shop", first.id, "pytest: 3 passed", clock(), "failed then passed", ["test_retry"]
    )
    assert (experiences.get("shop", first.id).tier, experiences.get("shop", first.id).outcome.names) == (
        "gold",
        ("test_retry",),
    )


def test_a_verdict_can_be_amended_whoever_gave_it_and_what_it_was_stays(experiences, begin, clock):
    begun = begin(session="s1")
    experiences.confirm_experience_by_run(
        "shop", begun.id, "pytest: 3 passed", clock(), "failed then passed", ["test_a"]
    )
    with pytest.raises(ValidationError, match="surprise"):
        experiences.amend("shop", begun.id, "falsified", "it fails again")
    changed = experiences.amend(
        "shop", begun.id, "falsified", "it fails again", surprise="Two retries.", root_cause=CAUSE
    )
    assert (changed.status, changed.tier, changed.outcome.proof) == ("falsified", "silver", "stated")
    (was,) = changed.amendments
    assert (was.status, was.result, was.reason) == ("confirmed", "pytest: 3 passed", "it fails again")
    assert experiences.get("shop", begun.id) == changed
    again = experiences.amend(
        "shop", begun.id, "confirmed", "the machine was broken", result="It charges once."
    )
    assert (again.status, again.outcome.result, len(again.amendments)) == ("confirmed", "It charges once.", 2)


def test_a_verdict_can_be_taken_back(experiences, begin):
    begun = begin(session="s1")
    experiences.resolve("shop", begun.id, "confirmed", "It charges once.")
    opened = experiences.amend("shop", begun.id, "open", "it was another test")
    assert (opened.status, opened.tier, opened.outcome) == ("open", None, None)
    assert experiences.active("shop", "s1") == opened


def test_a_verdict_is_not_taken_back_beside_another_that_is_open(experiences, begin):
    begun = begin(session="s1")
    experiences.resolve("shop", begun.id, "confirmed", "It charges once.")
    begin(session="s1", goal="Charge at all.")
    with pytest.raises(ValidationError, match="resolve it first"):
        experiences.amend("shop", begun.id, "open", "it was another test")


@pytest.mark.parametrize(("status", "reason"), [("open", "x"), ("confirmed", " "), ("solved", "x")])
def test_an_amendment_needs_another_status_and_a_reason(experiences, begin, status, reason):
    begun = begin()
    if reason == " ":
        experiences.resolve("shop", begun.id, "abandoned", "No time.")
    with pytest.raises(ValidationError):
        experiences.amend("shop", begun.id, status, reason)


def test_evidence_is_added_once_in_its_order_and_no_version_is_made(engine, experiences, begin, clock):
    begun = begin()
    late, early = (
        Evidence(clock.advance(minutes=2), "run", "red"),
        Evidence(clock(), "change", "a.py", fits=True),
    )
    early = replace(early, at=late.at - timedelta(minutes=1))
    for seen in ([late], [early, early], [late]):
        experiences.add_evidence("shop", begun.id, seen)
    held = experiences.get("shop", begun.id)
    assert [one.kind for one in held.evidence] == ["change", "run"]
    assert len([*engine.store.scan("shop")]) == 1
    experiences.resolve("shop", begun.id, "confirmed", "It charges once.")
    assert experiences.get("shop", begun.id).evidence == held.evidence
    assert experiences.add_evidence("shop", begun.id, [replace(late, what="later")]).evidence == held.evidence


def test_a_session_adopts_what_belongs_to_none_and_is_open(experiences, begin, live_experience, clock):
    begun, others, ended = begin(), begin(session="s2"), live_experience()
    clock.advance(hours=1)
    before = clock()
    adopted = experiences.adopt("shop", begun.id, "s1")
    assert (adopted.session, adopted.id, adopted.created_at) == ("s1", begun.id, begun.created_at)
    assert experiences.active("shop", "s1") == adopted
    assert experiences.adopt("shop", others.id, "s1") == others
    assert experiences.adopt("shop", ended.id, "s1") == ended
    assert experiences.list_open_for_run("shop", "s1", before) == [adopted], (
        "that it is known now makes it no newer"
    )


@pytest.mark.parametrize(
    ("status", "result", "told"),
    [
        ("solved", "x", {}),
        ("open", "x", {}),
        ("confirmed", "", {}),
        ("confirmed", "x", {"lesson": Lesson("")}),
        ("falsified", "x", {"surprise": "y", "root_cause": RootCause("bad-luck", "z")}),
        ("falsified", "x", {"surprise": "y", "root_cause": RootCause("oversight", " ")}),
    ],
)
def test_a_wrong_ending_is_refused_and_changes_nothing(experiences, begin, status, result, told):
    begun = begin()
    with pytest.raises(ValidationError):
        experiences.resolve("shop", begun.id, status, result, **told)
    assert experiences.get("shop", begun.id) == begun


def test_nobody_can_be_resolved(experiences):
    with pytest.raises(ValidationError, match="no experience"):
        experiences.resolve("shop", "nobody", "confirmed", "x")


# Listing and forgetting


def test_the_newest_come_first_and_every_filter_narrows(experiences, live_experience):
    live_experience(goal="a", domain="testing")
    live_experience("falsified", goal="b", domain="testing", strategy="ask-user")
    live_experience("abandoned", goal="c", domain="security")

    def list_goals(**filters):
        return "".join(one.goal for one in experiences.list("shop", **filters))

    assert list_goals() == "cba"
    assert list_goals(limit=2) == "cb"
    assert list_goals(domain="testing") == "ba"
    assert list_goals(strategy="ask-user") == list_goals(status="falsified") == "b"
    assert list_goals(tier="abandoned") == "c"
    assert list_goals(tier="silver") == "ba"
    assert list_goals(domain="testing", status="abandoned") == list_goals(session="s1") == ""
    for wrong in ({"domain": "x"}, {"strategy": "x"}, {"status": "x"}, {"tier": "x"}, {"limit": 0}):
        with pytest.raises(ValidationError):
            list_goals(**wrong)


def test_a_rare_one_is_found_behind_many_pages(experiences, begin, live_experience):
    rare = live_experience("abandoned", goal="rare")
    busy = begin(goal="busy")
    for number in range(100):
        experiences.update("shop", busy.id, note=str(number))
    assert experiences.list("shop", tier="abandoned") == [rare]
    assert [one.goal for one in experiences.list("shop")] == ["busy", "rare"]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_forgetting_any_version_forgets_them_all(engine, experiences, begin, embed, which):
    begun = begin(session="s1")
    experiences.update("shop", begun.id, action="Send the cart id.")
    experiences.resolve("shop", begun.id, "falsified", "Twice.", surprise="x", root_cause=CAUSE)
    kept = engine.remember("Something else.", "shop")
    embed()
    items = list(engine.store.scan("shop", Filters(kinds=("experience",))))
    forgotten = engine.forget("shop", items[which].id)
    assert set(forgotten.ids) == {item.id for item in items}
    assert forgotten.problems == ()
    assert [item.id for item in engine.store.scan("shop")] == [kept.id]
    assert engine.count("shop").vectors == {"semantic": 1}


def test_a_version_is_kept_and_the_last_steps_behind_it_or_neither(engine, experiences, begin, monkeypatch):
    begun = begin()
    honest = operations._amend_item

    def cut_off(*_):
        raise apsw.IOError("the power is gone")

    monkeypatch.setattr(operations, "_amend_item", cut_off)
    with pytest.raises(StorageError):
        experiences.resolve("shop", begun.id, "confirmed", "Once.")
    monkeypatch.setattr(operations, "_amend_item", honest)
    assert [one.status for one in experiences.list("shop")] == ["open"]
    assert len(list(engine.store.scan("shop"))) == 1
    again = experiences.resolve("shop", begun.id, "confirmed", "Once, again.")
    assert experiences.list("shop") == experiences.list("shop", status="confirmed") == [again]


def test_many_threads_may_live_at_once(experiences, begin):
    def live(name):
        begun = begin(session=name)
        experiences.update("shop", begun.id, note=name)
        experiences.resolve("shop", begun.id, "confirmed", "Once.")

    threads = [threading.Thread(target=live, args=(f"s{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
        assert not thread.is_alive(), "a thread still writes after a minute"
    assert [(one.status, len(one.notes)) for one in experiences.list("shop")] == [("confirmed", 1)] * 8

"""What a coding agent is told: what matters, once, within its tokens, and by whom."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import UTC, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.compose.budget import InjectionCategory, TokenBudget
from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.errors import EmbeddingError, NoContext, RetrievalError, StorageError, ValidationError
from foreword.recipes.coding.injection import InjectionPipeline
from foreword.store.base import ClearShown, MarkShown
from foreword.testing import FixedClock, HashEmbeddings
from foreword.text.frame import wrap_in_frame
from foreword.types import Item, Source

ALERT, CLUSTER, SINGLE, SESSION, TEMPORAL = InjectionCategory
BASH, AGENT = Source("Bash", "tool"), Source("agent", "agent")
QUESTION = "Which database did we choose, Postgres or MySQL?"
TIMEOUT = "What is the session timeout for staff?"


@dataclass(frozen=True)
class Shift:
    """An alert, as whoever finds shifts would give it."""

    memory_id: str
    space: str = "semantic"
    summary: str = "Deploys happen on Tuesdays"
    similarity: float = 0.12


def ask(coding, query=QUESTION, session="s1", workspace="shop", **more):
    return coding.generate_context(query, session, workspace=workspace, **more)


def reasons(result):
    return {entry.item_id: entry.decision for entry in result.receipt.entries}


# A prompt


def test_a_prompt_is_answered_with_what_was_remembered(engine, project, coding):
    result = ask(coding)
    assert project[0].id in result.included_memories
    assert "- **3 weeks ago** [Same time of day]: We chose Postgres over MySQL" in result.formatted_context
    assert result.tokens_used == engine.tokenizer.count(result.formatted_context)
    assert CLUSTER in result.categories_included
    assert result.require_context() == result.formatted_context


def test_the_receipt_says_what_every_stage_did(engine, project, coding):
    result = ask(coding)
    kept = engine.explain("shop", result.receipt.id)
    assert kept == result.receipt
    assert (kept.recipe, kept.session, kept.budget, kept.tokens) == ("coding", "s1", 1250, result.tokens_used)
    assert [stage.stage for stage in kept.stages] == [
        "load_shown", "retrieve", "retrieve_more", "fuse", "compare_tokens", "rerank", "refresh",
        "drop_questions_and_summaries", "drop_shown", "drop_echoes", "set_code_aside", "read",
        "drop_below_floor", "drop_tail", "tell_successors", "limit", "relate", "tell_progress",
        "bring_back_code", "drop_superseded", "drop_repeats", "choose_lines", "weigh", "drop_told",
        "diversify", "limit_sources", "fit_budget",
    ]  # fmt: skip
    assert tuple(entry.item_id for entry in kept.injected_entries) == result.included_memories
    first = kept.injected_entries[0]
    assert first.section == CLUSTER.value
    assert first.tokens > 0
    asked_for = [
        rank for space, rank in first.ranks.items() if space not in ("graph", "hour", "day", "recency")
    ]
    assert first.agreement == pytest.approx(sum(1 / rank for rank in asked_for))
    assert first.rank == pytest.approx(first.score * 1.0 * 1.5)  # a month old, and every space agrees


def test_silence_is_an_answer(engine, project, coding):
    result = ask(coding, "Quelle heure est-il à Tombouctou?")
    assert (result.formatted_context, result.included_memories, result.tokens_used) == ("", (), 0)
    assert result.categories_included == ()
    assert set(reasons(result).values()) <= {"below floor"}
    assert engine.explain("shop") == result.receipt
    assert engine.store.shown_ids("shop", "s1") == frozenset()
    with pytest.raises(NoContext):
        result.require_context()


def test_an_empty_workspace_is_silent(coding):
    assert ask(coding).formatted_context == ""
    assert coding.generate_brief_context(QUESTION, workspace="shop") == ""
    assert coding.generate_session_context("s1", workspace="shop").formatted_context == ""


def test_nothing_is_said_twice_in_a_session(engine, project, coding):
    first = ask(coding)
    again = ask(coding, "Postgres or MySQL: which database did we choose?")
    assert first.included_memories
    assert not set(first.included_memories) & set(again.included_memories)
    assert reasons(again)[project[0].id] == "already in context"
    assert ask(coding, session="s2").included_memories == first.included_memories


def test_a_context_that_was_emptied_is_filled_again(engine, project, coding):
    first = ask(coding)
    engine.store.post(ClearShown("shop", "s1"))
    assert ask(coding).formatted_context == first.formatted_context


def test_what_a_session_holds_is_not_said_again_under_another_id(engine, clock, project, coding):
    said = engine.remember(
        "Checkout retries a failed payment three times.", "shop", kind="turn", session="s0"
    )
    engine.store.batch([MarkShown("shop", "s1", (said.id,), clock())])
    clock.advance(minutes=5)
    twin = engine.remember(
        "checkout retries a failed  payment three times", "shop", kind="turn", session="s9"
    )
    result = ask(coding, "How often does checkout retry a failed payment?")
    assert twin.id not in result.included_memories
    assert {entry.item_id: entry.detail for entry in result.receipt.entries}[twin.id] == f"as {said.id}"


def test_a_session_that_is_not_named_is_told_without_being_remembered(engine, project, coding):
    first, again = ask(coding, session=""), ask(coding, session="")
    assert first.included_memories == again.included_memories != ()
    assert first.receipt.session is None


def test_a_preview_is_what_would_be_said_and_records_nothing(engine, project, coding):
    preview = ask(coding, record=False)
    assert engine.explain("shop") is None
    assert engine.store.shown_ids("shop", "s1") == frozenset()
    assert ask(coding).formatted_context == preview.formatted_context


def test_a_context_says_what_holds_now_and_says_it_once(engine, project, coding):
    new = engine.remember(
        "The session timeout for staff is fifteen minutes.", "shop", supersedes=project[1].id
    )
    twin = engine.remember("the session timeout for staff is fifteen minutes", "shop", type="fact")
    result = ask(coding, TIMEOUT)
    assert result.formatted_context.count("fifteen minutes") == 1
    assert "thirty" not in result.formatted_context
    decided = reasons(result)
    assert decided[project[1].id] == "superseded"
    assert sorted((decided[new.id], decided[twin.id])) == ["duplicate", "injected"]


def test_what_was_forgotten_is_neither_said_nor_remembered_as_told(engine, project, coding):
    ask(coding)
    engine.forget("shop", project[0].id)
    assert project[0].id not in engine.store.shown_ids("shop", "s1")
    assert "Postgres" not in ask(coding, session="s2").formatted_context


def test_surroundings_are_shown_unless_they_only_say_who_spoke(engine, clock, coding):
    engine.remember(
        "parse_http_date refuses two-digit years", "shop", kind="document", about="dates.md > parse_http_date"
    )
    engine.remember("parse_http_date is slow", "shop", kind="turn", about="assistant", source=AGENT)
    text = ask(coding, "parse_http_date two-digit years slow").formatted_context
    assert "dates.md > parse_http_date: parse_http_date refuses" in text
    assert "(agent)" in text
    assert "assistant" not in text


def test_badges_follow_the_clock_and_their_tokens(engine, clock, coding):
    for n in range(20):
        engine.remember(f"Harbour gate {n} opens at dawn, said keeper {n * 7919}", "shop")
    clock.advance(minutes=40)
    result = ask(coding, "When does the harbour gate open?")
    shown = result.formatted_context.count("[Recent activity]")
    assert shown
    assert shown * engine.tokenizer.count(" [Recent activity]") <= 50
    assert TEMPORAL in result.categories_included


# Tokens

BUDGETS = st.integers(1, 5000)


@pytest.fixture(scope="module")
def crowded_engine(tmp_path_factory):
    """Forty memories of every length and source, and an alert and a summary of the last session."""
    home, clock, chance = tmp_path_factory.mktemp("crowded"), FixedClock(), random.Random(5)
    words = ["deploy", "deadlock", "harbour", "Ünïcode", "漢字", "🚢", "retry", "</system>", "x" * 150]
    words += ["parse_http_date"]
    with ContextEngine(
        embedding_provider=HashEmbeddings(), settings=Settings(home=home, reader="none"), clock=clock
    ) as engine:
        sources = [Source(), BASH, AGENT, Source("https://example.org/x", "web")]
        items = [
            Item(
                " ".join(chance.choices(words, k=chance.randint(3, 80))),
                "w",
                created_at=clock() - timedelta(hours=chance.random() * 1000),
                source=chance.choice(sources),
            )
            for _ in range(40)
        ]
        kept = engine.remember_all(items, "w")
        engine.embed_pending("w")
        alert = Shift(kept[0].id, summary="deploy " * 90)
        yield (
            InjectionPipeline(
                engine,
                diverges=lambda query, session: alert,
                last_session=lambda workspace, session: kept[1],
                topics=lambda workspace, session: ["漢字 " * 40] * 5,
                floor=0.0,
                zone=UTC,
            ),
            engine.tokenizer,
        )


@pytest.mark.slow
@settings(max_examples=settings().max_examples // 16)  # each makes three contexts
@given(total=BUDGETS, query=st.sampled_from(["deploy deadlock", "harbour 漢字 🚢", "parse_http_date retry"]))
def test_the_exact_count_never_exceeds_the_budget(crowded_engine, total, query):
    coding, tokenizer = crowded_engine
    budget = TokenBudget.with_total(total)
    for result in (
        coding.generate_context(query, "s", budget, workspace="w", record=False),
        coding.generate_session_context("s", budget, workspace="w", record=False),
    ):
        assert tokenizer.count(wrap_in_frame(result.formatted_context)) <= total
        assert result.tokens_used == tokenizer.count(result.formatted_context)
        assert (
            sum(e.tokens for e in result.receipt.injected_entries if e.section != ALERT.value)
            <= budget.available
        )
    brief = coding.generate_brief_context(query, min(total, 200), workspace="w", record=False)
    assert tokenizer.count(wrap_in_frame(brief)) <= min(total, 200)


def test_a_large_budget_is_used_and_the_rest_is_over_budget(crowded_engine):
    coding, _ = crowded_engine
    small, large = (
        coding.generate_context("deploy", "s", TokenBudget.with_total(total), workspace="w", record=False)
        for total in (300, 5000)
    )
    assert len(large.included_memories) > len(small.included_memories) > 0
    assert "over budget" in reasons(small).values()
    over = next(e for e in small.receipt.entries if e.decision == "over budget")
    assert over.detail.startswith("needs ")


# Before a tool


def test_a_brief_context_names_three_on_one_line_and_is_told(engine, project, coding):
    for note in (
        "Backups of the Postgres database run at night.",
        "MySQL was slower.",
        "Mara knows all about the database.",
    ):
        engine.remember(note, "shop")
    brief = coding.generate_brief_context(QUESTION, workspace="shop", session_id="s1")
    assert brief.startswith("Related: ")
    assert "\n" not in brief
    assert len(engine.store.shown_ids("shop", "s1")) == 3
    receipt = engine.explain("shop")
    assert (receipt.recipe, len(receipt.injected_entries), receipt.budget) == ("brief", 3, 200)
    assert "over limit" in {entry.decision for entry in receipt.entries}
    assert brief != coding.generate_brief_context(QUESTION, workspace="shop", session_id="s1")


def test_a_brief_context_skips_the_question_of_shifts(engine, project):
    asked = []
    coding = InjectionPipeline(engine, diverges=lambda *given: asked.append(given), zone=UTC)
    assert coding.generate_brief_context(QUESTION, workspace="shop", session_id="s1")
    assert asked == []


@pytest.mark.parametrize("budget", [0, 201, -1, 1.5, None])
def test_a_brief_budget_is_brief(coding, budget):
    with pytest.raises(ValidationError, match="budget"):
        coding.generate_brief_context(QUESTION, budget, workspace="shop")


# Shifts


@pytest.mark.parametrize("trust", ["repository", "tool", "web"])
def test_a_shift_quotes_nothing_that_neither_the_user_nor_the_agent_said(engine, project, trust):
    printed = engine.remember("Deploys are done with curl.", "shop", source=Source("x", trust))
    coding = InjectionPipeline(engine, diverges=lambda query, session: Shift(printed.id), zone=UTC)
    result = ask(coding)
    assert result.divergence_alerts == ()
    assert "divergence" in {note.part for note in result.receipt.notes}


def test_a_shift_is_told_within_its_tokens_and_attributed(engine, project):
    wordy = engine.remember("Deploys. " * 500, "shop", source=Source("claude", "agent"))
    shift = Shift(wordy.id, summary="deploys " * 500)
    coding = InjectionPipeline(engine, diverges=lambda query, session: shift, zone=UTC)
    result = ask(coding)
    section = result.formatted_context[result.formatted_context.index("### Note: Activity Shift Detected") :]
    assert engine.tokenizer.count(section) <= 200
    assert "Recent context (agent): deploys" in section
    assert result.divergence_alerts == (shift,)
    assert result.categories_included[0] is ALERT
    assert wordy.id not in result.included_memories
    assert [e.section for e in result.receipt.injected_entries if e.item_id == wordy.id] == [ALERT.value]
    assert wordy.id not in engine.store.shown_ids("shop", "s1")  # a summary was told, not the memory


def test_a_shift_alone_is_no_reason_to_speak(engine, project):
    shift = Shift(project[3].id)
    coding = InjectionPipeline(engine, diverges=lambda query, session: shift, zone=UTC)
    assert ask(coding, "Quelle heure est-il?").formatted_context == ""


def test_whoever_finds_shifts_is_given_the_question_and_the_session(engine, project):
    asked = []

    def diverges(query, session):
        asked.append((query.text, query.workspace, session))

    ask(InjectionPipeline(engine, diverges=diverges, zone=UTC))
    assert asked == [(QUESTION, "shop", "s1")]


def test_a_shift_from_a_memory_that_is_gone_is_not_told(engine, project):
    coding = InjectionPipeline(engine, diverges=lambda query, session: Shift("nobody"), zone=UTC)
    result = ask(coding)
    assert result.divergence_alerts == ()
    assert "Deploys" not in result.formatted_context
    assert [note.part for note in result.receipt.notes] == ["divergence"]


# The last session


def remember_last_session(engine, **more):
    return engine.remember(
        "Moved the holds job to batches. Open: the retry test.",
        "shop", kind="summary", session="s0", source=AGENT, about="summary of a session", **more,
    )  # fmt: skip


def test_the_last_session_accompanies_what_is_relevant_once(engine, project):
    item = remember_last_session(engine)
    coding = InjectionPipeline(engine, last_session=lambda workspace, session: item, zone=UTC)
    assert ask(coding, "Quelle heure est-il à Tombouctou?").formatted_context == ""
    result = ask(coding)
    assert result.formatted_context.endswith(
        "### Previous Session\n- **Just now** [Just discussed] (agent): Moved the holds job to batches. "
        "Open: the retry test."
    )
    assert SESSION in result.categories_included
    assert item.id in engine.store.shown_ids("shop", "s1")
    again = ask(coding, TIMEOUT)
    assert "Previous Session" not in again.formatted_context
    assert reasons(again)[item.id] == "already in context"


def test_a_last_session_that_was_searched_for_is_not_told_twice(engine, project):
    item = remember_last_session(engine)
    coding = InjectionPipeline(engine, last_session=lambda workspace, session: item, zone=UTC)
    result = ask(coding, "Did we move the holds job to batches?")
    assert result.formatted_context.count("Moved the holds job") == 1
    assert result.included_memories.count(item.id) == 1


def test_a_last_session_of_another_workspace_is_refused(engine, project):
    item = replace(remember_last_session(engine), workspace="elsewhere", id="foreign")
    coding = InjectionPipeline(engine, last_session=lambda workspace, session: item, zone=UTC)
    for result in (ask(coding), coding.generate_session_context("s1", workspace="shop")):
        assert "holds job" not in result.formatted_context
        assert reasons(result)["foreign"] == "foreign workspace"


# The beginning of a session


def test_a_session_begins_with_the_last_one_and_the_topics(engine, project):
    item = remember_last_session(engine)
    coding = InjectionPipeline(
        engine,
        last_session=lambda workspace, session: item,
        topics=lambda workspace, session: [f"holds of {workspace}", "deploys"],
        zone=UTC,
    )
    begun = coding.generate_session_context("s1", workspace="shop")
    assert begun.formatted_context == (
        "## Relevant Context\n\n### Previous Session\n"
        "- **Just now** [Just discussed] (agent): Moved the holds job to batches. Open: the retry test.\n\n"
        "### Topics\n- holds of shop\n- deploys"
    )
    assert begun.included_memories == (item.id,)
    assert engine.explain("shop", begun.receipt.id).recipe == "session"
    resumed = coding.generate_session_context("s1", workspace="shop")
    assert resumed.formatted_context == ""
    coding.delete_record_of_shown_items("shop", "s1", engine.clock())
    assert (
        coding.generate_session_context("s1", workspace="shop").formatted_context == begun.formatted_context
    )


# Parts that fail


def test_a_part_that_fails_is_a_note_and_a_warning_and_the_rest_is_said(engine, project, caplog):
    def broken(*_):
        raise EmbeddingError("the encoder is on strike")

    coding = InjectionPipeline(engine, diverges=broken, last_session=broken, topics=broken, zone=UTC)
    result = ask(coding)
    assert project[0].id in result.included_memories
    assert [(n.part, n.message) for n in result.receipt.notes] == [
        ("divergence", "failed: the encoder is on strike"),
        ("last session", "failed: the encoder is on strike"),
    ]
    assert "on strike" in caplog.text
    begun = coding.generate_session_context("s2", workspace="shop")
    assert [note.part for note in begun.receipt.notes] == ["last session", "topics"]


def test_after_the_deadline_nothing_more_is_asked_and_the_receipt_says_so(engine, project):
    asked = []
    coding = InjectionPipeline(
        engine,
        diverges=lambda *given: asked.append(given),
        last_session=lambda *given: asked.append(given),
        zone=UTC,
    )
    result = ask(coding, deadline_ms=0.0001)
    assert result.formatted_context == ""
    assert asked == []
    assert "lexical" in {note.part for note in result.receipt.notes}
    assert all("late" in note.message for note in result.receipt.notes)


def test_a_store_that_cannot_be_read_is_an_error_of_retrieval(engine, project, coding):
    engine.store.close()
    for call in (
        lambda: ask(coding),
        lambda: coding.generate_brief_context(QUESTION, workspace="shop", session_id="s1"),
        lambda: coding.generate_session_context("s1", workspace="shop"),
    ):
        with pytest.raises(RetrievalError, match="closed") as failed:
            call()
        assert isinstance(failed.value.source, StorageError)


@pytest.mark.parametrize("session", ["a\0b", "\ud800", "line\nbreak", "x" * 2000])
def test_a_session_needs_a_name_that_can_be_kept(coding, session):
    with pytest.raises(ValidationError, match="session"):
        ask(coding, session=session)


@pytest.mark.parametrize("workspace", ["", "  ", None])
def test_no_workspace_no_answer(coding, workspace):
    for call in (
        lambda: ask(coding, workspace=workspace),
        lambda: coding.generate_brief_context(QUESTION, workspace=workspace),
        lambda: coding.generate_session_context("s1", workspace=workspace),
    ):
        with pytest.raises(ValidationError, match="workspace"):
            call()


@pytest.mark.parametrize("settings_", [{"floor": 2}, {"source_share": -1}])
def test_shares_are_shares(engine, settings_):
    with pytest.raises(ValidationError):
        InjectionPipeline(engine, **settings_)

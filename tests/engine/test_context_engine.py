from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta

import pytest

from foreword import (
    ContextEngine,
    ContextOptions,
    ContextTemplate,
    Item,
    SearchOptions,
    Settings,
    ValidationError,
)
from foreword.engine import CacheConfig
from foreword.errors import EmbeddingError, SearchError, TemplateNotFound
from foreword.recall.rank import MemoryRanker
from foreword.testing import HashEmbeddings, WordTokens


def texts(results):
    return [result.memory.text for result in results]


# Remembering


def test_what_was_remembered_is_found(engine, project):
    best = engine.search("Which database did we choose, Postgres?", "shop")[0]
    assert best.memory == project[0]
    assert best.score > 0.5
    assert {"lexical", "semantic"} <= best.ranks.keys()


def test_it_is_found_by_words_before_its_vector_is_there(home, clock):
    with ContextEngine(settings=Settings(home=home, embedding="none"), clock=clock) as engine:
        engine.remember("The canary is called Pip.", "shop")
        assert texts(engine.search("canary", "shop")) == ["The canary is called Pip."]


def test_vectors_are_made_behind_the_write_and_after_a_restart(home, clock):
    settings = Settings(home=home)
    with ContextEngine(settings=Settings(home=home, embedding="none"), clock=clock) as engine:
        engine.remember("The canary is called Pip.", "shop")
    with ContextEngine(embedding_provider=HashEmbeddings(), settings=settings, clock=clock) as engine:
        assert engine.embed_pending("shop") == 1
        assert engine.embed_pending("shop") == 0
        assert engine.count("shop").vectors == {"semantic": 1}


def test_a_text_that_was_embedded_before_costs_nothing(home, clock):
    class Once(HashEmbeddings):
        seen: list[str] = []  # noqa: RUF012

        def embed_batch(self, texts):
            self.seen.extend(texts)
            return super().embed_batch(texts)

    with ContextEngine(embedding_provider=Once(), settings=Settings(home=home), clock=clock) as engine:
        engine.remember("Same words.", "shop")
        engine.embed_pending("shop")
        engine.remember("Same words.", "shop", kind="document")
        engine.embed_pending("shop")
        assert engine.count("shop").vectors == {"semantic": 2}
    assert Once.seen == ["Same words."]


def test_the_same_statement_is_kept_once_and_the_same_event_twice(engine, clock):
    first, again = (engine.remember("Use tabs.", "shop") for _ in range(2))
    assert first == again
    said = [engine.remember("Yes.", "shop", kind="turn", session="s")]
    clock.advance(minutes=1)
    said.append(engine.remember("Yes.", "shop", kind="turn", session="s"))
    assert said[0].id != said[1].id
    assert engine.count("shop").kinds == {"memory": 1, "turn": 2}


def test_tokens_are_counted_once_when_stored(engine):
    assert engine.remember("hello world", "shop").tokens == 2


def test_a_bad_item_among_good_ones_leaves_nothing_behind(engine):
    good, bad = Item("fine", "shop"), Item("", "shop")
    with pytest.raises(ValidationError):
        engine.remember_all([good, bad], "shop")
    assert engine.count("shop").items == 0


@pytest.mark.parametrize("workspace", ["", "  ", None, "a\0b", "x" * 2000])
def test_without_a_workspace_there_is_no_answer(engine, workspace):
    for call in (
        lambda: engine.remember("x", workspace),
        lambda: engine.search("x", workspace),
        lambda: engine.build_context("x", workspace),
        lambda: engine.forget(workspace, "id"),
        lambda: engine.count(workspace),
        lambda: list(engine.export(workspace)),
    ):
        with pytest.raises(ValidationError, match="workspace"):
            call()


# Searching


def test_filters_decide_who_may_answer(engine, project, clock):
    def search_texts(**changes):
        return texts(engine.search("the", "shop", **changes))

    assert len(search_texts()) == 5
    assert search_texts(memory_types=["fact"]) == [project[1].text]
    assert search_texts(kinds=["turn"]) == []
    assert search_texts(date_from=project[3].created_at) == search_texts(
        date_from=project[3].created_at, date_to=clock()
    )
    assert len(search_texts(date_from=project[3].created_at)) == 2
    assert search_texts(session="none") == search_texts(conversation_id="none") == []


def test_confidence_and_conversation_are_filters_too(engine):
    engine.remember("Sure thing about llamas.", "zoo", confidence=0.9, conversation="c1")
    engine.remember("Vague thing about llamas.", "zoo", confidence=0.3, conversation="c2", session="s2")
    assert texts(engine.search("llamas", "zoo", min_confidence=0.5)) == ["Sure thing about llamas."]
    assert texts(engine.search("llamas", "zoo", conversation_id="c2")) == ["Vague thing about llamas."]
    assert texts(engine.search("llamas", "zoo", session="s2")) == ["Vague thing about llamas."]


def test_options_and_keywords_say_the_same(engine, project):
    options = SearchOptions(limit=1, memory_types=["decision"])
    assert engine.search("database", "shop", options) == engine.search(
        "database", "shop", limit=1, memory_types=["decision"]
    )
    assert len(engine.search("the", "shop", options, limit=3, memory_types=())) == 3


def test_a_vector_finds_what_its_text_would(engine, project):
    vector = HashEmbeddings().embed(project[2].text)
    assert engine.search_by_vector(vector, "shop")[0].memory == project[2]
    assert project[2].text in engine.build_context_by_vector(vector, "shop").context


@pytest.mark.parametrize("vector", [[], [1.0] * 63, [math.nan] * 64, [math.inf] * 64])
def test_a_vector_that_does_not_fit_is_refused(engine, project, vector):
    with pytest.raises(EmbeddingError, match="does not fit"):
        engine.search_by_vector(vector, "shop")


def test_without_an_encoder_there_is_no_search_by_vector(home):
    with (
        ContextEngine(settings=Settings(home=home, embedding="none")) as engine,
        pytest.raises(EmbeddingError, match="no encoder"),
    ):
        engine.search_by_vector([1.0], "shop")


def test_a_typing_error_still_finds(engine, project):
    best = engine.search("Which JSON operators has Postgers?", "shop")[0]
    assert best.memory == project[0]
    assert best.ranks["trigram"] == 1


def test_a_question_without_words_gives_the_newest(engine, project):
    assert texts(engine.search("", "shop", limit=2)) == [project[4].text, project[3].text]


def test_a_question_about_the_time_before_an_event_prefers_what_was_then(engine, clock):
    for text in (
        "The nightly backup broke.",
        "The great migration to Postgres was done.",
        "The nightly backup failed.",
    ):
        engine.remember(text, "w")
        clock.advance(days=30)
    engine.embed_pending("w")

    def first(question):
        return next(t for t in texts(engine.search(question, "w")) if "backup" in t)

    assert first("What about the nightly backup before the migration?") == "The nightly backup broke."
    assert first("What about the nightly backup after the migration?") == "The nightly backup failed."


def test_relations_are_followed_when_asked_for(engine, project):
    engine.relate(project[0].id, project[1].id, "shop", "explains", 0.8)
    engine.relate(project[1].id, project[2].id, "shop")
    engine.relate(project[2].id, project[0].id, "shop")
    plain = engine.search("Postgres", "shop", limit=1)[0]
    near = engine.search("Postgres", "shop", limit=1, include_relationships=True)[0]
    far = engine.search("Postgres", "shop", limit=1, include_relationships=True, relationship_depth=10)[0]
    assert plain.relationships == ()
    assert {r.memory.id for r in near.relationships} == {project[1].id, project[2].id}
    assert [r.depth for r in far.relationships] == [1, 1], "a circle ends, and the nearest way counts"
    assert near.relationships[0].relationship.type in ("explains", "related_to")


def test_related_items_pass_the_filters_too(engine, project):
    engine.relate(project[0].id, project[1].id, "shop")
    allowed = {"limit": 1, "kinds": (project[0].kind,), "date_to": project[0].created_at}
    (found,) = engine.search("Postgres", "shop", include_relationships=True, **allowed)
    assert (found.memory, found.relationships) == (project[0], ())


def test_a_relation_needs_two_items(engine, project):
    with pytest.raises(ValidationError, match="no item has the id 'ghost'"):
        engine.relate(project[0].id, "ghost", "shop")


def test_a_superseded_item_steps_behind_its_successor(engine, project, clock):
    new = engine.remember("The session timeout for staff is fifteen minutes.", "shop", type="fact")
    from foreword.store.base import Amend

    engine.store.batch([Amend("shop", project[1].id, superseded_by=new.id)])
    found = engine.search("session timeout for staff thirty minutes", "shop")
    assert texts(found)[:2] == [new.text, project[1].text]
    context = engine.build_context("session timeout for staff thirty minutes", "shop")
    assert "fifteen" in context.context
    assert "thirty" not in context.context
    assert ("superseded", new.id) in [(e.decision, e.detail) for e in context.receipt.entries]


def test_a_successor_that_no_space_found_is_fetched(engine, clock):
    old = engine.remember("Lunch is at noon.", "shop")
    new = engine.remember("Completely different words here.", "shop")
    from foreword.store.base import Amend

    engine.store.batch([Amend("shop", old.id, superseded_by=new.id)])
    engine.embed_pending("shop")
    assert texts(engine.search("lunch noon", "shop", limit=2))[0] == new.text


# Building a context


def test_a_context_is_worded_by_its_template(engine, project):
    result = engine.build_context("Which database did we choose?", "shop", limit=1)
    assert result.context == (
        "Relevant context from past conversations:\n\n"
        "- We chose Postgres over MySQL for its JSON operators.\n"
    )
    assert (result.template, result.truncated) == ("chat", False)
    assert result.token_count == engine.tokenizer.count(result.context)
    summary = engine.build_context("Which database did we choose?", "shop", limit=1, template="summary")
    assert summary.context.startswith("Key information:\nWe chose")


def test_a_small_budget_holds_what_it_can(engine, project):
    result = engine.build_context("the", "shop", token_budget=30, floor=0.0)
    assert 0 < result.token_count <= 30
    assert result.truncated
    assert any(entry.decision == "over budget" for entry in result.receipt.entries)


def test_the_preview_is_what_building_then_gives(engine, project):
    options = ContextOptions(template="detailed", token_budget=60, limit=4)
    preview = engine.preview_context("staff timeout", "shop", options)
    built = engine.build_context("staff timeout", "shop", options)
    assert preview.context == built.context
    assert preview.memory_ids == tuple(m.memory.id for m in built.memories)
    assert preview.ranking_scores == {m.memory.id: m.rank for m in built.memories}
    assert preview.budget_used == pytest.approx(100 * built.token_count / 60)
    assert engine.explain("shop").id == built.receipt.id, "a preview leaves no receipt"


def test_what_is_probably_beside_the_point_is_not_said(engine, project):
    result = engine.build_context("penguins of the Antarctic", "shop")
    assert result.context == ""
    assert {entry.decision for entry in result.receipt.entries} == {"below floor"}
    assert engine.build_context("penguins of the Antarctic", "shop", floor=0.0).context


def test_the_full_lane_asks_the_cross_encoder_and_the_fast_one_does_not(home, clock, project):
    class Judge:
        asked = 0

        def scores(self, query, texts, expires=None):
            self.asked += 1
            return [9.0 if "Tuesdays" in text else -11.0 for text in texts]

    judge = Judge()
    with ContextEngine(
        embedding_provider=HashEmbeddings(), settings=Settings(home=home), clock=clock, reranker=judge
    ) as engine:
        assert texts(engine.search("Postgres", "shop"))[0] == project[0].text
        assert judge.asked == 0
        for choice in ({"lane": "full"}, {"deadline_ms": 60_000}):
            best = engine.search("Postgres", "shop", **choice)[0]
            assert best.memory.text.startswith("Deploys")
            assert best.scores["rerank"] == 9.0
        assert judge.asked == 2


def test_a_cross_encoder_that_fails_is_a_note(home, clock, project):
    class Broken:
        def scores(self, query, texts, expires=None):
            raise EmbeddingError("no memory left")

    with ContextEngine(
        embedding_provider=HashEmbeddings(), settings=Settings(home=home), clock=clock, reranker=Broken()
    ) as engine:
        result = engine.build_context("Postgres", "shop", lane="full")
        assert "Postgres" in result.context
        assert [(note.part, note.message) for note in result.receipt.notes] == [
            ("rerank", "failed: no memory left")
        ]


def test_weights_can_be_adjusted_for_one_workspace(engine, project):
    before = engine.search("Postgres", "shop")[0].score
    engine.adjust("shop", "memory", lexical=0.4)
    assert engine.search("Postgres", "shop")[0].score > before
    engine.adjust("elsewhere", "memory", lexical=0.0)
    assert engine.search("Postgres", "shop")[0].score > before
    with pytest.raises(ValidationError, match="no weight named 'magic'"):
        engine.adjust("shop", "memory", magic=1.0)
    with pytest.raises(ValidationError, match="no kind named"):
        engine.adjust("shop", "spell", lexical=1.0)


def test_a_space_can_be_left_out_by_name(home, clock):
    with ContextEngine(
        embedding_provider=HashEmbeddings(),
        settings=Settings(home=home),
        clock=clock,
        without=["semantic", "graph"],
    ) as engine:
        engine.remember("The canary is called Pip.", "shop")
        assert engine.search("canary", "shop")[0].ranks.keys().isdisjoint({"semantic", "echo", "graph"})
    with pytest.raises(ValidationError, match="no space named 'magic'"):
        ContextEngine(settings=Settings(home=home, embedding="none"), without=["magic"])


def test_nothing_found_is_an_empty_context(engine):
    result = engine.build_context("anything", "nowhere")
    assert (result.context, result.token_count, result.memories, result.truncated) == ("", 0, (), False)


def test_a_repeat_is_said_once(engine):
    engine.remember("The staff canteen closes at three.", "shop")
    engine.remember("The staff canteen closes at three!", "shop")
    engine.embed_pending("shop")
    result = engine.build_context("canteen", "shop")
    assert result.context.count("canteen") == 1
    assert [e.decision for e in result.receipt.entries] == ["injected", "duplicate"]


def test_rankers_are_found_by_name_or_given(engine, project):
    def build(ranker):
        return [m.memory.id for m in engine.build_context("the", "shop", ranker=ranker, floor=0.0).memories]

    newest_first = [item.id for item in reversed(project)]
    assert build("recency") == newest_first
    assert build(lambda results: list(reversed(MemoryRanker.by_recency(results)))) == newest_first[::-1]
    engine.register_ranker("recent-only", lambda results: MemoryRanker.by_recency(results)[:2])
    assert build("recent-only") == newest_first[:2]
    for name in ("similarity", "confidence", "mmr", "default"):
        assert sorted(build(name)) == sorted(newest_first)


def test_a_template_of_ones_own(engine, project):
    engine.register_template(
        "code-focused",
        ContextTemplate(
            name="x",
            header="# Relevant Code Context\n\n",
            memory_format="## {{type}}\n```\n{{content}}\n```\n",
            footer="\n---\n",
            include_metadata=True,
        ),
    )
    result = engine.build_context("deadlock expire_holds", "shop", template="code-focused", limit=1)
    assert result.template == "code-focused"
    assert result.context == f"# Relevant Code Context\n\n## error\n```\n{project[4].text}\n```\n\n---\n"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda e: e.build_context("x", "shop", template="nope"),
            TemplateNotFound,
            "chat, detailed, summary",
        ),
        (lambda e: e.build_context("x", "shop", ranker="nope"), ValidationError, "confidence, default, mmr"),
        (lambda e: e.build_context("x", "shop", token_budget=0), ValidationError, "token_budget"),
        (lambda e: e.build_context("x", "shop", token_budget=-5), ValidationError, "token_budget"),
        (lambda e: e.build_context("x", "shop", colour=1), ValidationError, "no option named 'colour'"),
        (lambda e: e.search("x", "shop", limit=0), ValidationError, "limit"),
        (lambda e: e.search("x", "shop", limit=True), ValidationError, "limit"),
        (lambda e: e.search("x", "shop", relationship_depth=11), ValidationError, "relationship_depth"),
        (lambda e: e.search("x", "shop", kinds=["nope"]), ValidationError, "no kind named"),
        (lambda e: e.search("x", "shop", min_confidence=2), ValidationError, "min_confidence"),
        (lambda e: e.search("x", "shop", deadline_ms=0), ValidationError, "deadline_ms"),
        (lambda e: e.search("x", "shop", lane="scenic"), ValidationError, "lane must be"),
        (lambda e: e.build_context("x", "shop", floor=1.5), ValidationError, "floor"),
        (lambda e: e.search("x\0", "shop"), ValidationError, "NUL"),
        (lambda e: e.search("\ud800", "shop"), ValidationError, "surrogate"),
        (lambda e: e.search("x", "shop", date_from=datetime(2026, 1, 1)), ValidationError, "time zone"),  # noqa: DTZ001
        (lambda e: e.register_template("chat", ContextTemplate(name="x")), ValidationError, "comes with"),
        (lambda e: e.register_ranker("default", list), ValidationError, "comes with"),
        (lambda e: e.forget("shop"), ValidationError, "say what to forget"),
        (lambda e: e.relate("a", "b", "shop", confidence=3), ValidationError, "confidence"),
    ],
)
def test_a_wrong_call_is_one_clear_error(engine, project, call, error, message):
    with pytest.raises(error, match=message):
        call(engine)


def test_reversed_dates_are_refused(engine):
    now = datetime.now(UTC)
    with pytest.raises(ValidationError, match="swap them"):
        engine.search("x", "shop", date_from=now, date_to=now - timedelta(days=1))


def test_on_request_an_error_becomes_an_empty_context(engine, project):
    result = engine.build_context("x", "shop", template="nope", on_error="empty")
    assert result.context == ""
    assert "no template named 'nope'" in result.receipt.notes[0].message


def test_a_ranker_that_fails_is_an_error_of_ours_and_can_become_an_empty_context(engine, project):
    engine.register_ranker("broken", lambda results: 1 / 0)
    with pytest.raises(SearchError, match="ZeroDivisionError"):
        engine.build_context("postgres", "shop", ranker="broken")
    assert engine.build_context("postgres", "shop", ranker="broken", on_error="empty").context == ""


def test_a_misspelt_way_of_handling_errors_is_refused(engine, project):
    with pytest.raises(ValidationError, match="'emtpy'"):
        engine.build_context("postgres", "shop", on_error="emtpy")


# Receipts


def test_a_receipt_says_why(engine, project):
    result = engine.build_context("Postgres database", "shop", limit=2, floor=0.0)
    receipt = engine.explain("shop", result.receipt.id)
    assert receipt == result.receipt == engine.explain("shop", result.receipt.id[:4])
    assert receipt.query == "Postgres database"
    assert [stage.stage for stage in receipt.stages][:3] == ["retrieve", "retrieve_more", "fuse"]
    assert len(receipt.injected_entries) == 2
    first = receipt.injected_entries[0]
    assert first.item_id == project[0].id
    asked_for = [
        rank for space, rank in first.ranks.items() if space not in ("graph", "hour", "day", "recency")
    ]
    assert first.agreement == pytest.approx(sum(1 / rank for rank in asked_for))
    assert {e.decision for e in receipt.entries} == {"injected", "over limit"}


def test_a_receipt_holds_no_memorys_text(engine, project):
    engine.build_context("database", "shop")
    assert "MySQL" not in json.dumps([repr(e) for e in engine.explain("shop").entries])


def test_an_unknown_receipt_is_none(engine, project):
    assert engine.explain("shop", "ffff") is None
    assert engine.explain("shop", "%") is None


# Failing parts


class Failing(HashEmbeddings):
    def embed(self, text):
        raise EmbeddingError("the model has gone away")


def test_a_space_that_fails_is_a_note_and_the_rest_answer(home, clock):
    with ContextEngine(embedding_provider=Failing(), settings=Settings(home=home), clock=clock) as engine:
        engine.remember("The canary is called Pip.", "shop")
        result = engine.build_context("canary", "shop")
        assert "Pip" in result.context
        assert [(n.part, "gone away" in n.message) for n in result.receipt.notes] == [("semantic", True)]


def test_when_no_space_can_answer_that_is_an_error(home, clock):
    with ContextEngine(embedding_provider=Failing(), settings=Settings(home=home), clock=clock) as engine:
        engine.kit = type(engine.kit)(engine.store, [engine._dense], (), engine.tokenizer)
        with pytest.raises(SearchError, match="gone away"):
            engine.search("canary", "shop")


# Wiring


def test_dimensions_other_than_expected_are_refused(home):
    with pytest.raises(ValidationError, match="64 dimensions, not 384"):
        ContextEngine(
            embedding_provider=HashEmbeddings(),
            settings=Settings(home=home),
            expected_embedding_dimensions=384,
        )


def test_an_unknown_default_template_is_refused_at_once(home):
    with pytest.raises(TemplateNotFound):
        ContextEngine(settings=Settings(home=home, embedding="none", template="nope"))


def test_a_tokenizer_and_a_cache_of_ones_own(home):
    with ContextEngine(
        embedding_provider=HashEmbeddings(),
        settings=Settings(home=home),
        counter=WordTokens(),
        cache_config=CacheConfig(max_size=0),
    ) as engine:
        assert engine.remember("three little words", "w").tokens == 3


def test_the_bundled_encoder_finds_by_meaning(home):
    with ContextEngine(settings=Settings(home=home)) as engine:
        engine.remember_all(
            [
                Item("Employees are signed out after fifteen idle minutes.", "w"),
                Item("The museum café serves soup on Mondays.", "w"),
                Item("Invoices are sent as PDF attachments.", "w"),
            ],
            "w",
        )
        engine.embed_pending("w")
        best = engine.search("How long until inactive staff must log in again?", "w")[0]
        assert best.memory.text.startswith("Employees")
        assert "lexical" not in best.ranks


def test_settings_choose_the_provider(home, monkeypatch):
    from foreword.engine import OpenAIEmbeddingProvider
    from foreword.errors import MissingExtra

    remote = ContextEngine(settings=Settings(home=home, embedding="openai", embedding_key="k"))
    assert isinstance(remote._dense.provider, OpenAIEmbeddingProvider)
    for name in ("sentence-transformers", "fastembed"):
        monkeypatch.setitem(__import__("sys").modules, name.replace("-", "_"), None)
        with pytest.raises(MissingExtra, match=f"pip install 'foreword\\[{name}\\]'"):
            ContextEngine(settings=Settings(home=home, embedding=name, embedding_model="m"))
    remote.close()

"""Tests of searching: what each kind of probe finds and in which order, filters, vectors and token codes."""

# ruff: noqa: D101, D102, S101  (a test's name is its documentation, and it asserts)

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from foreword.errors import ValidationError
from foreword.store.base import (
    Delete,
    GetTokenCodes,
    GetVectors,
    ListUnembedded,
    ListWithoutTokenCodes,
    PutRelations,
    PutTokenCodes,
    PutVectors,
    Search,
    Vector,
)
from foreword.store.browsing import ListConversations
from foreword.store.conformance.suite import (
    DIGEST,
    DIMENSIONS,
    FILTER_CASES,
    HERE,
    NEIGHBOURS,
    NOW,
    OTHER_DIGEST,
    PROBED_TEXT,
    PROBES,
    Suite,
    item,
    listed_ids,
    refused,
    unit_vector,
)
from foreword.store.exchange import ClaimUnembedded
from foreword.types import (
    EntitiesProbe,
    Filters,
    IdentifiersProbe,
    NeighboursProbe,
    RecentProbe,
    Relation,
    TypoProbe,
    VectorProbe,
    WordsProbe,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


class SearchingTests(Suite):
    # Probes

    def test_words_find_what_has_them_and_more_of_them_come_first(self) -> None:
        self.put(item("a harbour", id="one"), item("harbour gates at dusk", id="two"), "nothing of the kind")
        assert self.find(WordsProbe("words", ("harbour", "gates"))) == ["two", "one"]
        assert self.find(WordsProbe("words", ("absent",))) == []
        assert self.find(WordsProbe("words", ())) == []

    def test_words_are_stemmed_folded_and_looked_for_in_the_surroundings(self) -> None:
        self.put(item("Déployed YESTERDAY", id="a"), item("x", about="deploying", id="b"))
        assert sorted(self.find(WordsProbe("words", ("deploys",)))) == ["a", "b"]
        assert self.find(WordsProbe("words", ("yesterday",))) == ["a"]

    def test_a_misspelt_word_finds_what_was_meant_and_a_known_one_needs_no_guess(self) -> None:
        self.put(item("the lighthouse", id="a"), item("a lamp", id="b"))
        for typo in ("lihgthouse", "lighthous", "lighthousse", "ligthhouse"):
            assert self.find(TypoProbe("typos", (typo,))) == ["a"], typo
        assert self.find(TypoProbe("typos", ("lighthouse",))) == []
        assert self.find(TypoProbe("typos", ("unrelated", "xy"))) == []

    def test_identifiers_are_found_by_their_parts(self) -> None:
        self.put(item("call parse_http_date here", id="a"), item("parse it by hand", id="b"))
        assert self.find(IdentifiersProbe("identifiers", ("http", "date"))) == ["a"]
        assert self.find(IdentifiersProbe("identifiers", ("parse",))) == ["a"]

    def test_entities_are_found_by_name_and_a_rare_one_counts_for_more(self) -> None:
        self.put(*(item(f"Ada said {n}") for n in range(5)), item("then Grace spoke", id="grace"))
        assert self.find(EntitiesProbe("entities", ("ada", "grace")))[0] == "grace"
        assert self.find(EntitiesProbe("entities", ("nobody",))) == []

    def test_the_score_of_names_is_the_share_of_them_that_an_item_mentions(self) -> None:
        self.put(item("then Ada met Grace", id="both"), item("then Ada left", id="one"))
        scores = self.scores(EntitiesProbe("entities", ("ada", "grace")))
        assert scores["both"] == 1
        assert 0 < scores["one"] < 1
        assert self.scores(EntitiesProbe("entities", ("ada", "grace", "nobody")))["both"] < 1

    def test_the_score_of_words_grows_with_the_share_of_them_that_an_item_has(self) -> None:
        self.put(*(f"filler number {n}" for n in range(50)))
        self.put(item("a quiet harbour lamp", id="all"), item("a quiet evening", id="some"))
        scores = self.scores(WordsProbe("words", ("quiet", "harbour", "lamp")))
        assert 0.5 < scores["all"] < 2.5
        assert 0 < scores["some"] < 0.6 * scores["all"]

    def test_vectors_are_found_by_cosine_nearest_first(self) -> None:
        self.put_vectors(far=unit_vector(3), near=unit_vector(0, 0.5), same=unit_vector(0))
        scores = self.scores(VectorProbe("vectors", DIGEST, unit_vector(0)))
        assert list(scores) == ["same", "near", "far"]
        assert abs(scores["same"] - 1) < 0.001
        assert abs(scores["near"] - 1 / 1.25**0.5) < 0.01
        assert abs(scores["far"]) < 0.001

    def test_vectors_of_two_encoders_or_two_spaces_are_never_compared(self) -> None:
        self.put(*"abc")
        for name, space, digest in (("a", "s", DIGEST), ("b", "s", OTHER_DIGEST), ("c", "t", DIGEST)):
            self.store.run(PutVectors(HERE, space, digest, (Vector(name, "same text", unit_vector(0)),)))
        assert self.find(VectorProbe("s", DIGEST, unit_vector(0))) == ["a"]
        assert self.find(VectorProbe("s", OTHER_DIGEST, unit_vector(0))) == ["b"]
        assert self.find(VectorProbe("t", DIGEST, unit_vector(0))) == ["c"]
        assert self.find(VectorProbe("s", "b2:unknown", unit_vector(0))) == []

    def test_the_recent_come_newest_first(self) -> None:
        for name, days in (("old", 3), ("new", 1), ("mid", 2)):
            self.put(item(name, id=name, created_at=NOW - timedelta(days=days)))
        assert self.find(RecentProbe("recent")) == ["new", "mid", "old"]

    def test_neighbours_are_one_relation_or_one_place_in_a_session_away(self) -> None:
        self.put(*(item(f"turn {n}", kind="turn", id=f"t{n}", session="s") for n in range(4)))
        self.put(item("the harbour", id="h", session="s"), item("related", id="r"), "alone")
        self.put(item("after", id="after", session="s"))
        self.store.run(PutRelations(HERE, (Relation("r", "h"),)))
        found = listed_ids(self.search(WordsProbe("words", ("harbour",)), NEIGHBOURS))
        assert found == {"words": ["h"], "near": ["r", "t3", "after"]}
        assert self.find(NEIGHBOURS) == []

    def test_a_limit_holds_for_each_probe(self) -> None:
        self.put_probed(*(item(f"{PROBED_TEXT} {n}", id=f"i{n}", session="s") for n in range(6)))
        for limit in (1, 3, 6, 100):
            found = self.store.search(Search(HERE, self.all_probes, limit=limit))
            lengths = {space: len(ids) for space, ids in found.lists.items()}
            assert lengths == {probe.space: min(limit, 6) for probe in self.all_probes}, limit

    def test_every_listed_item_is_given_once_with_a_falling_score(self) -> None:
        self.put_probed(*(item(f"{PROBED_TEXT} {n}", id=f"i{n}") for n in range(6)))
        found = self.search(*self.probes)
        for space, ranked in found.lists.items():
            scores = [score for _, score in ranked]
            assert scores == sorted(scores, reverse=True), space
            assert len({name for name, _ in ranked}) == len(ranked), space
        assert set(found.items) == {f"i{n}" for n in range(6)}

    def test_a_deadline_that_has_passed_gives_notes_and_no_error(self) -> None:
        self.put_probed(item(PROBED_TEXT, id="a"))
        found = self.store.search(Search(HERE, self.all_probes, expires=0.0))
        assert all(not ranked for ranked in found.lists.values())
        assert {note.part for note in found.notes} == {probe.space for probe in self.all_probes}
        assert all("late" in note.message for note in found.notes)
        assert all(ids == ["a"] for ids in listed_ids(self.search(*self.probes)).values())

    def test_a_probe_that_the_engine_does_not_support_is_a_note_and_the_others_answer(self) -> None:
        self.put_probed(item(PROBED_TEXT, id="a"))
        found = self.store.search(Search(HERE, (*PROBES, NEIGHBOURS)))
        supported = {probe.space for probe in self.all_probes}
        assert {probe.space for probe in (*PROBES, NEIGHBOURS)} - supported == {
            note.part for note in found.notes
        }
        assert {space for space, ranked in found.lists.items() if ranked} == supported - {"near"}

    # Filters

    def _filter_cases(self) -> Iterator[tuple[str, Filters]]:
        """Make a workspace for each filter, with two items that all probes find: only `in` passes it."""
        for number, (filters, passing, failing) in enumerate(FILTER_CASES):
            workspace = f"case {number}"
            inside = item(PROBED_TEXT, id="in", **passing)
            outside = item(f"{PROBED_TEXT} too", id="out", **failing)
            self.put_probed(inside, outside, workspace=workspace)
            yield workspace, filters

    def test_every_filter_narrows_a_scan(self) -> None:
        for workspace, filters in self._filter_cases():
            for page in (1, 1000):
                ids = [one.id for one in self.store.scan(workspace, filters, page)]
                assert ids == ["in"], (filters, page)

    def test_conversations_are_listed_once_sorted_and_in_pages(self) -> None:
        named = {"b": 2, "a": 3, "ä": 1, "B": 1}
        for name, count in named.items():
            self.put(*(item(f"{name} {at}", conversation=name, type="note") for at in range(count)))
        self.put(item("elsewhere", conversation="c", type="other"), "in none")
        notes = Filters(types=("note",))
        assert self.store.run(ListConversations(HERE, notes)) == ("B", "a", "b", "ä")
        assert self.store.run(ListConversations(HERE, notes, "a", 1)) == ("b",)
        assert self.store.run(ListConversations(HERE, Filters(conversation_prefix="a"))) == ("a",)
        assert self.store.run(ListConversations(HERE, notes, "ä")) == ()
        assert self.store.run(ListConversations(HERE, notes, limit=0)) == ()

    def test_every_filter_narrows_a_tally(self) -> None:
        for workspace, filters in self._filter_cases():
            assert self.store.tally("nowhere", filters) == (0, None), filters
            assert self.store.tally(workspace, filters) == (1, self.store.get(workspace, "in")[0]), filters
            assert self.store.tally(workspace) == (2, self.store.get(workspace, "out")[0]), filters

    def test_every_filter_narrows_the_newest(self) -> None:
        for workspace, filters in self._filter_cases():
            assert [one.id for one in self.store.recent(workspace, filters)] == ["in"], filters

    def test_every_filter_narrows_every_probe(self) -> None:
        for workspace, filters in self._filter_cases():
            narrowed = self.store.search(Search(workspace, self.probes, filters))
            assert listed_ids(narrowed) == {probe.space: ["in"] for probe in self.probes}, filters
            assert set(narrowed.items) == {"in"}
            everything = listed_ids(self.store.search(Search(workspace, self.probes)))
            assert all(sorted(ids) == ["in", "out"] for ids in everything.values()), everything

    def test_every_filter_narrows_neighbours(self) -> None:
        words = WordsProbe("words", ("lighthouse",))
        self.search(words, NeighboursProbe("skips the test if the engine lacks either"))
        for number, (workspace, filters) in enumerate(self._filter_cases()):
            self.store.put(workspace, [item("the lighthouse", id="seed", **FILTER_CASES[number][1])])
            self.store.run(PutRelations(workspace, (Relation("seed", "in"), Relation("out", "seed"))))
            found = listed_ids(self.store.search(Search(workspace, (words, NEIGHBOURS), filters)))
            assert found["near"] == ["in"], filters

    def test_deleting_by_filter_takes_all_that_pass_and_no_other(self) -> None:
        for workspace, filters in self._filter_cases():
            assert self.store.delete(Delete(workspace, filters=filters)) == ("in",), filters
            assert [one.id for one in self.store.scan(workspace)] == ["out"], filters

    # Vectors

    def _put_vector(self, name: str, text_hash: str, values: tuple[float, ...], space: str = "s") -> int:
        return self.store.run(PutVectors(HERE, space, DIGEST, (Vector(name, text_hash, values),)))

    def _list_unembedded(self, operation: ListUnembedded) -> str:
        """The ids of the listed items, joined."""
        return "".join(one.id for one in self.store.run(operation))

    def test_unembedded_lists_what_lacks_a_vector_oldest_first(self) -> None:
        self.put(*"abcd")
        self._put_vector("b", "t", unit_vector(0))
        assert self._list_unembedded(ListUnembedded(HERE, "s", DIGEST)) == "acd"
        assert self._list_unembedded(ListUnembedded(HERE, "s", DIGEST, limit=2)) == "ac"
        assert self._list_unembedded(ListUnembedded(HERE, "s", OTHER_DIGEST)) == "abcd"
        assert self._list_unembedded(ListUnembedded(HERE, "t", DIGEST)) == "abcd"

    def test_unembedded_lists_only_the_kinds_asked_for(self) -> None:
        kinds = {"a": "memory", "b": "experience", "c": "turn", "d": "experience", "e": "value"}
        self.put(*(item(name, id=name, kind=kind) for name, kind in kinds.items()))
        self._put_vector("b", "t", unit_vector(0))
        assert self._list_unembedded(ListUnembedded(HERE, "s", DIGEST, kinds=("experience",))) == "d"
        assert self._list_unembedded(ListUnembedded(HERE, "s", DIGEST, kinds=("value", "experience"))) == "de"
        assert self._list_unembedded(ListUnembedded(HERE, "t", DIGEST, limit=1, kinds=("experience",))) == "b"
        assert self._list_unembedded(ListUnembedded(HERE, "s", DIGEST, kinds=("summary",))) == ""

    def _claim_ids(self, **fields: Any) -> str:  # noqa: ANN401  (whatever a claim takes)
        """The ids of the items that a claim is given, joined."""
        return "".join(one.id for one in self.store.run(ClaimUnembedded(HERE, "s", DIGEST, **fields)))

    def test_a_claimed_item_is_not_claimed_again(self) -> None:
        self.put(*"abcd")
        self._put_vector("b", "t", unit_vector(0))
        assert (self._claim_ids(limit=2), self._claim_ids(limit=2), self._claim_ids()) == ("ac", "d", "")
        assert self._list_unembedded(ListUnembedded(HERE, "s", DIGEST)) == "acd"
        other = self.store.run(ClaimUnembedded(HERE, "s", OTHER_DIGEST))
        assert "".join(one.id for one in other) == "abcd"

    def test_a_claim_ends_with_the_vector_or_with_its_time(self) -> None:
        self.put(*"ab")
        assert self._claim_ids(seconds=0) == "ab"
        assert self._claim_ids(kinds=("memory",)) == "ab"
        self._put_vector("a", "t", unit_vector(0))
        self.store.delete(Delete(HERE, ("a", "b")))
        self.put(*"ab")
        assert self._claim_ids() == "ab"
        self.assert_sound()

    def test_known_vectors_are_given_by_the_hash_of_their_text(self) -> None:
        self.put("a")
        given = tuple((n + 1) / 10 for n in range(DIMENSIONS))
        self._put_vector("a", "h1", given)
        known = self.store.run(GetVectors(HERE, DIGEST, ("h1", "h2")))
        assert list(known) == ["h1"]
        assert _cosine(known["h1"], given) > 0.999
        assert self.store.run(GetVectors(HERE, OTHER_DIGEST, ("h1",))) == {}

    def test_a_vector_given_again_replaces_the_first(self) -> None:
        self.put_vectors(a=unit_vector(0), b=unit_vector(1))
        assert self.find(VectorProbe("vectors", DIGEST, unit_vector(0))) == ["a", "b"]
        for turned in (unit_vector(3), unit_vector(4)):
            self._put_vector("a", "new", turned, "vectors")
            scores = self.scores(VectorProbe("vectors", DIGEST, turned))
            assert list(scores) == ["a", "b"]
            assert abs(scores["a"] - 1) < 0.001
        assert abs(self.scores(VectorProbe("vectors", DIGEST, unit_vector(0)))["a"]) < 0.001
        assert self.store.count(HERE).vectors == {"vectors": 2}
        self.assert_sound()

    def test_a_vector_replaced_but_not_yet_searched_for_is_no_disagreement(self) -> None:
        self.put_vectors(a=unit_vector(0), b=unit_vector(1))
        self.find(VectorProbe("vectors", DIGEST, unit_vector(0)))
        self._put_vector("a", "new", unit_vector(3), "vectors")
        self.assert_sound()

    def test_a_vector_of_an_item_that_is_gone_is_ignored(self) -> None:
        self.put(*"ab")
        self.store.delete(Delete(HERE, ("a",)))
        vectors = tuple(Vector(name, name, unit_vector(0)) for name in ("a", "b", "nobody"))
        assert self.store.run(PutVectors(HERE, "s", DIGEST, vectors)) == 1
        assert self.store.run(PutVectors(HERE, "s", DIGEST, ())) == 0
        assert self.store.count(HERE).vectors == {"s": 1}

    def test_vectors_of_one_encoder_have_one_size(self) -> None:
        self.put_vectors(a=unit_vector(0), b=unit_vector(1))
        with refused(ValidationError):
            self._put_vector("b", "t", (1.0, 0.0), "vectors")
        found = self.store.search(Search(HERE, (VectorProbe("vectors", DIGEST, (1.0, 0.0)),)))
        assert [note.part for note in found.notes] == ["vectors"]
        self.assert_sound()
        assert self.find(VectorProbe("vectors", DIGEST, unit_vector(0))) == ["a", "b"]

    def test_a_vector_of_zeros_is_near_to_nothing_and_causes_no_error(self) -> None:
        zeros = (0.0,) * DIMENSIONS
        self.put_vectors(zeros=zeros, a=unit_vector(0))
        assert self.find(VectorProbe("vectors", DIGEST, unit_vector(0)))[0] == "a"
        assert all(-1 <= score <= 1 for score in self.scores(VectorProbe("vectors", DIGEST, zeros)).values())

    # Token codes

    def _join_ids_without_token_codes(self, operation: ListWithoutTokenCodes) -> str:
        """The ids of the listed items, joined."""
        return "".join(one.id for one in self.store.run(operation))

    def test_token_codes_are_returned_as_they_were_stored(self) -> None:
        self.put(*"abc")
        every_byte = bytes(range(256)) * 20
        assert self.store.run(PutTokenCodes(HERE, DIGEST, {"a": every_byte, "b": b"", "nobody": b"x"})) == 2
        found = self.store.run(GetTokenCodes(HERE, DIGEST, ("c", "b", "a", "nobody")))
        assert found == {"a": every_byte, "b": b""}
        assert self.store.run(GetTokenCodes(HERE, OTHER_DIGEST, ("a",))) == {}
        self.assert_sound()

    def test_an_item_has_the_token_codes_of_one_encoder(self) -> None:
        self.put("a")
        for digest, codes in ((DIGEST, b"old"), (OTHER_DIGEST, b"new")):
            assert self.store.run(PutTokenCodes(HERE, digest, {"a": codes})) == 1
        assert self.store.run(GetTokenCodes(HERE, DIGEST, ("a",))) == {}
        assert self.store.run(GetTokenCodes(HERE, OTHER_DIGEST, ("a",))) == {"a": b"new"}
        assert self.store.count(HERE).token_codes == 1

    def test_what_lacks_token_codes_is_listed_by_kind_oldest_first(self) -> None:
        kinds = {"a": "memory", "b": "turn", "c": "document", "d": "turn"}
        self.put(*(item(name, id=name, kind=kind) for name, kind in kinds.items()))
        self.store.run(PutTokenCodes(HERE, DIGEST, {"b": b"codes"}))
        assert self._join_ids_without_token_codes(ListWithoutTokenCodes(HERE, DIGEST)) == "acd"
        assert (
            self._join_ids_without_token_codes(ListWithoutTokenCodes(HERE, DIGEST, kinds=("turn", "memory")))
            == "ad"
        )
        assert self._join_ids_without_token_codes(ListWithoutTokenCodes(HERE, OTHER_DIGEST, limit=2)) == "ab"


def _cosine(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return float(dot / (sum(a * a for a in one) * sum(b * b for b in other)) ** 0.5)

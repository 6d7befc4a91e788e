"""What each kind of probe finds, and in which order."""

# ruff: noqa: D101, D102, S101  (a test's name is its documentation, and it asserts)

from __future__ import annotations

from datetime import timedelta

from foreword.store.base import PutVectors, Relate, Search, Vector
from foreword.store.conformance.suite import (
    DIGEST,
    HERE,
    NEIGHBOURS,
    NOW,
    OTHER_DIGEST,
    PROBED_TEXT,
    PROBES,
    Suite,
    axis,
    item,
    listed_ids,
)
from foreword.types import (
    EntitiesProbe,
    IdentifiersProbe,
    RecentProbe,
    Relation,
    TypoProbe,
    VectorProbe,
    WordsProbe,
)


class SearchingTests(Suite):
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

    def test_the_score_of_names_is_how_much_of_what_was_named_an_item_mentions(self) -> None:
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
        self.put_vectors(far=axis(3), near=axis(0, 0.5), same=axis(0))
        scores = self.scores(VectorProbe("vectors", DIGEST, axis(0)))
        assert list(scores) == ["same", "near", "far"]
        assert abs(scores["same"] - 1) < 0.001
        assert abs(scores["near"] - 1 / 1.25**0.5) < 0.01
        assert abs(scores["far"]) < 0.001

    def test_vectors_of_two_encoders_or_two_spaces_are_never_compared(self) -> None:
        self.put(*"abc")
        for name, space, digest in (("a", "s", DIGEST), ("b", "s", OTHER_DIGEST), ("c", "t", DIGEST)):
            self.store.run(PutVectors(HERE, space, digest, (Vector(name, "same text", axis(0)),)))
        assert self.find(VectorProbe("s", DIGEST, axis(0))) == ["a"]
        assert self.find(VectorProbe("s", OTHER_DIGEST, axis(0))) == ["b"]
        assert self.find(VectorProbe("t", DIGEST, axis(0))) == ["c"]
        assert self.find(VectorProbe("s", "b2:unknown", axis(0))) == []

    def test_the_recent_come_newest_first(self) -> None:
        for name, days in (("old", 3), ("new", 1), ("mid", 2)):
            self.put(item(name, id=name, created_at=NOW - timedelta(days=days)))
        assert self.find(RecentProbe("recent")) == ["new", "mid", "old"]

    def test_neighbours_are_one_relation_or_one_place_in_a_session_away(self) -> None:
        self.put(*(item(f"turn {n}", kind="turn", id=f"t{n}", session="s") for n in range(4)))
        self.put(item("the harbour", id="h", session="s"), item("related", id="r"), "alone")
        self.put(item("after", id="after", session="s"))
        self.store.run(Relate(HERE, (Relation("r", "h"),)))
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

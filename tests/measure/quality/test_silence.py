"""Whether the engine keeps quiet where it has nothing to say, counted by hand."""

from __future__ import annotations

from types import SimpleNamespace

from foreword.types import Item
from foreword_measure.quality.labelled import Document, LabelledSet, Question
from foreword_measure.quality.runs import StoredScope
from foreword_measure.quality.silence import (
    ForeignQuestion,
    InjectionCounts,
    foreign_questions,
    measure_silence,
)


def _set(documents, *questions):
    """A set of scopes, each with its documents; a document is its id, or its id and its path."""
    scoped = {
        scope: tuple(
            Document(one, (Item(one, scope, id=one, metadata={"path": path[0]} if path else {}),))
            for one, *path in inside
        )
        for scope, inside in documents.items()
    }
    asked = tuple(Question(f"q{at}", s, text, "", gains) for at, (s, text, gains) in enumerate(questions))
    return LabelledSet("made", scoped, asked)


def test_a_stranger_is_asked_where_its_evidence_is_not():
    given = _set({"a": ["1"], "b": ["2"]}, ("a", "one?", {"1": 1.0}), ("b", "two?", {"2": 1.0}))
    assert foreign_questions(given, given.questions, ["else?"]) == (
        "other scopes",
        [ForeignQuestion("one?", "b"), ForeignQuestion("two?", "a")],
    )


def test_scopes_that_share_a_document_or_the_path_of_the_evidence_are_not_foreign():
    old = [("1", "src/x.py"), ("2", "src/y.py")]
    scopes = {"v1": old, "v2": [("3", "src/x.py"), ("2", "src/y.py")], "v3": [("4", "src/x.py")]}
    given = _set({**scopes, "other": [("5", "src/y.py")]}, ("v1", "x?", {"1": 1.0}))
    assert foreign_questions(given, given.questions, []) == ("other scopes", [ForeignQuestion("x?", "other")])
    given = _set(scopes, ("v1", "x?", {"1": 1.0}))
    assert foreign_questions(given, given.questions, []) == ("", [])


def test_where_there_is_one_scope_strangers_come_from_other_sets():
    given = _set({"a": ["1"]}, ("a", "one?", {"1": 1.0}))
    assert foreign_questions(given, given.questions, ["else?"]) == (
        "other sets",
        [ForeignQuestion("else?", "a")],
    )
    assert foreign_questions(given, given.questions, []) == ("", [])
    origin, many = foreign_questions(given, given.questions, [str(n) for n in range(900)])
    assert len(many) == 200
    assert (origin, many) == foreign_questions(given, given.questions, [str(n) for n in range(900)])


class Scripted:
    """An engine that injects what it was told to, and remembers how it was asked."""

    def __init__(self, said):
        self.said, self.asked = said, []

    def build_context(self, query, workspace, *, lane, token_budget, floor):
        self.asked.append((lane, token_budget, floor))
        ids = self.said.get((query, workspace, floor), ())
        return SimpleNamespace(memories=[SimpleNamespace(memory=Item(one, workspace, id=one)) for one in ids])


def test_silence_by_hand():
    given = _set(
        {"a": ["1", "2", "x"], "b": ["3"]},
        ("a", "both?", {"1": 1.0, "2": 1.0}),
        ("b", "three?", {"3": 1.0}),
        ("a", "nothing?", {}),
    )
    names = {scope: {one.id: one.id for one in inside} for scope, inside in given.documents.items()}
    stored_scopes = {
        s: StoredScope({n: (n,) for n in held}, held, {n: (n,) for n in held}) for s, held in names.items()
    }
    engine = Scripted(
        {
            ("both?", "b", None): ["3"],  # noise
            ("both?", "a", None): ["1", "x"],
            ("both?", "a", 0.0): ["1", "2", "x"],
            ("three?", "b", 0.0): ["3"],
        }
    )
    silence = measure_silence(engine, given, stored_scopes, ["full"], [], lambda *_: None)
    heard = silence.runs["foreword full"]
    # Evidence: half of one question's and none of the other's; without the floor, all of both.
    assert heard == InjectionCounts(2, 1, 2, 1, 0.25, 1.0)
    assert (heard.noise, heard.evidence_kept) == (0.5, 0.25)
    assert set(engine.asked) == {("full", 2000, None), ("full", 2000, 0.0)}
    assert (
        InjectionCounts(0, 0, 1, 0, 0.0, 0.0).noise
        is InjectionCounts(0, 0, 1, 0, 0.0, 0.0).evidence_kept
        is None
    )


def test_a_set_alone_with_one_scope_says_that_silence_needs_another(chat, files, measure):
    table = next(one for one in measure(chat, silence=True).tables if one.title == "chat: silence")
    assert table.rows[0][:3] == ("foreword fast", 0, None)
    assert "needs a second set" in table.notes[0]
    report = measure(chat, silence=True, others=[files])
    table = next(one for one in report.tables if one.title == "chat: silence")
    assert table.rows[0][1] == 1
    assert "of other sets" in table.notes[0]
    assert report.data["silence"]["from"] == "other sets"
    assert report.data["silence"]["runs"]["foreword fast"]["own"] == 2


def test_with_silence_scores_are_held_against_the_truth(chat, measure):
    report = measure(chat, silence=True)
    assert report.tables[-1].title == "chat: what a score means"
    assert len(report.tables[-1].rows) == 10
    told = report.data["reliability"]["foreword fast"]
    assert 0 <= told["expected_error"] <= 1
    assert sum(one["count"] for one in told["bins"]) >= 2
    assert "reliability" not in measure(chat).data

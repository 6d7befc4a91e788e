"""Tests of files: the items that a file contains now replace those it contained before."""

# ruff: noqa: D101, D102, S101  (a test's name is its documentation, and it asserts)

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from foreword.errors import ValidationError
from foreword.store import base
from foreword.store.conformance.suite import DIGEST, HERE, NOW, Suite, file_state, item, refused, unit_vector
from foreword.types import Filters, Relation, Source, VectorProbe, WordsProbe


class FileTests(Suite):
    def test_a_file_is_kept_with_its_state_and_its_items(self) -> None:
        kept = self.put_file("src/a.py", "one harbour", "two")
        assert [(one.item.text, one.new) for one in kept.stored] == [("one harbour", True), ("two", True)]
        assert kept.gone == ()
        self.put_file("empty.py")
        self.reopen()
        expected = {"src/a.py": replace(file_state("src/a.py"), items=2), "empty.py": file_state("empty.py")}
        assert self.store.files(HERE) == expected
        self.assert_sound()
        assert self.find(WordsProbe("words", ("harbour",))) == [kept.stored[0].item.id]

    def test_what_did_not_change_in_a_file_keeps_its_id_its_time_its_relations_and_its_vector(self) -> None:
        first, second, third = self.put_file("a.py", "one", "two", "three").stored
        ids = [one.item.id for one in (first, second, third)]
        vectors = tuple(base.Vector(name, name, unit_vector(0)) for name in ids)
        self.store.run(base.PutVectors(HERE, "vectors", DIGEST, vectors))
        kept = Relation(ids[1], ids[2], created_at=NOW)
        self.store.run(base.PutRelations(HERE, (Relation(ids[0], ids[1]), kept)))
        moved = item("two", kind="code", created_at=NOW + timedelta(days=1), metadata={"lines": [9, 9]})
        contents = (item("four", kind="code"), moved, item("three", kind="code"))
        again = self.store.run(base.PutFile(HERE, file_state("a.py", 2), contents))
        assert again.gone == (ids[0],)
        assert [one.new for one in again.stored] == [True, False, False]
        assert again.stored[1].item == replace(second.item, metadata={"lines": [9, 9]})
        assert self.store.get(HERE, *ids) == (None, again.stored[1].item, third.item)
        assert self.store.run(base.ListRelations(HERE)) == (kept,)
        assert self.store.files(HERE) == {"a.py": replace(file_state("a.py", 2), items=3)}
        self.assert_sound()
        assert sorted(self.find(VectorProbe("vectors", DIGEST, unit_vector(0)))) == sorted(ids[1:])

    def test_a_file_may_be_given_more_items_beside_those_it_has(self) -> None:
        self.put_file(".git", "one", "two")
        items = (item("two", kind="code"), item("three"))
        kept = self.store.run(base.PutFile(HERE, file_state(".git", 2), items, keep_earlier=True))
        assert (kept.gone, [one.new for one in kept.stored]) == ((), [False, True])
        assert self.store.files(HERE) == {".git": replace(file_state(".git", 2), items=3)}

    def test_a_file_that_keeps_earlier_items_loses_those_named_if_they_are_its_own(self) -> None:
        one, two = self.put_file(".git", "one", "two").stored
        self.put(item("not of the file", id="free"))
        gone, more = (one.item.id, "free", "nobody"), (item("three"),)
        put = base.PutFile(HERE, file_state(".git"), more, keep_earlier=True, except_ids=gone)
        kept = self.store.run(put)
        assert kept.gone == (one.item.id,)
        assert [one.text for one in self.store.scan(HERE)] == ["two", "not of the file", "three"]
        assert self.item(two.item.id) == two.item
        self.assert_sound()

    def test_a_file_may_hold_the_same_thing_twice_and_a_changed_thing_under_its_old_id(self) -> None:
        assert [one.new for one in self.put_file("a.py", "one", "one").stored] == [True, False]
        assert self.store.files(HERE)["a.py"].items == 1
        self.store.run(base.PutFile(HERE, file_state("b.py"), (item("before", id="x"),)))
        after = self.store.run(base.PutFile(HERE, file_state("b.py"), (item("after", id="x"),)))
        assert (after.gone, after.stored[0].item.id) == (("x",), "x")
        self.assert_sound()

    def test_dropped_files_take_their_items_along_but_not_those_of_another_file(self) -> None:
        mine = self.put_file("a.py", "mine", "both").stored[0].item.id
        self.put_file("b.py", "both", "yours")
        self.put(item("nobody's", id="free", superseded_by=mine))
        assert self.store.run(base.DropFiles(HERE, ("a.py", "unknown.py"))) == (mine,)
        assert [one.text for one in self.store.scan(HERE)] == ["both", "yours", "nobody's"]
        assert list(self.store.files(HERE)) == ["b.py"]
        assert self.item("free").superseded_by is None
        assert len(self.store.run(base.DropFiles(HERE, ("b.py",)))) == 2
        assert (self.store.files(HERE), self.ids()) == ({}, ["free"])
        assert self.store.run(base.DropFiles(HERE, ())) == ()
        self.assert_sound()

    def test_deleting_everything_of_a_file_forgets_the_file_and_deleting_a_part_does_not(self) -> None:
        part, _ = self.put_file("a.py", "one", "two").stored
        self.put_file("b.py", "three", source=Source("file:b.py", "tool"))
        self.put_file("empty.py")
        self.store.delete(base.Delete(HERE, (part.item.id,)))
        assert self.store.files(HERE)["a.py"].items == 1
        assert len(self.store.delete(base.Delete(HERE, filters=Filters(source="file:b.py")))) == 1
        assert sorted(self.store.files(HERE)) == ["a.py", "empty.py"]
        self.assert_sound()

    def test_a_file_that_cannot_be_kept_stays_as_it_was(self) -> None:
        def state() -> tuple[object, ...]:
            question = base.Search(HERE, self.probes)
            return list(self.store.scan(HERE)), dict(self.store.files(HERE)), self.store.search(question)

        self.put(item("taken", id="x"))
        self.put_file("a.py", "one", "two")
        before = state()
        with refused(ValidationError):
            self.store.run(base.PutFile(HERE, file_state("a.py", 2), (item("three"), item("four", id="x"))))
        assert state() == before
        self.assert_sound()

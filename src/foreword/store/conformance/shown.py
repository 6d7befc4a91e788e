"""What each session was shown."""

# ruff: noqa: D101, D102, S101  (a test's name is its documentation, and it asserts)

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from foreword.store.base import ClearShown, Delete, MarkShown
from foreword.store.conformance.suite import HERE, NOW, THERE, Suite, item
from foreword.types import Filters

if TYPE_CHECKING:
    from datetime import datetime


class ShownTests(Suite):
    def _show(self, session: str, *names: str, at: datetime = NOW) -> int:
        return self.store.run(MarkShown(HERE, session, names, at))

    def test_a_session_knows_what_it_was_shown_and_no_other_does(self) -> None:
        self.put(*"abc")
        assert self.store.shown(HERE, "s1") == frozenset()
        assert self._show("s1", "a", "b", "a") == 2
        assert self.store.shown(HERE, "s1") == {"a", "b"}
        assert self._show("s1", "b", "c") == 1
        assert self._show("s1") == 0
        self.reopen()
        assert self.store.shown(HERE, "s1") == {"a", "b", "c"}
        assert self.store.shown(HERE, "S1") == frozenset()
        self.assert_sound()

    def test_showing_what_is_not_there_is_ignored(self) -> None:
        self.put("a")
        self.store.put(THERE, [item("b", id="b")])
        assert self._show("s1", "nobody", "b", "a") == 1
        assert self.store.shown(HERE, "s1") == {"a"}
        assert self.store.shown(THERE, "s1") == frozenset()

    def test_a_session_whose_context_was_emptied_can_be_shown_things_again(self) -> None:
        self.put(*"ab")
        self._show("s1", "a", "b")
        self._show("s2", "a")
        assert self.store.batch([ClearShown(HERE, "s1"), ClearShown(HERE, "s1")]) == [2, 0]
        assert self.store.shown(HERE, "s1") == frozenset()
        assert self.store.shown(HERE, "s2") == {"a"}
        assert self._show("s1", "a") == 1

    def test_what_is_posted_about_a_session_is_known_to_the_next_who_asks(self) -> None:
        self.put(*(f"i{number}" for number in range(30)))
        for number in range(30):
            self.store.post(MarkShown(HERE, "s1", (f"i{number}",), NOW))
            assert len(self.store.shown(HERE, "s1")) == number + 1
        self.store.post(ClearShown(HERE, "s1"))
        assert self.store.shown(HERE, "s1") == frozenset()

    def test_deleting_an_item_or_a_session_forgets_that_it_was_shown(self) -> None:
        self.put(*"ab")
        self._show("s1", "a", "b")
        self._show("s2", "a", "b")
        self.store.delete(Delete(HERE, ("a",)))
        assert self.store.shown(HERE, "s1") == {"b"}
        self.put("a")
        assert self.store.shown(HERE, "s1") == {"b"}
        self.store.delete(Delete(HERE, filters=Filters(session="s1")))
        assert self.store.shown(HERE, "s1") == frozenset()
        assert self.store.shown(HERE, "s2") == {"b"}
        self.assert_sound()

    def test_sessions_that_were_shown_nothing_for_long_are_forgotten(self) -> None:
        self.put(*"ab")
        self._show("old", "a")
        self._show("long", "b")
        self._show("long", "a", at=NOW + timedelta(days=1))
        self._show("new", "a", at=NOW + timedelta(days=self.shown_days + 0.5))
        shown = [self.store.shown(HERE, session) for session in ("old", "long", "new")]
        assert shown == [frozenset(), {"a", "b"}, {"a"}]

"""What stands around a name in its sentence: who acts, who is called, what joins the parts of a name.

Knows the `cues` and the order of the words; what a name is, `proper` decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.capture.names import cues
from foreword.capture.names.given import GENDERS, TITLES
from foreword.capture.names.words import is_common, is_listed, is_plain
from foreword.text.words import STOPWORDS

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from foreword.capture.names.words import Word

_BETWEEN_NAMES = "al bin da das de del den der di do dos du el ibn la le ter van von y"
_PARTICLES = frozenset(_BETWEEN_NAMES.split())
_MOST_PARTICLES = 3
_MARKS = ("!", "?", ".", ",", "")
_BEING = ("is", "was", "isn't", "wasn't")
_HEADLINE = 0.7
_FEW = 4


class Surroundings:
    """One sentence and the words before it that cues may need."""

    def __init__(self, text: str, words: Sequence[Word], first: int, last: int) -> None:
        self.text = text
        self.words = words
        self.first = first
        self.last = last
        self.caseless = self._is_caseless()

    def _is_caseless(self) -> bool:
        """Whether capitals tell nothing here: it is shouted, or written like a headline."""
        long = [word for word in self.words[self.first : self.last] if len(word.text) > 1]
        if len(long) > 1 and all(word.text.isupper() for word in long):
            return True
        capitals = sum(word.capital for word in long)
        headline = any(word.capital and word.folded in STOPWORDS and len(word.text) > 1 for word in long[1:])
        return headline and len(long) > 3 and capitals > _HEADLINE * len(long)

    def before(self, at: int) -> str:
        """The word before, when it belongs to the sentence; else nothing."""
        return self.words[at - 1].folded if at > self.first else ""

    def after(self, end: int) -> str:
        """The word at a place, when it belongs to the sentence; else nothing."""
        return self.words[end].folded if end < self.last else ""

    def near(self, at: int, wanted: Container[str]) -> bool:
        """Whether one of the few words before is wanted."""
        return any(self.words[near].folded in wanted for near in range(max(self.first, at - _FEW), at))

    def acts(self, end: int) -> bool:
        """Whether what stands before does or is what only people do and are."""
        after, then = self.after(end), self.after(end + 1)
        if after in _BEING:
            return then in cues.BEING or (then == "on" and self.after(end + 2) in cues.OFF_WORK)
        return after in cues.AFTER_PERSON

    def surely_acts(self, at: int) -> bool:
        """Whether the word that opens the sentence is somebody, though any word would have a capital here."""
        after, then = self.after(at + 1), self.after(at + 3)
        if after in _BEING and self.after(at + 2) in cues.OWNERS:
            return then in cues.KIN or then in cues.ROLES
        return after in cues.SPEAKING or (not self.words[at].text.isascii() and self.acts(at + 1))

    def stands_before_name(self, at: int) -> bool:
        """Whether a capitalised word is no part of the listed name behind it: `Poor Anna`, `Team Redis`."""
        word, following = self.words[at], self.words[at + 1]
        return is_listed(following) and (word.opens or is_common(word) or following.folded not in GENDERS)

    def at_most(self, at: int, end: int, most: int) -> int:
        """How many words from here a name of so many words has, those between its parts not counted."""
        size = counted = 0
        while at + size < end and counted < most:
            counted += not self.is_particle(at + size)
            size += 1
        return size

    def titled(self, at: int) -> bool:
        """Whether a form of address stands before."""
        return at > 0 and self.words[at].glued and self.words[at - 1].folded in TITLES

    def is_called(self, at: int) -> bool:
        """Whether a name stands as a call does: after a comma, and nothing but a mark after it."""
        if at == self.first or (self.words[at - 1].capital and not is_plain(self.words[at - 1])):
            return False
        gap = self.text[self.words[at - 1].end : self.words[at].start]
        return gap == ", " and self.text[self.words[at].end : self.words[at].end + 1] in _MARKS

    def after_particles(self, at: int, most: int) -> int:
        """Where the name goes on: behind `van`, `von der`, `de la`."""
        end = at
        while end < min(most, at + _MOST_PARTICLES) and self.is_particle(end):
            end += 1
        return end

    def is_particle(self, at: int) -> bool:
        """Whether a small word here may join the parts of a name."""
        word = self.words[at]
        return word.folded in _PARTICLES and not word.capital and word.glued

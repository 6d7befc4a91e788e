"""A conversation in as many tokens as there are, told again with every turn at the price of that turn.

Extractive by default: the sentences that name things, settle matters or are left open, in reported speech,
and never a word that nobody said. A language model does it instead where the user named one; when it fails,
the extractive summary stands in. What tools and systems said is left out, as long as anybody else spoke: it
would read as if people had said it.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from functools import lru_cache
from typing import TYPE_CHECKING

from foreword.errors import ForewordError
from foreword.knowledge.conversation import by_speaker, most_telling, retold
from foreword.knowledge.remote_summary import RemoteSummariser
from foreword.knowledge.reported import is_english
from foreword.knowledge.sentences import sentences_of
from foreword.knowledge.talk import Talk
from foreword.log import get_logger
from foreword.text.tokens import cut
from foreword.types import Item

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foreword.config import Settings
    from foreword.knowledge.sentences import Sentence
    from foreword.knowledge.sessions import Summariser
    from foreword.text.tokens import Tokenizer
    from foreword.types import DialogueSummarizer, Turn

    Weighed = list[tuple[Sentence, float]]

_log = get_logger(__name__)

_MOST_REMEMBERED = 4_096
_MOST_TALKS = 8
_MOST_READ = 1_000
_LANGUAGE_TURNS, _LANGUAGE_CHARACTERS = 20, 300
_FEWEST_TOKENS = 4
_TOKENS_A_WORD = 1.5
_SETTLED_SHARE = 0.5
"""How much of the room is for what a long conversation settled, before anything else is told."""

_REPEATED = 0.7
_PATIENCE = 12
"""After so many sentences that do not fit, the summary is full."""

_RESTS = 60.0
"""For so many seconds a model that failed is not asked again."""


class ExtractiveSummarizer:
    """Tells a conversation by its telling sentences. Safe to share between threads and conversations.

    What a turn says is remembered by its text, and the weights of the last few conversations are kept, so
    that one with a turn more is followed instead of read again.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._reading = lru_cache(_MOST_REMEMBERED)(_read)
        self._talks: OrderedDict[tuple[str, str, str], Talk] = OrderedDict()
        self._lock = threading.Lock()

    def summarize(self, turns: Sequence[Turn], max_tokens: int) -> str:
        """The turns in at most so many tokens, always the same for the same turns."""
        spoken = _spoken(turns)
        if not spoken or max_tokens < 1:
            return ""
        with self._lock:
            return _Telling(self._followed(spoken), self._tokenizer, max_tokens).told()

    def _followed(self, spoken: list[Turn]) -> Talk:
        first = spoken[0]
        name = (first.turn_id, first.speaker, first.text)
        talk = self._talks.setdefault(name, Talk(self._reading))
        self._talks.move_to_end(name)
        if len(self._talks) > _MOST_TALKS:
            self._talks.popitem(last=False)
        talk.follow(spoken)
        return talk


class _Telling:
    """One summary in the making: what is told of each sentence, and how much room is left."""

    def __init__(self, talk: Talk, tokenizer: Tokenizer, most: int) -> None:
        self._talk = talk
        self._turns = talk.turns
        self._speakers = talk.speakers
        self._english = is_english(
            " ".join(turn.text[:_LANGUAGE_CHARACTERS] for turn in self._turns[:_LANGUAGE_TURNS])
        )
        self._tokenizer = tokenizer
        self._most = self._room = most
        self._told: dict[Sentence, str] = {}
        self._patience = _PATIENCE

    def told(self) -> str:
        """The best of the sentences, as many as fit; of a single one that does not, its beginning."""
        said = self._talk.weighed()
        chosen = self._chosen(said)
        while chosen and self._tokenizer.count(self._worded(chosen)) > self._most:
            chosen.pop()  # tokens do not add up exactly
        if chosen:
            return self._worded(chosen)
        best = max((pair for pair in said if pair[0].telling), key=lambda pair: pair[1], default=None)
        return self._beginning(best[0]) if best else ""

    def _chosen(self, said: Weighed) -> list[Sentence]:
        """What was settled has a share of the room; then comes what says most, then whatever is left."""
        settled = self._talk.settled()
        kept_back = int(self._most * (1 - _SETTLED_SHARE)) if settled else 0
        self._room -= kept_back
        chosen = self._beside([], settled)
        self._room += kept_back
        chosen += self._beside(chosen, said)
        chosen += self._beside(chosen, settled)
        if self._room >= _FEWEST_TOKENS:
            chosen += self._beside(chosen, self._talk.apart())
        return chosen

    def _beside(self, chosen: list[Sentence], those: Weighed) -> list[Sentence]:
        """The best that fit of those sentences which say something that the chosen do not."""
        if self._room < _FEWEST_TOKENS:
            return []
        covered = frozenset[str]().union(*(one.telling for one in chosen))
        self._patience = _PATIENCE
        return most_telling(
            [pair for pair in those if not chosen or pair[0].overlap(covered) <= _REPEATED], self._fits
        )

    def _fits(self, sentence: Sentence) -> bool:
        if self._room < _FEWEST_TOKENS or not self._patience:
            return False
        text = self._retold(sentence)
        cost = self._tokenizer.count(f" {by_speaker([(self._speaker(sentence), text)])[0]}")
        if cost > self._room:
            self._patience -= 1
            return False
        self._room -= cost
        self._told[sentence] = text
        return True

    def _retold(self, sentence: Sentence) -> str:
        return (
            retold(sentence.text, self._speaker(sentence), self._speakers) if self._english else sentence.text
        )

    def _speaker(self, sentence: Sentence) -> str:
        return self._turns[sentence.turn].speaker

    def _worded(self, chosen: list[Sentence]) -> str:
        ordered = sorted(chosen, key=lambda sentence: sentence.where)
        return "\n".join(by_speaker((self._speaker(one), self._told[one]) for one in ordered))

    def _beginning(self, sentence: Sentence) -> str:
        line = by_speaker([(self._speaker(sentence), self._retold(sentence))])[0]
        kept = cut(line, self._most, self._tokenizer)
        while kept and (kept == line or self._tokenizer.count(f"{kept}…") > self._most):
            kept = kept.rpartition(" ")[0]
        return f"{kept}…" if " " in kept else ""


class RemoteDialogueSummarizer:
    """Lets a language model tell the conversation; the extractive summary stands in when it does not answer.

    The last answer is kept: the same turns are not sent twice. After a failure the model is left alone for a
    while, so that a conversation does not wait for it with every turn.
    """

    def __init__(
        self,
        model: Summariser,
        tokenizer: Tokenizer,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._clock = clock
        self._instead = ExtractiveSummarizer(tokenizer)
        self._last: tuple[list[Turn], int, str] | None = None
        self._rested = clock()

    def summarize(self, turns: Sequence[Turn], max_tokens: int) -> str:
        """The turns in at most so many tokens, in the model's words or in their own."""
        spoken = _spoken(turns)
        words = int(max_tokens / _TOKENS_A_WORD)
        if not spoken or words < 1:
            return ""
        known = self._last
        if known and known[:2] == (spoken, max_tokens):
            return known[2]
        if self._clock() < self._rested:
            return self._instead.summarize(turns, max_tokens)
        items = [Item(turn.text, "", kind="turn", about=turn.speaker) for turn in spoken]
        try:
            told = self._model.summarise(items, words)
        except ForewordError as error:
            self._rested = self._clock() + _RESTS
            _log.warning("the summary is extractive: the model failed", problem=str(error))
            return self._instead.summarize(turns, max_tokens)
        told = cut(told, max_tokens, self._tokenizer).rstrip()
        self._last = (spoken, max_tokens, told)
        return told


def summarizer(settings: Settings, tokenizer: Tokenizer) -> DialogueSummarizer:
    """The summarizer that the user's settings ask for: a model's where one is named, else our own."""
    if not settings.summary_url:
        return ExtractiveSummarizer(tokenizer)
    model = RemoteSummariser(settings.summary_url, settings.summary_key or None, settings.summary_model)
    return RemoteDialogueSummarizer(model, tokenizer)


def _read(text: str) -> tuple[Sentence, ...]:
    return tuple(sentences_of(text, 0, _MOST_READ))


def _spoken(turns: Sequence[Turn]) -> list[Turn]:
    """What people and the assistant said; all there is, when they said nothing."""
    return [turn for turn in turns if turn.role in ("user", "assistant")] or list(turns)

"""Summarises a conversation in a given number of tokens; one turn more costs only the reading of that turn.

Extractive: it quotes the sentences that decide matters, leave them open, or name things, each under its
speaker. Nothing is reworded; only empty words before a sentence ("Well, yes,") are cut. Decisions come first,
then what is open, then the rest in its order; a sentence that was corrected is followed by its correction.
The words of tools and systems are left out if anybody else spoke: they would read as if people had said them.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from functools import lru_cache
from typing import TYPE_CHECKING

from foreword.knowledge.corrections import MAX_TURNS_BACK, find_corrected, may_be_correction
from foreword.knowledge.sentence_weights import (
    ConversationWeights,
    choose_sentences,
    drop_covered,
    read_turn,
)
from foreword.knowledge.settled import is_decision
from foreword.text.tokens import cut_to_tokens
from foreword.text.words import STOPWORDS, split_words
from foreword.types import Item

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from foreword.knowledge.sentence_weights import Sentence, Weighed
    from foreword.text.tokens import Tokenizer
    from foreword.types import Turn

_MAX_CACHED_TEXTS = 4_096
_MAX_CONVERSATIONS = 8
_MAX_TURN_CHARACTERS = 1_000
_LANGUAGE_TURNS, _LANGUAGE_CHARACTERS = 20, 300
_MIN_TOKENS = 4
_IMPORTANT_SHARE = 0.5
"""The share of the tokens that is reserved for the important sentences of a long conversation."""

_DECIDED, _OPEN = "Decided: ", "Open: "
_MIN_CHANCE = 0.8
"""The least probability that a turn corrects another at which the correction is quoted with it."""

_MAX_MISFITS = 12
"""After this many sentences that do not fit, the summary is full."""


class ExtractiveSummarizer:
    """Summarises a conversation by its best sentences. Safe to share between threads and conversations.

    The sentences of a turn are cached by its text, and the weights of the last few conversations are kept,
    so that with one turn more not everything is read again.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._read_sentences = lru_cache(_MAX_CACHED_TEXTS)(_sentences_of_text)
        self._conversations: OrderedDict[tuple[str, str, str], ConversationWeights] = OrderedDict()
        self._lock = threading.Lock()

    def summarize(self, turns: Sequence[Turn], max_tokens: int) -> str:
        """A summary in at most `max_tokens` tokens; the same turns always give the same one."""
        spoken = spoken_turns(turns)
        if not spoken or max_tokens < 1:
            return ""
        with self._lock:
            return _Draft(self._update_weights(spoken), self._tokenizer, max_tokens).write()

    def _update_weights(self, spoken: list[Turn]) -> ConversationWeights:
        """The weights of the conversation that begins with the same turn, updated with these turns."""
        first = spoken[0]
        name = (first.turn_id, first.speaker, first.text)
        conversation = self._conversations.setdefault(name, ConversationWeights(self._read_sentences))
        self._conversations.move_to_end(name)
        if len(self._conversations) > _MAX_CONVERSATIONS:
            self._conversations.popitem(last=False)
        conversation.update(spoken)
        return conversation


def spoken_turns(turns: Sequence[Turn]) -> list[Turn]:
    """The turns of people and the assistant; all turns if there are none of these."""
    return [turn for turn in turns if turn.role in ("user", "assistant")] or list(turns)


def find_correction(turns: Sequence[Turn], place: int) -> int | None:
    """The index of the turn in which the speaker of a turn soon corrected it; None if there is none."""
    speaker, first = turns[place].speaker, max(0, place - MAX_TURNS_BACK)
    for at in range(place + 1, min(len(turns), place + 1 + MAX_TURNS_BACK)):
        if turns[at].speaker != speaker or not may_be_correction(turns[at].text):
            continue
        near = [_item_from_turn(turn) for turn in turns[first:at]]
        found = find_corrected(_item_from_turn(turns[at]), near[::-1])
        if any(
            corrected.item is near[place - first] and corrected.chance >= _MIN_CHANCE for corrected in found
        ):
            return at
    return None


def _item_from_turn(turn: Turn) -> Item:
    """A turn as an item, which is what `find_corrected` reads."""
    return Item(turn.text, "", kind="turn", about=turn.speaker)


def _sentences_of_text(text: str) -> tuple[Sentence, ...]:
    return tuple(read_turn(text, 0, _MAX_TURN_CHARACTERS))


class _Draft:
    """A summary while it is written: the wording of each chosen sentence, and the tokens that are left."""

    def __init__(self, conversation: ConversationWeights, tokenizer: Tokenizer, max_tokens: int) -> None:
        self._conversation = conversation
        self._turns = conversation.turns
        self._is_english = is_english(
            " ".join(turn.text[:_LANGUAGE_CHARACTERS] for turn in self._turns[:_LANGUAGE_TURNS])
        )
        self._tokenizer = tokenizer
        self._max_tokens = self._room = max_tokens
        self._text_by_sentence: dict[Sentence, str] = {}
        self._misfits = 0

    def write(self) -> str:
        """The best sentences, as many as fit; if none fits, the beginning of the best one."""
        weighed = self._conversation.weigh()
        chosen = self._choose_by_rank(weighed)
        while chosen and self._tokenizer.count(self._word_lines(chosen)) > self._max_tokens:
            chosen.pop()  # tokens do not add up exactly
        if chosen:
            return self._word_lines(chosen)
        with_content = (pair for pair in weighed if pair[0].content_words)
        best = max(with_content, key=lambda pair: pair[1], default=None)
        return self._word_beginning(best[0]) if best else ""

    def _choose_by_rank(self, weighed: list[Weighed]) -> list[Sentence]:
        """The important sentences within their share of tokens, then the heaviest, then any that fit."""
        important = self._conversation.important_sentences()
        kept_back = int(self._max_tokens * (1 - _IMPORTANT_SHARE)) if important else 0
        self._room -= kept_back
        chosen = self._choose_more([], important)
        self._room += kept_back
        chosen += self._choose_more(chosen, weighed)
        chosen += self._choose_more(chosen, important)
        if self._room >= _MIN_TOKENS:
            chosen += self._choose_more(chosen, self._conversation.unusual_sentences())
        return chosen

    def _choose_more(self, chosen: list[Sentence], weighed: list[Weighed]) -> list[Sentence]:
        """The best sentences that fit and say something the chosen ones do not."""
        if self._room < _MIN_TOKENS:
            return []
        self._misfits = 0
        return choose_sentences(drop_covered(weighed, chosen), self._take_if_fits, self._is_full)

    def _is_full(self) -> bool:
        return self._room < _MIN_TOKENS or self._misfits >= _MAX_MISFITS

    def _take_if_fits(self, sentence: Sentence) -> bool:
        """Whether a sentence fits into the tokens that are left; if so, they are taken for it."""
        text = self._quote_with_correction(sentence)
        line = join_by_speaker([(self._speaker(sentence), text)])[0]
        cost = self._tokenizer.count(f" {self._label(sentence)}{line}")
        if cost > self._room:
            self._misfits += 1
            return False
        self._room -= cost
        self._text_by_sentence[sentence] = text
        return True

    def _quote_with_correction(self, sentence: Sentence) -> str:
        """A sentence as it was said, followed by its later correction if there is one."""
        text = drop_openers(sentence.text) if self._is_english else sentence.text
        later = find_correction(self._turns, sentence.turn)
        return text if later is None else f"{text} (corrected: {self._turns[later].text.strip()})"

    def _speaker(self, sentence: Sentence) -> str:
        return self._turns[sentence.turn].speaker

    def _word_lines(self, chosen: list[Sentence]) -> str:
        """The text of the summary: decisions, open questions, then the rest, each in the order of speech."""
        ordered = sorted(chosen, key=lambda sentence: sentence.position)
        groups: dict[str, list[Sentence]] = {_DECIDED: [], _OPEN: [], "": []}
        for sentence in ordered:
            groups[self._label(sentence)].append(sentence)
        lines: list[str] = []
        for label, sentences in groups.items():
            spoken = join_by_speaker((self._speaker(one), self._text_by_sentence[one]) for one in sentences)
            lines += [label + line for line in spoken]
        return "\n".join(lines)

    def _label(self, sentence: Sentence) -> str:
        """The label of a sentence: "Decided: ", "Open: " or none."""
        if sentence.is_question:
            return _OPEN if self._conversation.is_open(sentence) else ""
        by_agent = self._turns[sentence.turn].role == "assistant"
        return _DECIDED if is_decision(sentence.text, by_agent=by_agent) else ""

    def _word_beginning(self, sentence: Sentence) -> str:
        """The beginning of a sentence that fits, with an ellipsis; empty if it has fewer than two words."""
        line = join_by_speaker([(self._speaker(sentence), self._quote_with_correction(sentence))])[0]
        kept = cut_to_tokens(line, self._max_tokens, self._tokenizer)
        while kept and (kept == line or self._tokenizer.count(f"{kept}…") > self._max_tokens):
            kept = kept.rpartition(" ")[0]
        return f"{kept}…" if " " in kept else ""


# Words that say nothing ----------------------------------------------------------------------------------

_OPENERS = re.compile(
    r"(?:(?:well|oh|ok|okay|yes|yeah|no|sure|hey|hi|hello|right|alright|actually|of course|you know|i see|ah"
    r"|um|uh|great|good|thanks|thank you|sorry|excuse me|then|now)[,.!]\s+"
    r"|(?:so|and|but|well|oh)\b,?\s+(?!that\b))+",
    re.IGNORECASE,
)
_MIN_WORDS = 3
_MIN_STOPWORD_SHARE = 0.25


def is_english(text: str) -> bool:
    """Whether a text is English: whether enough of its words are English stop words."""
    every = split_words(text)
    return bool(every) and sum(word in STOPWORDS for word in every) / len(every) >= _MIN_STOPWORD_SHARE


def drop_openers(text: str) -> str:
    """A sentence without openers such as `Well, yes,`; unchanged if too little would be left."""
    rest = _OPENERS.sub("", text, count=1) if _OPENERS.match(text) else text
    return rest[:1].upper() + rest[1:] if len(rest.split()) >= _MIN_WORDS else text


def join_by_speaker(texts: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each run of texts by one speaker, after the speaker's name."""
    lines: list[str] = []
    before = None
    for speaker, text in texts:
        if speaker == before and lines:
            lines[-1] += f" {text}"
        else:
            lines.append(f"{speaker}: {text}" if speaker else text)
        before = speaker
    return lines

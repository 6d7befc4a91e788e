"""Summarises a conversation in a given number of tokens; one turn more costs only the reading of that turn.

Extractive: it quotes the sentences that decide matters, leave them open, or name things, each under its
speaker. Nothing is reworded; only empty words before a sentence ("Well, yes,") are cut. Decisions come first,
then what is open, then the rest in its order; a sentence that was corrected or replaced is followed by what
holds now, or left out where the prompt tells that anyway. A sentence that leans on the one before it ("She
works at Bosch.") is told with that one or not at all. The words of tools and systems are left out if anybody
else spoke: they would read as if people had said them.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_right
from collections import OrderedDict
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from foreword.knowledge.corrections import MAX_TURNS_BACK, find_corrected, may_be_correction
from foreword.knowledge.leaning import depends_on_previous_sentence, is_about_unnamed_person
from foreword.knowledge.left_behind import find_things_said_left_behind, is_topic_later_left_behind
from foreword.knowledge.sentence_weights import (
    ConversationWeights,
    choose_complementary_sentences,
    drop_sentences_covered_by,
    read_turn_sentences,
)
from foreword.knowledge.settled import is_decision
from foreword.knowledge.stated_values import read_values, values_by_kind
from foreword.text.shorten import shorten_line
from foreword.text.tokens import cut_to_tokens
from foreword.text.words import is_english, split_words
from foreword.types import BesideSummary, Item, Replacement

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from foreword.knowledge.sentence_weights import Sentence, Weighed
    from foreword.text.tokens import Tokenizer
    from foreword.types import FindReplacing, Turn

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

_MAX_CORRECTION_CHARACTERS = 300
_MAX_LEANED_ON = 3
"""A sentence that leans on more sentences than this is left out."""

_MIN_ECHOED = 0.5
"""A reply repeats what it replies to if this share of its content words are in it."""

_MAX_LOOKED_UP = 40
"""How many turns are looked up at once to see whether they were replaced."""

_MAX_MISFITS = 12
"""After this many sentences that do not fit, the summary is full."""


class ExtractiveSummarizer:
    """Summarises a conversation by its best sentences. Safe to share between threads and conversations.

    The sentences of a turn are cached by its text, and the weights of the last few conversations are kept,
    so that with one turn more not everything is read again.
    """

    def __init__(self, tokenizer: Tokenizer, find_replacing: FindReplacing | None = None) -> None:
        self._tokenizer = tokenizer
        self._find_replacing = find_replacing
        self._read_sentences = lru_cache(_MAX_CACHED_TEXTS)(_sentences_of_text)
        self._conversations: OrderedDict[tuple[str, str, str], ConversationWeights] = OrderedDict()
        self._lock = threading.Lock()

    def summarize(self, turns: Sequence[Turn], max_tokens: int) -> str:
        """A summary in at most `max_tokens` tokens; the same turns always give the same one."""
        return self.summarize_beside(turns, max_tokens, BesideSummary())

    def summarize_beside(self, turns: Sequence[Turn], max_tokens: int, beside: BesideSummary) -> str:
        """A summary in at most `max_tokens` tokens that does not repeat what stands beside it."""
        spoken = spoken_turns(turns)
        if not spoken or max_tokens < 1:
            return ""
        since = [turn for turn in beside.since if turn.role in ("user", "assistant")]
        with self._lock:
            conversation = self._update_weights(spoken, since)
            sources = _ConversationSentences(conversation, since, self._find_replacing)
            for text in beside.told:
                sources.record_text_as_shown(text)
            return _SummaryDraft(sources, self._tokenizer, max_tokens).write_best_sentences()

    def _update_weights(self, spoken: list[Turn], since: list[Turn]) -> ConversationWeights:
        """The weights of the conversation that begins with the same turn, updated with these turns."""
        first = spoken[0]
        name = (first.turn_id, first.speaker, first.text)
        conversation = self._conversations.setdefault(name, ConversationWeights(self._read_sentences))
        self._conversations.move_to_end(name)
        if len(self._conversations) > _MAX_CONVERSATIONS:
            self._conversations.popitem(last=False)
        conversation.update(spoken, since)
        return conversation


def spoken_turns(turns: Sequence[Turn]) -> list[Turn]:
    """The turns of people and the assistant; all turns if there are none of these."""
    return [turn for turn in turns if turn.role in ("user", "assistant")] or list(turns)


def find_correcting_turn(turns: Sequence[Turn], place: int) -> int | None:
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
    return tuple(read_turn_sentences(text, 0, _MAX_TURN_CHARACTERS))


class _ConversationSentences:
    """The sentences of a conversation, and what else is known of them.

    It knows which were replaced, which the prompt tells already, and which cannot stand alone.
    """

    def __init__(
        self,
        conversation: ConversationWeights,
        since: Sequence[Turn],
        find_replacing: FindReplacing | None,
    ) -> None:
        self.conversation = conversation
        self.turns = conversation.turns
        self._all_turns = [*self.turns, *since]
        self._find_replacing = find_replacing
        self._replacing: dict[str, Replacement] = {}
        self._looked_up: set[str] = set()
        self._candidates: list[str] = []
        self._changes = [
            at for at, turn in enumerate(self._all_turns) if find_things_said_left_behind(turn.text)
        ]
        self._told: set[str] = set()

    def plan_turn_lookups_for_sentences(self, weighed: Iterable[Weighed]) -> None:
        """Note which sentences will be asked about, so that their turns are looked up together."""
        heaviest = sorted(weighed, key=lambda pair: pair[1])
        places = (place for one, _ in heaviest for place in (one.turn - 1, one.turn) if place >= 0)
        self._candidates = [self.turns[place].turn_id for place in places]

    def _stored_replacement(self, turn: int) -> Replacement | None:
        """What replaced a turn, as it is stored; None if nothing did."""
        name = self.turns[turn].turn_id
        if self._find_replacing and name and name not in self._looked_up:
            batch = {name}
            while self._candidates and len(batch) < _MAX_LOOKED_UP:
                batch.add(self._candidates.pop())
            batch -= {"", *self._looked_up}
            self._looked_up |= batch
            self._replacing |= self._find_replacing(sorted(batch))
        return self._replacing.get(name)

    def is_told(self, sentence: Sentence) -> bool:
        """Whether the prompt, or the summary so far, has a sentence in the same words."""
        return _normalize_text_for_comparison(sentence.text) in self._told

    def is_text_already_shown(self, text: str) -> bool:
        """Whether the prompt, or the summary so far, has all the sentences of a text."""
        return all(map(self.is_told, self.conversation.read_sentences(text)))

    def record_text_as_shown(self, text: str) -> None:
        """Note that the prompt, or the summary so far, has the sentences of a text."""
        self._told |= {
            _normalize_text_for_comparison(sentence.text)
            for sentence in self.conversation.read_sentences(text)
        }

    def record_sentence_and_replacement_shown(self, sentence: Sentence) -> None:
        """Note that the summary has a sentence, and with it what was said in its place."""
        self._told.add(_normalize_text_for_comparison(sentence.text))
        newer = self.find_replacement(sentence)
        if newer is not None:
            self.record_text_as_shown(newer.text)

    def position_in_conversation(self, sentence: Sentence) -> tuple[int, int]:
        """The place of a sentence in the conversation: its turn, and its number there."""
        return sentence.turn, self.conversation.sentences_of_turn(sentence.turn).index(sentence)

    def preceding_sentences_it_needs(self, sentence: Sentence) -> list[Sentence]:
        """The sentences just before one without which it would mean something else, in their order."""
        needed: list[Sentence] = []
        current: Sentence | None = sentence
        while current is not None and len(needed) <= _MAX_LEANED_ON:
            current = self._preceding_sentence_it_needs(current)
            needed += [current] if current is not None else []
        return needed[::-1]

    def _preceding_sentence_it_needs(self, sentence: Sentence) -> Sentence | None:
        """The sentence that one leans on; None if it stands by itself, or nothing was said before it."""
        if not depends_on_previous_sentence(sentence.text):
            return None
        turn, number = self.position_in_conversation(sentence)
        if number:
            return self.conversation.sentences_of_turn(turn)[number - 1]
        before = self.conversation.sentences_of_turn(turn - 1) if turn else ()
        return before[-1] if before and is_about_unnamed_person(sentence.text) else None

    def find_replacement(self, sentence: Sentence) -> Replacement | None:
        """What was said later in place of a sentence; None if it holds."""
        stored = self._stored_replacement(sentence.turn)
        found = (
            stored,
            self._find_bare_correction(sentence.turn),
            self._find_statement_that_it_ended(sentence),
        )
        meant = (one for one in filter(None, found) if self._is_sentence_meant(sentence, one.text))
        newer = next(meant, None)
        return newer and replace(newer, text=shorten_line(newer.text, _MAX_CORRECTION_CHARACTERS))

    def _find_bare_correction(self, place: int) -> Replacement | None:
        """The turn in which the speaker of a turn soon corrected it; None if there is none."""
        later = find_correcting_turn(self._all_turns, place)
        return None if later is None else Replacement(self._all_turns[later].text)

    def _find_statement_that_it_ended(self, sentence: Sentence) -> Replacement | None:
        """The last turn in which the same speaker says that what a sentence is about was left behind."""
        if sentence.is_question:
            return None
        speaker = self.turns[sentence.turn].speaker
        for at in reversed(self._changes[bisect_right(self._changes, sentence.turn) :]):
            later = self._all_turns[at]
            if later.speaker == speaker and is_topic_later_left_behind(sentence.text, later.text):
                return Replacement(later.text)
        return None

    def _is_sentence_meant(self, sentence: Sentence, newer: str) -> bool:
        """Whether a later text means this sentence of its turn: no other has more words and values of it.

        A bare correction that says whose value it corrects ("no, Petra's number is 7") means no sentence
        without that name.
        """
        values = read_values(newer)
        names = {word for value in values if value.kind == "name" for word in value.words}
        says_whose = may_be_correction(newer) and names and len({value.kind for value in values}) > 1
        if says_whose and names.isdisjoint(split_words(self.turns[sentence.turn].text)):
            return False
        shared = {
            one: _count_shared_words_and_kinds(one, newer)
            for one in self.conversation.sentences_of_turn(sentence.turn)
        }
        return shared.get(sentence, 0) == max(shared.values(), default=0)

    def repeats_replaced_turn(self, sentence: Sentence) -> bool:
        """Whether a sentence only repeats, as a reply, what the turn before it said and was replaced."""
        if not sentence.turn or sentence.is_question:
            return False
        before = self.turns[sentence.turn - 1]
        if before.speaker == self.turns[sentence.turn].speaker:
            return False
        said = self.conversation.sentences_of_turn(sentence.turn - 1)
        words = frozenset[str]().union(*(one.content_words for one in said))
        if not sentence.content_words or sentence.overlap(words) < _MIN_ECHOED:
            return False
        return self._stored_replacement(sentence.turn - 1) is not None


def _normalize_text_for_comparison(text: str) -> str:
    """The words of a text without case, punctuation and white space, to compare sentences by."""
    return " ".join(split_words(text))


def _count_shared_words_and_kinds(sentence: Sentence, newer: str) -> int:
    """How many content words, and how many kinds of values, a sentence shares with a later text."""
    kinds = values_by_kind(sentence.text).keys() & values_by_kind(newer).keys()
    return len(sentence.content_words & set(split_words(newer))) + len(kinds)


class _SummaryDraft:
    """A summary while it is written: the wording of each chosen sentence, and the tokens that are left."""

    def __init__(self, sources: _ConversationSentences, tokenizer: Tokenizer, max_tokens: int) -> None:
        self._sources = sources
        self._conversation = sources.conversation
        self._turns = sources.turns
        self._is_english = is_english(
            " ".join(turn.text[:_LANGUAGE_CHARACTERS] for turn in self._turns[:_LANGUAGE_TURNS])
        )
        self._tokenizer = tokenizer
        self._max_tokens = self._room = max_tokens
        self._text_by_sentence: dict[Sentence, str] = {}
        self._misfits = 0

    def write_best_sentences(self) -> str:
        """The best sentences, as many as fit; if none fits, the beginning of the best one."""
        weighed, important = self._conversation.weigh(), self._conversation.important_sentences()
        self._sources.plan_turn_lookups_for_sentences((*weighed, *important))
        chosen = self._choose_by_rank(weighed, important)
        while chosen and self._tokenizer.count(self._format_lines(chosen)) > self._max_tokens:
            chosen.pop()  # tokens do not add up exactly
        if chosen:
            return self._format_lines(chosen)
        alone = (pair for pair in weighed if pair[0].content_words and self._may_show_only_beginning(pair[0]))
        best = max(alone, key=lambda pair: pair[1], default=None)
        return self._shorten_to_beginning(best[0]) if best else ""

    def _choose_by_rank(self, weighed: list[Weighed], important: list[Weighed]) -> list[Sentence]:
        """The important sentences within their share of tokens, then the heaviest, then any that fit."""
        kept_back = int(self._max_tokens * (1 - _IMPORTANT_SHARE)) if important else 0
        self._room -= kept_back
        chosen = self._choose_sentences_with_new_content([], important)
        self._room += kept_back
        chosen += self._choose_sentences_with_new_content(chosen, weighed)
        chosen += self._choose_sentences_with_new_content(chosen, important)
        if self._room >= _MIN_TOKENS:
            unusual = self._conversation.unusual_sentences()
            self._sources.plan_turn_lookups_for_sentences(unusual)
            chosen += self._choose_sentences_with_new_content(chosen, unusual)
        return chosen

    def _choose_sentences_with_new_content(
        self, chosen: list[Sentence], weighed: list[Weighed]
    ) -> list[Sentence]:
        """The best sentences that fit and say something the chosen ones do not."""
        if self._room < _MIN_TOKENS:
            return []
        self._misfits = 0
        return choose_complementary_sentences(
            drop_sentences_covered_by(weighed, chosen),
            self._add_sentence_if_it_fits,
            self._needs_no_more_sentences,
        )

    def _needs_no_more_sentences(self) -> bool:
        """Whether the summary has no room left, or too many sentences did not fit into what is left."""
        return self._room < _MIN_TOKENS or self._misfits >= _MAX_MISFITS

    def _add_sentence_if_it_fits(self, sentence: Sentence) -> bool:
        """Whether a sentence fits into the tokens that are left; if so, they are taken for it.

        It is taken with those that it leans on. One that must not be told is not taken.
        """
        if self._sources.is_told(sentence):
            return False
        texts = self._quote_with_needed_sentences(sentence)
        if texts is None:
            return False
        lines = join_by_speaker((self._speaker(one), text) for one, text in texts.items())
        cost = sum(self._tokenizer.count(f" {self._decided_or_open_label(sentence)}{line}") for line in lines)
        if cost > self._room:
            self._misfits += 1
            return False
        self._room -= cost
        self._text_by_sentence |= texts
        for one in texts:
            self._sources.record_sentence_and_replacement_shown(one)
        return True

    def _quote_with_needed_sentences(self, sentence: Sentence) -> dict[Sentence, str] | None:
        """A sentence and those it leans on that are not chosen yet; None if one must not be told."""
        before = self._sources.preceding_sentences_it_needs(sentence)
        if len(before) > _MAX_LEANED_ON:
            return None
        texts: dict[Sentence, str] = {}
        for one in (*before, sentence):
            if one not in self._text_by_sentence:
                quoted = self._quote_with_correction(one)
                if quoted is None:
                    return None
                texts[one] = quoted
        return texts

    def _quote_with_correction(self, sentence: Sentence) -> str | None:
        """A sentence as it was said, followed by what replaced it; None if that is told anyway."""
        text = drop_openers(sentence.text) if self._is_english else sentence.text
        newer = self._sources.find_replacement(sentence)
        if newer is None:
            return None if self._sources.repeats_replaced_turn(sentence) else text
        if self._sources.is_text_already_shown(newer.text) and not may_be_correction(newer.text):
            return None
        return f"{text} ({'corrected' if newer.is_sure else 'later'}: {newer.text})"

    def _speaker(self, sentence: Sentence) -> str:
        return self._turns[sentence.turn].speaker

    def _format_lines(self, chosen: list[Sentence]) -> str:
        """The text of the summary: decisions, open questions, then the rest, each in the order of speech."""
        groups: dict[str, list[Sentence]] = {_DECIDED: [], _OPEN: [], "": []}
        for run in self._group_into_runs(chosen):
            labels = {self._decided_or_open_label(sentence) for sentence in run}
            groups[next(label for label in groups if label in labels)] += run
        lines: list[str] = []
        for label, sentences in groups.items():
            spoken = join_by_speaker((self._speaker(one), self._text_by_sentence[one]) for one in sentences)
            lines += [label + line for line in spoken]
        return "\n".join(lines)

    def _group_into_runs(self, chosen: list[Sentence]) -> list[list[Sentence]]:
        """The chosen sentences in their order, each in one run with those that it leans on."""
        every = {
            one
            for sentence in chosen
            for one in (*self._sources.preceding_sentences_it_needs(sentence), sentence)
        }
        runs: list[list[Sentence]] = []
        for sentence in sorted(every, key=self._sources.position_in_conversation):
            if runs and self._sources.preceding_sentences_it_needs(sentence)[-1:] == runs[-1][-1:]:
                runs[-1].append(sentence)
            else:
                runs.append([sentence])
        return runs

    def _decided_or_open_label(self, sentence: Sentence) -> str:
        """The label of a sentence: "Decided: ", "Open: " or none."""
        if sentence.is_question:
            return _OPEN if self._conversation.is_open(sentence) else ""
        by_agent = self._turns[sentence.turn].role == "assistant"
        return _DECIDED if is_decision(sentence.text, by_agent=by_agent) else ""

    def _may_show_only_beginning(self, sentence: Sentence) -> bool:
        """Whether a sentence may be told by its beginning: it stands alone, holds, and is not told yet."""
        sources = self._sources
        is_valid = sources.find_replacement(sentence) is None and not sources.repeats_replaced_turn(sentence)
        return (
            is_valid and not sources.is_told(sentence) and not sources.preceding_sentences_it_needs(sentence)
        )

    def _shorten_to_beginning(self, sentence: Sentence) -> str:
        """The beginning of a sentence that fits, with an ellipsis; empty if it has fewer than two words."""
        text = drop_openers(sentence.text) if self._is_english else sentence.text
        line = join_by_speaker([(self._speaker(sentence), text)])[0]
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

"""A receipt in plain sentences: what was injected, what nearly was, and why.

The one place that translates the words of a receipt for people. It returns sentences and numbers between 0
and 1; the page and the command line decide how they look.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.pipeline import FLOOR, min_probability_worth_telling
from foreword.text.clean import remove_invisible
from foreword.text.numbers import format_percent, number_with_noun
from foreword.text.provenance import attribution
from foreword.text.shorten import shorten_line
from foreword.text.words import content_words, split_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from foreword.types import Entry, Item, Receipt

SPACES = {
    "semantic": "meaning",
    "lexical": "words",
    "entities": "names",
    "identifiers": "code names",
    "trigram": "spelling",
    "graph": "neighbours",
    "echo": "likeness to the best",
    "recency": "recency",
    "hour": "time of day",
    "day": "day",
}
"""What each space compares, in the order of the explanation; the last four only rank what others found."""

MAIN_SPACES = ("semantic", "lexical", "entities", "identifiers", "trigram", "graph")
"""The spaces whose shares in a result are told and drawn."""

_MAX_SHARED_WORDS = 3
_MAX_QUOTED = 60
_NEAR_PLACES = 10
_MIN_WORD_CHARACTERS = 3
_MIN_COMMON_BEGINNING, _MAX_ENDING = 4, 2
_MAX_NEAR_MISSES = 5
_FLOOR_DETAIL = re.compile(r"< ([\d.]+)$")
_ID_AT_START = re.compile(r"^(?:told after |as )?(\S+?)(?:,.*)?$")

_PART_NAMES = {
    "retrieve": "search", "retrieve_more": "search deeper", "fuse": "weigh the lists",
    "compare_tokens": "compare word by word", "rerank": "read in pairs", "read": "read the best",
    "refresh": "look for newer ones", "tell_successors": "look for newer ones",
    "add_related": "follow relations", "drop_repeats": "drop repeats", "load_shown": "look up what was shown",
    "fit_budget": "fit the budget", "tell_progress": "tell how it went on", "weigh": "put in order",
    "drop_told": "leave out what was told", "diversify": "prefer variety",
    "drop_echoes": "drop what repeats the prompt",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReceiptOutline:
    """A receipt without the texts of its items: enough for a line in a list.

    `said` are the entries that were injected. `floor` is the probability below which nothing is injected;
    None if the receipt has none.
    """

    receipt: Receipt
    said: tuple[Entry, ...]
    near_misses: tuple[Entry, ...]
    others: tuple[Entry, ...]
    floor: float | None
    summary: str

    @property
    def milliseconds(self) -> float:
        """How long it all took."""
        return sum(stage.milliseconds for stage in self.receipt.stages)

    @property
    def candidates(self) -> tuple[Entry, ...]:
        """All entries: those injected, then the near misses, then the others."""
        return (*self.said, *self.near_misses, *self.others)


@dataclass(frozen=True, slots=True)
class CandidateStory:
    """One candidate of a receipt: whether it was injected, how it was found, why it was left out.

    `parts` is how much each space contributed to finding it; they add up to 1. `text` is None if the item was
    forgotten since.
    """

    entry: Entry
    item: Item | None
    found_by: str
    left_out: str
    parts: tuple[tuple[str, float], ...] = ()

    @property
    def was_injected(self) -> bool:
        """Whether it was injected."""
        return self.entry.decision == "injected"

    @property
    def score(self) -> float:
        """The probability that it helps, 0 to 1."""
        return probability_to_help(self.entry)

    @property
    def text(self) -> str | None:
        """The item's text, after an attribution if the words are not the user's."""
        if self.item is None:
            return None
        return ": ".join(filter(None, (attribution(self.item), self.item.text)))

    @property
    def sentence(self) -> str:
        """How it was found, and why it was left out if it was."""
        found = self.found_by or "found"
        return f"{found}; left out: {self.left_out}" if self.left_out else found


@dataclass(frozen=True, slots=True)
class ReceiptStory:
    """A receipt for people: what was injected, what nearly was, and what else was considered.

    `cut` is the probability below which nothing is injected beside the best; None if the receipt has none.
    `stages` are the names of the stages, in plain words, with their milliseconds.
    """

    outline: ReceiptOutline
    said: tuple[CandidateStory, ...]
    near_misses: tuple[CandidateStory, ...]
    others: tuple[CandidateStory, ...]
    cut: float | None
    stages: tuple[tuple[str, float], ...]

    @property
    def receipt(self) -> Receipt:
        """The receipt itself."""
        return self.outline.receipt

    @property
    def floor(self) -> float | None:
        """The probability below which nothing is injected; None if the receipt has none."""
        return self.outline.floor

    @property
    def summary(self) -> str:
        """The receipt in one sentence."""
        return self.outline.summary

    @property
    def milliseconds(self) -> float:
        """How long it all took."""
        return self.outline.milliseconds

    @property
    def left_out(self) -> tuple[CandidateStory, ...]:
        """Every candidate that was not injected, near misses first."""
        return (*self.near_misses, *self.others)


def outline_receipt(receipt: Receipt) -> ReceiptOutline:
    """A receipt without the texts of its items: entries injected, near misses and others, best first."""
    floor = _find_floor(receipt)
    left = sorted(
        (entry for entry in receipt.entries if entry.decision != "injected"), key=_left_out_sort_key
    )
    near = [entry for entry in left if _is_near_miss(entry, floor)][:_MAX_NEAR_MISSES]
    near_ones = {id(entry) for entry in near}
    others = tuple(entry for entry in left if id(entry) not in near_ones)
    summary = _summary_sentence(receipt, len(left))
    return ReceiptOutline(receipt, tuple(receipt.injected_entries), tuple(near), others, floor, summary)


def describe_receipt(receipt: Receipt, find_items: Callable[..., Sequence[Item | None]]) -> ReceiptStory:
    """A receipt in sentences; `find_items` returns the item of each id, or None if it was forgotten."""
    items = _fetch_by_id(find_items, _list_item_ids(receipt))
    items |= _fetch_by_id(find_items, [item.superseded_by for item in items.values() if item.superseded_by])
    outline = outline_receipt(receipt)
    said, near, others = (
        tuple(_describe_candidate(entry, receipt, items) for entry in entries)
        for entries in (outline.said, outline.near_misses, outline.others)
    )
    was_read = any("read" in entry.scores for entry in receipt.injected_entries)
    cut = (
        min_probability_worth_telling(max(entry.score for entry in receipt.injected_entries))
        if was_read
        else None
    )
    return ReceiptStory(outline, said, near, others, cut, _describe_stages(receipt))


def probability_to_help(entry: Entry) -> float:
    """The probability that a candidate helps: its score, limited to 0 to 1."""
    return min(1.0, max(0.0, entry.score))


def _fetch_by_id(find_items: Callable[..., Sequence[Item | None]], names: Sequence[str]) -> dict[str, Item]:
    return {item.id: item for item in find_items(*names) if item is not None} if names else {}


def _list_item_ids(receipt: Receipt) -> list[str]:
    """The ids of all items that a receipt names: its candidates, and the items preferred to them."""
    others = (_find_preferred_id(entry) for entry in receipt.entries)
    return list(dict.fromkeys([*(entry.item_id for entry in receipt.entries), *filter(None, others)]))


def _day_in_words(moment: datetime, today: datetime) -> str:
    """A day in words, such as `3 May`, with the year unless it is today's."""
    local = moment.astimezone()
    year = "" if local.year == today.astimezone().year else f" {local:%Y}"
    return f"{local.day} {local:%B}{year}"


def describe_note(part: str, message: str) -> str:
    """A note of a receipt as a sentence: `meaning: late`."""
    return f"{SPACES.get(part, _PART_NAMES.get(part, part.replace('_', ' ')))}: {message}"


# One candidate -------------------------------------------------------------------------------------------


def _describe_candidate(entry: Entry, receipt: Receipt, items: Mapping[str, Item]) -> CandidateStory:
    item = items.get(entry.item_id)
    left_out = "" if entry.decision == "injected" else _describe_why_left_out(entry, receipt, items)
    newer = items.get(item.superseded_by or "") if item is not None else None
    if newer is not None and entry.decision not in ("injected", "superseded"):
        left_out = f"replaced on {_day_in_words(newer.created_at, receipt.created_at)}; besides, {left_out}"
    return CandidateStory(
        entry,
        item,
        _describe_how_found(entry, receipt.query, item),
        left_out,
        _contribution_of_each_space(entry),
    )


def _describe_how_found(entry: Entry, query: str, item: Item | None) -> str:
    """How a candidate was found: the words it shares with the question, its rank in meaning, and so on."""
    said: list[str] = []
    shared = _shared_words(query, item) if item is not None else []
    if shared and entry.ranks.get("lexical"):
        said.append(f"shares {_join_with_and([f'‘{word}’' for word in shared])}")
    elif entry.ranks.get("lexical"):
        said.append("shares words with the question")
    if rank := entry.ranks.get("semantic"):
        said.append(_describe_nearness(rank))
    if "entities" in entry.ranks:
        said.append("mentions the same names")
    if "identifiers" in entry.ranks and not shared:
        said.append("has the same names of code")
    if "trigram" in entry.ranks and not shared:
        said.append("has a word that is spelt nearly so")
    if not said and "graph" in entry.ranks:
        said.append("stands next to something that was found")
    if not said and entry.section:
        said.append(_SECTION_REASONS.get(entry.section, ""))
    return ", ".join(filter(None, said))


_SECTION_REASONS = {
    "open": "is still open", "decisions": "was decided", "changes": "was committed since",
    "last_session": "sums up the last session", "topics": "names what the work is about",
}  # fmt: skip


def _describe_nearness(rank: int) -> str:
    if rank == 1:
        return "closest in meaning"
    return f"{'near' if rank <= _NEAR_PLACES else 'less near'} in meaning ({_ordinal(rank)})"


def _shared_words(query: str, item: Item) -> list[str]:
    """The words of the question that an item has, in the same or another form, longest first."""
    there = dict.fromkeys(word for word in split_words(item.searchable) if len(word) >= _MIN_WORD_CHARACTERS)
    asked = [word for word in content_words(query) if len(word) >= _MIN_WORD_CHARACTERS]
    shared = {word: None for word in asked if any(_are_forms_of_same_word(word, other) for other in there)}
    return sorted(shared, key=len, reverse=True)[:_MAX_SHARED_WORDS]


def _are_forms_of_same_word(word: str, other: str) -> bool:
    """Whether two words are equal, or differ only in a short ending."""
    pairs = enumerate(zip(word, other, strict=False))
    common = next((at for at, (one, two) in pairs if one != two), min(len(word), len(other)))
    shorter, longer = sorted((len(word), len(other)))
    return longer - common <= _MAX_ENDING and (common == shorter or common >= _MIN_COMMON_BEGINNING)


def _contribution_of_each_space(entry: Entry) -> tuple[tuple[str, float], ...]:
    """How much each space contributed, from the candidate's rank in it; the shares add up to 1.

    Neighbours count only where nothing else found it, as in the sentence that says how it was found.
    """
    weights = {name: 1 / entry.ranks[name] for name in MAIN_SPACES if entry.ranks.get(name)}
    if len(weights) > 1:
        weights.pop("graph", None)
    total = sum(weights.values())
    return tuple((name, weight / total) for name, weight in weights.items())


# Why it was left out --------------------------------------------------------------------------------------


def _describe_why_left_out(entry: Entry, receipt: Receipt, items: Mapping[str, Item]) -> str:
    other = items.get(_find_preferred_id(entry) or "")
    match entry.decision:
        case "below floor":
            return _describe_below_floor(entry)
        case "duplicate":
            repeated = "the question" if entry.detail == "of the question" else None
            return f"it repeats {repeated}" if repeated else f"it says the same as {_quote_item(other)}"
        case "superseded":
            return _describe_replaced(entry, other, receipt.created_at)
        case "no answer":
            return _NO_ANSWERS.get(entry.detail, entry.detail or "it answers nothing")
        case "over budget":
            return f"there was no room ({entry.detail})" if entry.detail else "there was no room"
        case "over limit":
            return _describe_over_limit(entry.detail)
    return _PLAIN_REASONS.get(entry.decision, entry.decision)


_PLAIN_REASONS = {
    "already in context": "the agent has it before it already",
    "foreign workspace": "it belongs to another project",
    "quarantined": "it is quarantined",
}
_NO_ANSWERS = {
    "states nothing of its own": "it asks or sums up, and states nothing of its own",
    "it asks the same": "it asks the same and answers nothing",
}


def _describe_below_floor(entry: Entry) -> str:
    floor = _FLOOR_DETAIL.search(entry.detail)
    share, least = format_percent(entry.score), format_percent(float(floor[1])) if floor else ""
    if share == least:
        return f"it is a little less likely to help than the floor, {least}"
    return f"it is {share} likely to help" + (f", and the floor is {least}" if least else "")


def _describe_replaced(entry: Entry, newer: Item | None, today: datetime) -> str:
    if entry.detail == "told as history":
        return "it is told as what held before"
    if entry.detail.startswith("taken back"):
        return f"it was {entry.detail}"
    return (
        f"replaced on {_day_in_words(newer.created_at, today)} by {_quote_item(newer)}"
        if newer
        else "replaced"
    )


def _describe_over_limit(detail: str) -> str:
    if detail.startswith("not among the"):
        return f"others looked better at first sight: it was {detail}"
    if match := re.match(r"limit (\d+)", detail):
        return f"{match[1]} surer ones were enough"
    return detail.replace("better ones were told", "surer ones were enough") or "surer ones were enough"


def _find_preferred_id(entry: Entry) -> str | None:
    """The id of the item that was preferred to a candidate, or None if its detail names none."""
    if entry.decision not in ("duplicate", "superseded", "already in context") or " " in entry.detail.strip(
        ","
    ):
        found = _ID_AT_START.match(entry.detail) if entry.decision in ("duplicate", "superseded") else None
        return found[1] if found else None
    return entry.detail or None


def _quote_item(item: Item | None) -> str:
    if item is None:
        return "something that was forgotten since"
    return f"“{shorten_line(remove_invisible(item.text), _MAX_QUOTED)}”"


# The whole ------------------------------------------------------------------------------------------------


_NEAR_REASONS = ("below floor", "superseded", "over limit", "over budget", "duplicate")


def _is_near_miss(entry: Entry, floor: float | None) -> bool:
    """Whether a candidate was nearly injected: it has at least half the floor, or was only superseded."""
    if entry.decision not in _NEAR_REASONS or entry.detail.startswith("not among the"):
        return False
    return entry.decision == "superseded" or entry.score >= (floor or 0) / 2


def _left_out_sort_key(entry: Entry) -> tuple[bool, float]:
    """A sort key for candidates left out: those that were read first, then by probability, highest first."""
    return entry.detail.startswith("not among the"), -entry.score


def _find_floor(receipt: Receipt) -> float | None:
    """The floor that a receipt names, or the usual one if a floor was applied, or None."""
    for entry in receipt.entries:
        if entry.decision == "below floor" and (found := _FLOOR_DETAIL.search(entry.detail)):
            return float(found[1])
    has_floor = any(stage.stage == "drop_below_floor" for stage in receipt.stages)
    return FLOOR if has_floor else None


def _describe_stages(receipt: Receipt) -> tuple[tuple[str, float], ...]:
    """The stages in plain words with their milliseconds, in order."""
    return tuple(
        (_PART_NAMES.get(stage.stage, stage.stage.replace("_", " ")), stage.milliseconds)
        for stage in receipt.stages
    )


_WHY_SILENT = {
    "over budget": "the best did not fit into the budget",
    "already in context": "the agent had the best already",
}


def _summary_sentence(receipt: Receipt, left_out: int) -> str:
    """The receipt in one sentence."""
    said = len(receipt.injected_entries)
    if not receipt.entries:
        return "Nothing was found that could have been said."
    if not said:
        answers = [entry for entry in receipt.entries if entry.decision not in ("no answer", "duplicate")]
        best = max(answers, key=lambda entry: entry.score, default=None)
        reason = _WHY_SILENT.get(best.decision if best else "", "none was good enough")
        return f"Nothing was said: of {number_with_noun(left_out, 'candidate')} {reason}."
    spent = f"{receipt.tokens:,} of {receipt.budget:,} tokens"
    return f"{number_with_noun(said, 'memory', 'memories')} said in {spent}; {left_out} left out."


def _join_with_and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"

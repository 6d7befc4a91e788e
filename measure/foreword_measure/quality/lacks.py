"""Whether the lack of something is noticed in long replies of other writers, and not in ordinary messages.

    test.jsonl, test_second.jsonl, test_third.jsonl, test_fourth.jsonl, test_parts.jsonl
                          text, lack, asks (the sentences that ask), language, layout (text, json)
    circles_test.jsonl    circle, messages

The files are in measure/lacks, whose README says who wrote them. Errors in the second and the third were
never read. Each message is the only one of a state, by an agent. In ordinary messages nobody asks for
anything; a lack that is found in them is a false alarm.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreword.errors import ValidationError
from foreword.recipes.gap.detect import WORDS_ALONE, find_circular_exchange, find_unanswered_request
from foreword.recipes.gap.state import read_messages
from foreword_measure.quality.gaps import OURS, WITH_MODELS, bundled_models, count_guesses
from foreword_measure.quality.ordinary import ordinary_messages
from foreword_measure.report import Report, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.recipes.gap.circles import CompareTexts
    from foreword.recipes.gap.detect import GapModels
    from foreword.recipes.gap.request_judge import ReadSentences
    from foreword_measure.report import Cell

FOLDER = Path(__file__).parents[2] / "lacks"
REPLIES, SECOND_REPLIES, THIRD_REPLIES = "test.jsonl", "test_second.jsonl", "test_third.jsonl"
FOURTH_REPLIES, PARTS = "test_fourth.jsonl", "test_parts.jsonl"
CIRCLES = "circles_test.jsonl"
LONG_WORDS = 100
"""From how many words on a reply counts as long."""

MIN_PRECISION, MIN_RECALL, MAX_FALSE_ALARMS = 0.93, 0.90, 20.0
"""The goals for long replies, and the most false alarms in 1,000 ordinary messages."""

_COLUMNS = ("messages", "right", "wrong", "missed", "precision", "recall")


def measure_lacks(folders: Sequence[Path] = ()) -> Report:
    """How well lacks are noticed, by words alone and with models; `folders` have more ordinary texts."""
    runs: dict[str, GapModels] = {OURS: WORDS_ALONE, WITH_MODELS: bundled_models()}
    replies, second, third, fourth, parts = (
        [_Reply(row) for row in _read_rows(FOLDER / name)]
        for name in (REPLIES, SECOND_REPLIES, THIRD_REPLIES, FOURTH_REPLIES, PARTS)
    )
    every = (*replies, *second, *third, *fourth, *parts)
    heard = {run: {one: _find_lack(one.text, models.read) for one in every} for run, models in runs.items()}
    groups = {**_group_replies(replies), "long replies, second set": second}
    groups |= {f"{name}, third set": group for name, group in _group_replies(third).items()}
    groups |= {"long replies, fourth set": fourth, "a part is missing": parts}
    counts = {
        f"{run}, {name}": count_guesses((one.lack, heard[run][one] is not None) for one in group)
        for run in runs
        for name, group in groups.items()
    }
    named = {run: _share_of_named_lacks(groups["long replies"], heard[run]) for run in runs}
    circles = {run: _count_circles(models.compare) for run, models in runs.items()}
    ordinary = ordinary_messages(folders)
    alarms = {run: _count_false_alarms(ordinary, models.read) for run, models in runs.items()}
    tables = (
        Table(
            "A lack heard in replies of another hand",
            ("run", *_COLUMNS),
            _table_rows(counts),
            (
                f"long replies have {LONG_WORDS} words or more; aims: {MIN_PRECISION:.2f}, {MIN_RECALL:.2f}",
                *(
                    f"{run}: the query holds what is asked in {share:.2f} of those heard"
                    for run, share in named.items()
                ),
            ),
        ),
        Table("Agents in circles, reworded", ("run", *_COLUMNS), _table_rows(circles)),
        Table(
            "False alarms in ordinary messages",
            ("run", "kind", "messages", "alarms", "per 1,000"),
            tuple((run, kind, *cells) for run, kinds in alarms.items() for kind, cells in kinds.items()),
            (f"aim: {MAX_FALSE_ALARMS:.0f} per 1,000",),
        ),
    )
    wrong = {
        run: [one.text[:80] for one in replies if one.lack != (heard[run][one] is not None)] for run in runs
    }
    data: dict[str, Any] = {"replies": counts, "named": named, "circles": circles, "alarms": alarms}
    return Report(tables, data | {"wrong": wrong})


class _Reply:
    """One labelled reply of the set."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.text: str = row["text"]
        self.lack: bool = row["lack"]
        self.asks: list[str] = row["asks"]
        self.language: str = row["language"]
        self.layout: str = row["layout"]


def _group_replies(replies: list[_Reply]) -> dict[str, list[_Reply]]:
    return {
        "long replies": [one for one in replies if len(one.text.split()) >= LONG_WORDS],
        "English": [one for one in replies if one.language == "en" and one.layout == "text"],
        "other languages": [one for one in replies if one.language != "en"],
        "JSON": [one for one in replies if one.layout == "json"],
    }


def _find_lack(text: str, read: ReadSentences | None) -> str | None:
    """What a message is found to lack; None if nothing."""
    state = {"messages": [{"role": "assistant", "name": "agent", "content": text}]}
    sign = find_unanswered_request(read_messages(state).messages, read)
    return None if sign is None else sign.needs


def _share_of_named_lacks(replies: list[_Reply], heard: Mapping[_Reply, str | None]) -> float:
    """The share of the lacks that were found whose query has most words of a sentence that asks."""
    found = [(set(needs.split()), one.asks) for one in replies if one.lack and (needs := heard[one])]
    held = [
        any(len(set(ask.split()) & words) > len(set(ask.split())) / 2 for ask in asks)
        for words, asks in found
    ]
    return sum(held) / len(held) if held else 0.0


def _count_circles(compare: CompareTexts | None) -> dict[str, float | None]:
    pairs = []
    for row in _read_rows(FOLDER / CIRCLES):
        state = {"messages": [{"role": "assistant", **message} for message in row["messages"]]}
        sign = find_circular_exchange(state, read_messages(state).messages, compare)
        pairs.append((bool(row["circle"]), sign is not None))
    return count_guesses(pairs)


def _count_false_alarms(
    kinds: Mapping[str, list[str]], read: ReadSentences | None
) -> dict[str, tuple[int, int, float]]:
    counted = {}
    for kind, texts in kinds.items():
        alarms = sum(_find_lack(text, read) is not None for text in texts)
        counted[kind] = (len(texts), alarms, 1000 * alarms / len(texts))
    return counted


def _table_rows(table: Mapping[str, Mapping[str, float | None]]) -> tuple[tuple[Cell, ...], ...]:
    return tuple((name, *values.values()) for name, values in table.items())


def _read_rows(path: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise ValidationError(f"cannot read {path}: {error}") from error

"""A conversation as a prompt tells it: a summary, recalled turns and recent turns, each under its heading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.compose.quoting import escape_headings
from foreword.compose.turns import count_image_tokens_of_turns, turn_identity
from foreword.errors import ValidationError
from foreword.text.clean import indent_lines_after_first

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from foreword.compose.turns import FormattedTurn
    from foreword.text.tokens import Tokenizer


@dataclass(frozen=True, slots=True)
class HistoryTemplate:
    """The headings of the parts of a history; in `summary`, `{}` is replaced by the summary."""

    summary: str = "[Conversation summary: {}]"
    recalled: str = "Earlier in this conversation:"
    recent: str = "Recent conversation:"

    def __post_init__(self) -> None:
        if "{}" not in self.summary:
            raise ValidationError(f"the template {self.summary!r} has no {{}}; put it where a summary goes")


DEFAULT_TEMPLATE = HistoryTemplate()


@dataclass(frozen=True, slots=True)
class FormattedHistory:
    """A worded conversation; recalled and recent turns are oldest first.

    `token_count` includes the text and the images of recent turns, which are sent with them; `reserved` is
    the number of tokens for a summary that is not made yet. `problem` says why the summary is missing or
    incomplete, if the summarizer failed. `opening` is the identity of the conversation's first turn.
    """

    summary: str | None = None
    recalled: tuple[FormattedTurn, ...] = ()
    recent_turns: tuple[FormattedTurn, ...] = ()
    text: str = ""
    token_count: int = 0
    template: HistoryTemplate = DEFAULT_TEMPLATE
    problem: str = ""
    reserved: int = 0
    opening: Hashable = None

    @property
    def has_recent_turns_from_start(self) -> bool:
        """Whether the recent turns begin with the first turn of the conversation."""
        return bool(self.recent_turns) and turn_identity(self.recent_turns[0].turn) == self.opening


def make_history(
    summary: str | None,
    recalled: Sequence[FormattedTurn],
    recent: Sequence[FormattedTurn],
    tokenizer: Tokenizer,
    template: HistoryTemplate = DEFAULT_TEMPLATE,
    problem: str = "",
    opening: Hashable = None,
) -> FormattedHistory:
    """A history made of these parts, with its text and token count."""
    text = history_text(summary, recalled, recent, template)
    tokens = tokenizer.count(text) + count_image_tokens_of_turns(recent)
    return FormattedHistory(
        summary or None, tuple(recalled), tuple(recent), text, tokens, template, problem, opening=opening
    )


def history_text(
    summary: str | None,
    recalled: Sequence[FormattedTurn],
    recent: Sequence[FormattedTurn],
    template: HistoryTemplate,
) -> str:
    """The parts that are not empty, under their headings, with blank lines between them."""
    parts = (
        [template.summary.replace("{}", indent_lines_after_first(escape_headings(summary), 2))]
        if summary
        else []
    )
    for heading, turns in ((template.recalled, recalled), (template.recent, recent)):
        if turns:
            parts.append("\n".join((heading, *_lines_with_day_headings(turns))))
    return "\n\n".join(parts)


def _lines_with_day_headings(turns: Sequence[FormattedTurn]) -> Iterator[str]:
    """The lines of turns, with a heading before the first turn of each day."""
    day = ""
    for turn in turns:
        if turn.day and turn.day != day:
            day = turn.day
            yield day
        yield turn.formatted

"""Statements of a user about themselves from other conversations, worded within a number of tokens.

Wishes for how to be answered come first. Every line has its date, and a statement that replaced others shows
these after it. A line that does not fit is left out, and the next one is tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.compose.quoting import escape_heading_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.text.tokens import Tokenizer

_RULES = "How this user wants to be answered:"
_FACTS = "What this user has said of themselves:"
_BULLET = "- "


@dataclass(frozen=True, slots=True)
class UserLine:
    """A user's statement about themselves: its turn, its day, and the statements that it replaced."""

    text: str
    turn_id: str
    day: str
    is_rule: bool = False
    before: tuple[tuple[str, str], ...] = ()
    """Days and texts of the statements that it replaced."""

    @property
    def prompt_line(self) -> str:
        """The line as a prompt has it."""
        earlier = "".join(f"; before, {day}: {text}" for day, text in self.before)
        return _BULLET + escape_heading_line(f"{self.text} ({self.day}{earlier})")


@dataclass(frozen=True, slots=True)
class UserContext:
    """The lines in the prompt, and their text; `token_count` is that of the text."""

    lines: tuple[UserLine, ...] = ()
    text: str = ""
    token_count: int = 0


NO_USER = UserContext()


def fit_user_lines(lines: Sequence[UserLine], max_tokens: int, tokenizer: Tokenizer) -> UserContext:
    """As many of the lines as fit, the first preferred."""
    told = NO_USER
    for line in lines:
        chosen = (*told.lines, line)
        text = text_about_user(chosen)
        tokens = tokenizer.count(text)
        if tokens <= max_tokens:
            told = UserContext(chosen, text, tokens)
    return told


def make_user_context(lines: Sequence[UserLine], tokenizer: Tokenizer) -> UserContext:
    """A user context of these lines, with its text and token count."""
    text = text_about_user(lines)
    return UserContext(tuple(lines), text, tokenizer.count(text)) if lines else NO_USER


def text_about_user(lines: Sequence[UserLine]) -> str:
    """The lines under two headings, wishes and facts; empty without lines."""
    parts = []
    for heading, wanted in ((_RULES, True), (_FACTS, False)):
        of_kind = [line.prompt_line for line in lines if line.is_rule is wanted]
        if of_kind:
            parts.append("\n".join((heading, *of_kind)))
    return "\n\n".join(parts)

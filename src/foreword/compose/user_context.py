"""What is known of a user from elsewhere, as dated lines within a number of tokens.

How they want to be answered comes first, then what they said of themselves, what was remembered, and what
was said in their other conversations. A statement that replaced others shows these after it. A line that does
not fit is left out, and the next one is tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from foreword.compose.quoting import escape_headings_on_one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.text.tokens import Tokenizer

UserSection = Literal["wish", "fact", "memory", "earlier"]
"""What a line tells: how to answer, what the user is, what was remembered, what was said another time."""

_HEADINGS: dict[UserSection, str] = {
    "wish": "How this user wants to be answered:",
    "fact": "What this user has said of themselves:",
    "memory": "Remembered:",
    "earlier": "From earlier conversations with this user:",
}
_BULLET = "- "


@dataclass(frozen=True, slots=True)
class UserLine:
    """A statement from elsewhere: the turn or memory it is from, its day, and what it replaced.

    `author` says who said it, if not the user. `score` is how probably it helps, if it was searched for, and
    `said_at` when it was said, in seconds: lines are preferred by the one, and told in that of the other.
    """

    text: str
    turn_id: str
    day: str
    section: UserSection = "fact"
    before: tuple[tuple[str, str], ...] = ()
    """Days and texts of the statements that it replaced."""
    history: str = ""
    """How a statement that was searched for came about and what was said of it later, in brackets."""
    author: str = ""
    score: float = 0.0
    said_at: float = 0.0

    def tells(self, other: UserLine) -> bool:
        """Whether this line says what the other says, as what holds or as what it replaced."""
        texts = (self.text, *(text for _, text in self.before))
        return any(other.text in text for text in texts) and not other.before

    @property
    def prompt_line(self) -> str:
        """The line as a prompt has it."""
        earlier = "".join(f"; before, {day}: {text}" for day, text in self.before)
        said = " ".join(filter(None, (self.author, self.text, self.history)))
        return _BULLET + escape_headings_on_one_line(f"{said} ({self.day}{earlier})")


@dataclass(frozen=True, slots=True)
class UserContext:
    """The lines in the prompt, and their text; `token_count` is that of the text."""

    lines: tuple[UserLine, ...] = ()
    text: str = ""
    token_count: int = 0


NO_USER = UserContext()


def merge_user_lines(known: Sequence[UserLine], found: Sequence[UserLine]) -> list[UserLine]:
    """The known lines and those found by a search, each statement once: where one line has all of another.

    A fact is often one sentence of what was found, which then tells it with the sentences around it.
    """
    new = [one for one in found if not any(line.tells(one) for line in known)]
    kept = [line for line in known if line.section != "fact" or not any(one.tells(line) for one in new)]
    return [*kept, *new]


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
    """The lines under the headings of their sections; empty without lines."""
    parts = []
    for section, heading in _HEADINGS.items():
        of_section = sorted(
            (line for line in lines if line.section == section), key=lambda line: line.said_at
        )
        if of_section:
            parts.append("\n".join((heading, *(line.prompt_line for line in of_section))))
    return "\n\n".join(parts)

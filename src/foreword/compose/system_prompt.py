"""The system prompt: an agent's instructions, its personality and its user's preferences.

If there are too few tokens, preferences are dropped first, then the personality, then the end of the
instructions; sentences are never cut. Of the preferences, the user's own instructions are kept longest: first
they in their order, then style, verbosity, technical level and layout. A line that is too long is skipped and
the next is tried.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from foreword.compose.quoting import escape_headings, escape_headings_on_one_line
from foreword.errors import ValidationError
from foreword.text.sentences import sentence_spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.text.tokens import Tokenizer

CommunicationStyle = Literal["formal", "professional", "casual", "friendly"]
Verbosity = Literal["concise", "moderate", "detailed"]
TechnicalLevel = Literal["beginner", "intermediate", "expert"]

_STYLES: dict[str, str] = {
    "formal": "Use formal language.",
    "professional": "Be professional and clear.",
    "casual": "Use casual, conversational language.",
    "friendly": "Be warm and friendly.",
}
_VERBOSITIES: dict[str, str] = {
    "concise": "Keep responses brief and to the point.",
    "moderate": "Provide balanced, moderate-length responses.",
    "detailed": "Provide comprehensive, detailed responses.",
}
_LEVELS: dict[str, str] = {
    "beginner": "Explain concepts simply, avoiding jargon.",
    "intermediate": "Use appropriate technical terms with brief explanations.",
    "expert": "Use technical language freely.",
}
_LAYOUT: dict[str, str] = {
    "use_bullets": "Use bullet points for lists.",
    "use_numbered_lists": "Use numbered lists for sequential steps.",
    "include_code_blocks": "Put code in code blocks.",
    "include_links": "Include links to sources.",
}
_HEADING = "User preferences:"


@dataclass(frozen=True, slots=True)
class Helpful:
    """The default personality."""

    def __str__(self) -> str:
        return "You are a helpful assistant. Be accurate, concise, and helpful."


@dataclass(frozen=True, slots=True)
class Expert:
    """A personality that knows one field well."""

    domain: str

    def __post_init__(self) -> None:
        _check_text("domain", self.domain)

    def __str__(self) -> str:
        return (
            f"You are an expert assistant specializing in {self.domain}. "
            "Provide detailed, accurate information."
        )


@dataclass(frozen=True, slots=True)
class Conversational:
    """A personality that likes to talk."""

    def __str__(self) -> str:
        return "You are a friendly conversational assistant. Be engaging and natural in your responses."


@dataclass(frozen=True, slots=True)
class Custom:
    """A personality in your own words."""

    description: str

    def __post_init__(self) -> None:
        _check_text("description", self.description)

    def __str__(self) -> str:
        return self.description


AgentPersonality = Helpful | Expert | Conversational | Custom


@dataclass(frozen=True, slots=True)
class FormattingPreferences:
    """How answers should look; only what is set is mentioned."""

    use_bullets: bool = False
    use_numbered_lists: bool = False
    include_code_blocks: bool = False
    include_links: bool = False


@dataclass(frozen=True, slots=True)
class UserPreferences:
    """How a user wants to be answered; each of the custom instructions is a line of its own."""

    style: CommunicationStyle = "professional"
    verbosity: Verbosity = "moderate"
    technical_level: TechnicalLevel = "intermediate"
    formatting: FormattingPreferences = FormattingPreferences()
    custom_instructions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, sentences in (
            ("style", _STYLES),
            ("verbosity", _VERBOSITIES),
            ("technical_level", _LEVELS),
        ):
            if getattr(self, name) not in sentences:
                raise ValidationError(f"{name} is one of {', '.join(sentences)}, not {getattr(self, name)!r}")
        if not isinstance(self.formatting, FormattingPreferences):
            raise ValidationError(f"formatting is a FormattingPreferences(…), not {self.formatting!r}")
        own = self.custom_instructions
        if not isinstance(own, list | tuple) or not all(isinstance(line, str) for line in own):
            raise ValidationError(f"custom_instructions is a tuple of texts, as ('Be brief.',), not {own!r}")

    def sentences(self) -> list[str]:
        """The sentences for all preferences but the user's own instructions."""
        layout = [words for name, words in _LAYOUT.items() if getattr(self.formatting, name)]
        return [_STYLES[self.style], _VERBOSITIES[self.verbosity], _LEVELS[self.technical_level], *layout]


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """The text of a system prompt, the parts it is made of, and in words what did not fit."""

    text: str
    token_count: int
    base_instructions: str = ""
    personality: str = ""
    user_preferences: str = ""
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SystemPromptBuilder:
    """Builds the system prompt of one agent for one user."""

    base_instructions: str
    agent_personality: AgentPersonality = Helpful()
    user_preferences: UserPreferences | None = None
    tokenizer: Tokenizer = field(kw_only=True)

    def __post_init__(self) -> None:
        _check_text("base_instructions", self.base_instructions)
        if not isinstance(self.agent_personality, AgentPersonality):
            raise ValidationError(
                "agent_personality is Helpful(), Expert('…'), Conversational() or Custom('…'), "
                f"not {self.agent_personality!r}"
            )
        if not isinstance(self.user_preferences, UserPreferences | None):
            raise ValidationError(f"user_preferences is a UserPreferences(…), not {self.user_preferences!r}")

    def build(self, max_tokens: int) -> str:
        """The system prompt in at most `max_tokens`; empty if not even one sentence fits."""
        return self.compose(max_tokens).text

    def compose(self, max_tokens: int) -> SystemPrompt:
        """The system prompt in at most `max_tokens`, with its parts and what was left out."""
        base = escape_headings(self.base_instructions).strip()
        manner = escape_headings(str(self.agent_personality)).strip()
        wanted = self.user_preferences
        written = wanted.custom_instructions if wanted else ()
        own = [line for words in written if (line := escape_headings_on_one_line(words))]
        sentences = wanted.sentences() if wanted else []
        lost: list[str] = []
        kept_base = self._sentences_that_fit(base, max_tokens)
        if kept_base != base:
            lost.append("the end of the base instructions")
        kept_manner = manner if not lost and self._fits((base, manner), max_tokens) else ""
        if kept_manner != manner:
            lost.append("the personality")
        wishes = [] if lost else self._preferences_that_fit((base, manner), own, sentences, max_tokens)
        if missing := len(own) + len(sentences) - len(wishes):
            lost.append(f"{missing} of {len(own) + len(sentences)} user preferences")
        parts = kept_base, kept_manner, _preferences_block(wishes)
        text = _join_parts(parts)
        return SystemPrompt(text, self.tokenizer.count(text), *parts, tuple(lost))

    def _sentences_that_fit(self, base: str, max_tokens: int) -> str:
        """The instructions up to the end of the last sentence that fits."""
        if self.tokenizer.count(base) <= max_tokens:
            return base
        ends = [end for _, end in sentence_spans(base)]
        fitting = bisect_right(ends, max_tokens, key=lambda end: self.tokenizer.count(base[:end]))
        while fitting and self.tokenizer.count(base[: ends[fitting - 1]]) > max_tokens:
            fitting -= 1
        return base[: ends[fitting - 1]] if fitting else ""

    def _preferences_that_fit(
        self, before: Sequence[str], own: list[str], sentences: list[str], max_tokens: int
    ) -> list[str]:
        """The lines of preferences that fit; the user's own are tried first and come last."""
        if self._fits((*before, _preferences_block([*sentences, *own])), max_tokens):
            return [*sentences, *own]
        kept_own: list[str] = []
        for line in own:
            if self._fits((*before, _preferences_block([*kept_own, line])), max_tokens):
                kept_own.append(line)
        kept: list[str] = []
        for line in sentences:
            if self._fits((*before, _preferences_block([*kept, line, *kept_own])), max_tokens):
                kept.append(line)
        return [*kept, *kept_own]

    def _fits(self, parts: Sequence[str], max_tokens: int) -> bool:
        return self.tokenizer.count(_join_parts(parts)) <= max_tokens


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise ValidationError(f"{name} must be text, not {type(value).__name__}")


def _join_parts(parts: Sequence[str]) -> str:
    return "\n\n".join(filter(None, parts))


def _preferences_block(lines: Sequence[str]) -> str:
    """The lines under the heading for preferences; empty without lines."""
    return "\n".join((_HEADING, *lines)) if lines else ""

"""The context of a coding agent: sections with one memory a line, each with its age and its author.

A memory is data. It stays on its line, cannot close the frame around the context, and names its author unless
that is the user; words of files, tools and pages are quoted, and limited to their share. What does not fit
into the budget is left out, the least urgent first, until the exact count of the whole with its frame is
within the budget.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from foreword.compose.budget import BRIEF_BUDGET, InjectionCandidate, InjectionCategory, select_within_budget
from foreword.compose.share import Portion, may_include_each_portion
from foreword.errors import FormattingError
from foreword.text.clean import join_lines, remove_invisible
from foreword.text.frame import escape_entry, wrap_in_frame
from foreword.text.numbers import number_with_noun
from foreword.text.provenance import is_from_third_party, quote_entry, source_attribution
from foreword.text.sentences import sentence_spans
from foreword.types import Source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from foreword.compose.budget import TokenBudget
    from foreword.text.tokens import Tokenizer

SUMMARY_MAX_WORDS = 50
SESSION_MAX_WORDS = 100
BRIEF_MAX_WORDS = 20
BRIEF_MEMORIES = 3

_ALERT_WORDS, _ALERT_QUERY_WORDS = 12, 6
"""At most how many words of what was left are told, and of the query, which the agent reads anyway."""

_LEAST_SIMILARITY = 0.05
"""A similarity below this is called small: as a number it would look like a mistake."""

_TITLE = "## Relevant Context"
_CLUSTER = "### Recent Related Work"
_SINGLE = "### Potentially Related"
_SHIFT = "### Note: Activity Shift Detected"
_SESSION = "### Previous Session"
_TOPICS = "### Topics"
_BRIEF = "Related: "

_LONG_WORD, _PIECE = 64, 8
"""A run of more than `_LONG_WORD` characters counts as a word for every `_PIECE` of them."""

_CHARACTERS_AFTER = 40
"""How many characters after a cut are read, to see whether a sentence ends there."""

_MINUTE, _HOUR = 60, 3600
_EARLIER_TODAY = 12
_WEEK, _MONTH, _YEAR = 7, 30, 365


class Alert(Protocol):
    """A shift of activity: which memory the question is far from, in which space, and how far."""

    @property
    def memory_id(self) -> str: ...  # noqa: D102
    @property
    def space(self) -> str: ...  # noqa: D102
    @property
    def summary(self) -> str: ...  # noqa: D102
    @property
    def similarity(self) -> float: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class FittedSections:
    """The sections within their budget: their tokens, what is in them and what is left out.

    `over_share` are the candidates that were dropped because foreign words would exceed their share.
    """

    text: str = ""
    tokens: int = 0
    candidates: tuple[InjectionCandidate, ...] = ()
    alerts: tuple[Alert, ...] = ()
    left_out: tuple[InjectionCandidate, ...] = ()
    over_share: tuple[InjectionCandidate, ...] = ()


@dataclass(frozen=True, slots=True)
class ContextFormatter:
    """Words a context. Ages are relative to `now`, in its time zone; alerts mention the `query`, if given."""

    now: datetime
    tokenizer: Tokenizer
    query: str = ""

    def format_full_context(
        self,
        candidates: Sequence[InjectionCandidate],
        alerts: Sequence[Alert] = (),
        *,
        sources: Mapping[str, Source] | None = None,
        topics: Sequence[str] = (),
    ) -> str:
        """The sections that are not empty, in order; an empty text if all are.

        `sources` has the source of each memory that an alert is about, by the memory's id.
        """
        sections = (
            (_CLUSTER, self._category_lines(candidates, InjectionCategory.HIGH_RELEVANCE_CLUSTER)),
            (_SINGLE, self._category_lines(candidates, InjectionCategory.SINGLE_SPACE_MATCH)),
            (_SHIFT, self._lines_about_shifts(alerts, sources or {})),
            (_SESSION, self._category_lines(candidates, InjectionCategory.RECENT_SESSION)),
            (_TOPICS, [f"- {line}" for line in map(escape_entry, topics) if line]),
        )
        worded = ["\n".join((heading, *body)) for heading, body in sections if body]
        return "\n\n".join((_TITLE, *worded)) if worded else ""

    def format_brief_context(
        self, candidates: Sequence[InjectionCandidate], budget: int = BRIEF_BUDGET
    ) -> str:
        """The first few memories on one line, within the budget; empty if none fits."""
        return self.fit_brief(candidates, budget).text

    @staticmethod
    def format_divergence_alert(alert: Alert, source: Source = Source()) -> str:  # noqa: B008  (frozen)
        """One line about a shift of activity; `source` is that of the memory it is about."""
        plain = f'"{_escaped_summary(alert.summary, _ALERT_WORDS)}"'
        said = _quoted_summary(alert.summary, _ALERT_WORDS) if is_from_third_party(source) else plain
        where = f"Recent activity in {escape_entry(alert.space)}{_attribution_before_colon(source)}"
        return f"{where}: {said} ({_describe_similarity(alert)})"

    @staticmethod
    def summarize_memory(content: str, max_words: int = SUMMARY_MAX_WORDS) -> str:
        """The first words, up to the end of a sentence in their second half, if any; "..." marks a cut."""
        if max_words < 1:
            raise FormattingError(f"a summary has at least one word, not {max_words}")
        text = join_lines(remove_invisible(content))
        end = _find_end_of_first_words(text, max_words)
        if end == len(text):
            return text
        ends = [stop for _, stop in sentence_spans(text[: end + _CHARACTERS_AFTER]) if stop <= end]
        if ends and ends[-1] * 2 >= end:
            end = ends[-1]
        return text[:end].rstrip(" .,;:") + "..."

    def line(self, candidate: InjectionCandidate) -> str:
        """The line of one memory: its age, its badges, its author and its words."""
        when = describe_age(candidate.created_at, self.now)
        badges = TemporalEnrichmentProvider.format_badges(candidate.temporal_badges)
        marks = f" {badges}" if badges else ""
        after = _attribution_before_colon(candidate.source, candidate.author)
        if candidate.in_lines:
            place, *lines = candidate.content.split("\n")
            # The place of a repository's file already names whose words these are.
            return "\n".join((f"- {place}{'' if candidate.source.trust == 'repository' else after}", *lines))
        if candidate.category is InjectionCategory.SINGLE_SPACE_MATCH:
            text = _first_words_with_author(candidate, SUMMARY_MAX_WORDS)
            return f"- {text} ({when[0].lower()}{when[1:]}){marks}"
        last = candidate.category is InjectionCategory.RECENT_SESSION
        text = _first_words_and_history(candidate, SESSION_MAX_WORDS if last else SUMMARY_MAX_WORDS)
        return f"- **{when}**{marks}{after}: {text}"

    @classmethod
    def words_shown_in_line(cls, candidate: InjectionCandidate, *, brief: bool = False) -> str:
        """The words of one memory as its line, or a brief, tells them: the first ones, without marks."""
        if candidate.in_lines:
            return candidate.content
        last = candidate.category is InjectionCategory.RECENT_SESSION
        most = BRIEF_MAX_WORDS if brief else SESSION_MAX_WORDS if last else SUMMARY_MAX_WORDS
        return cls.summarize_memory(candidate.content, most).removesuffix("...")

    def with_cost(self, candidate: InjectionCandidate) -> InjectionCandidate:
        """A copy of the candidate with the tokens of its line."""
        return replace(candidate, token_count=self.tokenizer.count(self.line(candidate) + "\n"))

    def fit_budget(
        self,
        candidates: Sequence[InjectionCandidate],
        alerts: Sequence[Alert],
        budget: TokenBudget,
        *,
        sources: Mapping[str, Source] | None = None,
        topics: Sequence[str] = (),
    ) -> FittedSections:
        """The context within the budget: the candidates that fit, fewer if the whole text is too long."""
        warnings = [self._alert_candidate(alert, sources or {}) for alert in alerts]
        counted = [self.with_cost(candidate) for candidate in candidates]
        chosen = {id(portion) for portion in select_within_budget([*warnings, *counted], budget)}
        kept_alerts = [alert for alert, cost in zip(alerts, warnings, strict=True) if id(cost) in chosen]
        kept = [candidate for candidate in counted if id(candidate) in chosen]
        kept.sort(key=lambda candidate: candidate.category.priority)
        kept_topics, text = list(topics), ""
        over: list[InjectionCandidate] = []
        while kept_alerts or kept or kept_topics:
            over += [
                one for one, fits in zip(kept, _may_include_each_candidate(kept), strict=True) if not fits
            ]
            kept = _exclude(kept, over)
            text = self.format_full_context(kept, kept_alerts, sources=sources, topics=kept_topics)
            if self.tokenizer.count(wrap_in_frame(text)) <= budget.total:
                break
            (kept_topics or kept or kept_alerts).pop()
            text = ""
        left_out = tuple(_exclude(counted, [*kept, *over]))
        tokens = self.tokenizer.count(text)
        return FittedSections(text, tokens, tuple(kept), tuple(kept_alerts), left_out, tuple(over))

    def fit_brief(
        self, candidates: Sequence[InjectionCandidate], budget: int = BRIEF_BUDGET
    ) -> FittedSections:
        """One line of the first few memories that fit, within the budget and that of a brief context."""
        over: list[InjectionCandidate] = []
        while True:
            chosen = self._choose_for_brief(_exclude(candidates, over), budget)
            counted = [replace(one, token_count=self.tokenizer.count(self.brief(one))) for one in chosen]
            beyond = [
                one
                for one, fits in zip(chosen, _may_include_each_candidate(counted), strict=True)
                if not fits
            ]
            if not beyond:
                break
            over += beyond
        text = _BRIEF + ", ".join(map(self.brief, chosen)) if chosen else ""
        left_out = tuple(_exclude(candidates, [*chosen, *over]))
        return FittedSections(text, self.tokenizer.count(text), tuple(counted), (), left_out, tuple(over))

    def _choose_for_brief(
        self, candidates: Sequence[InjectionCandidate], budget: int
    ) -> list[InjectionCandidate]:
        """The first few candidates that fit together on one line; one that does not fit is skipped."""
        chosen: list[InjectionCandidate] = []
        text = ""
        for candidate in candidates:
            words = self.brief(candidate)
            longer = f"{text}, {words}" if text else _BRIEF + words
            fits = self.tokenizer.count(wrap_in_frame(longer)) <= min(budget, BRIEF_BUDGET)
            if fits and len(chosen) < BRIEF_MEMORIES:
                text = longer
                chosen.append(candidate)
        return chosen

    def brief(self, candidate: InjectionCandidate) -> str:
        """The author of one memory and its first words."""
        return _first_words_with_author(candidate, BRIEF_MAX_WORDS)

    def _category_lines(
        self, candidates: Sequence[InjectionCandidate], category: InjectionCategory
    ) -> list[str]:
        """The lines of the candidates of one category."""
        return [self.line(candidate) for candidate in candidates if candidate.category is category]

    def _lines_about_shifts(self, alerts: Sequence[Alert], sources: Mapping[str, Source]) -> list[str]:
        """The lines about shifts of activity; if there is a query, the first line is about it."""
        if not self.query.strip():
            return [self.format_divergence_alert(a, sources.get(a.memory_id, Source())) for a in alerts]
        about = _escaped_summary(self.query, _ALERT_QUERY_WORDS)
        first = f'Your current query about "{about}" has low similarity to recent work.'
        lines = [
            f"Recent context{_attribution_before_colon(source)}: {said} ({_describe_similarity(alert)})"
            for alert in alerts
            for source in [sources.get(alert.memory_id, Source())]
            for said in [
                (_quoted_summary if is_from_third_party(source) else _escaped_summary)(
                    alert.summary, _ALERT_WORDS
                )
            ]
        ]
        return [first, *lines] if lines else []

    def _alert_candidate(self, alert: Alert, sources: Mapping[str, Source]) -> InjectionCandidate:
        """An alert as a candidate; its tokens are those of a section with this alert alone."""
        section = "\n".join((_SHIFT, *self._lines_about_shifts([alert], sources), ""))
        return InjectionCandidate(
            memory_id=alert.memory_id,
            content=alert.summary,
            created_at=self.now,
            relevance_score=1 - alert.similarity,
            category=InjectionCategory.DIVERGENCE_ALERT,
            token_count=self.tokenizer.count(section),
        )


def _describe_similarity(alert: Alert) -> str:
    """The similarity of a query to what it left; one that would read 0.00 is said to be small."""
    if alert.similarity < _LEAST_SIMILARITY:
        return f"similarity: below {_LEAST_SIMILARITY:.2f}"
    return f"similarity: {alert.similarity:.2f}"


def describe_age(created_at: datetime, now: datetime) -> str:
    """How long ago a time is, in words: "2 hours ago", "Yesterday", "1 week ago"."""
    if created_at.tzinfo is None or now.tzinfo is None:
        raise FormattingError(f"{created_at} or {now} has no time zone, so an age cannot be told; add one")
    made = created_at.astimezone(now.tzinfo)
    seconds = (now - made).total_seconds()
    days = (now.date() - made.date()).days
    if seconds < -_MINUTE:
        return f"{made:%Y-%m-%d}"  # written by a clock that runs ahead: an age would be wrong
    minutes, hours = int(seconds / _MINUTE + 0.5), int(seconds / _HOUR + 0.5)
    if minutes < 1:
        return "Just now"
    if minutes < _MINUTE:
        return f"{number_with_noun(minutes, 'minute')} ago"
    if days < 1 or hours < _EARLIER_TODAY:
        return f"{number_with_noun(hours, 'hour')} ago"
    return "Yesterday" if days == 1 else _describe_days_ago(days)


def _describe_days_ago(days: int) -> str:
    """An age of at least two days in the largest unit that fits: days, weeks, months or years."""
    for unit, length in (("year", _YEAR), ("month", _MONTH), ("week", _WEEK)):
        if days >= length:
            return f"{number_with_noun(days // length, unit)} ago"
    return f"{number_with_noun(days, 'day')} ago"


def _may_include_each_candidate(candidates: Sequence[InjectionCandidate]) -> list[bool]:
    """For each candidate, whether it may be included without foreign words exceeding their share."""
    return may_include_each_portion(
        [Portion(one.token_count, one.source, one.is_exempt) for one in candidates]
    )


def _exclude(
    candidates: Sequence[InjectionCandidate], others: Sequence[InjectionCandidate]
) -> list[InjectionCandidate]:
    """The candidates without those in `others`, compared by identity."""
    gone = {id(one) for one in others}
    return [candidate for candidate in candidates if id(candidate) not in gone]


def _attribution_before_colon(source: Source, author: str = "") -> str:
    """The author, to follow an age or a name and precede a colon; empty for the user's own words."""
    words = author or source_attribution(source)
    if not words:
        return ""
    return f", {words}" if is_from_third_party(source) else f" ({words})"


def _first_words_with_author(candidate: InjectionCandidate, max_words: int) -> str:
    """The first words of a candidate, after the name of their author."""
    author, text = (
        candidate.author or source_attribution(candidate.source),
        _first_words_and_history(candidate, max_words),
    )
    if _is_quoted(candidate):
        return f"{author}: {text}"
    is_place = candidate.in_lines and candidate.source.trust == "repository"
    return f"({author}) {text}" if author and not is_place else text


def _first_words_and_history(candidate: InjectionCandidate, max_words: int) -> str:
    """The first words of a candidate, quoted if they are foreign, then what they replaced."""
    text = (_quoted_summary if _is_quoted(candidate) else _escaped_summary)(candidate.content, max_words)
    return f"{text} {escape_entry(candidate.history)}" if candidate.history else text


def _is_quoted(candidate: InjectionCandidate) -> bool:
    return is_from_third_party(candidate.source) and not candidate.in_lines


def _escaped_summary(content: str, max_words: int) -> str:
    return escape_entry(ContextFormatter.summarize_memory(content, max_words))


def _quoted_summary(content: str, max_words: int) -> str:
    return quote_entry(ContextFormatter.summarize_memory(content, max_words))


def _find_end_of_first_words(text: str, max_words: int) -> int:
    """The place where the first `max_words` words of a one-line text end."""
    start, left = 0, max_words
    while True:
        end = text.find(" ", start)
        end = len(text) if end < 0 else end
        worth = 1 if end - start <= _LONG_WORD else -(-(end - start) // _PIECE)
        if worth > left:
            return start + left * _PIECE
        left -= worth
        if end == len(text) or not left:
            return end
        start = end + 1


# Badges ---------------------------------------------------------------------------------------------------


SAME_TIME = "Same time of day"
YESTERDAY = "Continuation from yesterday"
JUST_NOW = "Just discussed"
RECENT = "Recent activity"

_HOURS_NEAR = 2


class DatedMemory(Protocol):
    """A memory, of which only the time matters here."""

    @property
    def created_at(self) -> datetime:
        """When it was made."""


class TemporalEnrichmentProvider:
    """Gives badges to a memory by its time and the time of the question."""

    def generate_badges(self, memory: DatedMemory, query_time: datetime) -> list[str]:
        """The badges of a memory; a time in the future counts like one as far in the past."""
        made = memory.created_at.astimezone(query_time.tzinfo)
        age = abs(query_time - made)
        badges = []
        if _hours_apart(made.hour, query_time.hour) <= _HOURS_NEAR:
            badges.append(SAME_TIME)
        if made.date() == query_time.date() - timedelta(days=1):
            badges.append(YESTERDAY)
        if age < timedelta(minutes=30):
            badges.append(JUST_NOW)
        elif age < timedelta(hours=2):
            badges.append(RECENT)
        return badges

    @staticmethod
    def format_badges(badges: Sequence[str]) -> str:
        """The badges in brackets; empty if there are none."""
        return f"[{', '.join(badges)}]" if badges else ""

    def should_include_temporal(self, memory: DatedMemory, query_time: datetime) -> bool:
        """Whether a memory has any badge."""
        return bool(self.generate_badges(memory, query_time))

    def badges_within(
        self, memories: Sequence[DatedMemory], query_time: datetime, budget: int, tokenizer: Tokenizer
    ) -> list[tuple[str, ...]]:
        """The badges to show for each memory, in order, until the token budget is spent."""
        given: list[tuple[str, ...]] = []
        for memory in memories:
            badges = _drop_same_time_badge(self.generate_badges(memory, query_time))
            cost = tokenizer.count(" " + self.format_badges(badges)) if badges else 0
            given.append(badges if cost <= budget else ())
            budget -= cost if cost <= budget else 0
        return given


def _drop_same_time_badge(badges: list[str]) -> tuple[str, ...]:
    """The badges without "same time of day" where another says that the memory is recent."""
    recent = JUST_NOW in badges or RECENT in badges
    return tuple(badge for badge in badges if not (recent and badge == SAME_TIME))


def _hours_apart(one: int, other: int) -> int:
    """The difference of two hours of the day, the short way round the clock."""
    apart = abs(one - other)
    return min(apart, 24 - apart)

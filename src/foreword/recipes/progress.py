"""A stage for prompts about the course of the work: what is left, where it stopped, what was decided.

Such prompts share no words with their answers, so no space finds these: they are chosen by time and by what
they say. What is told this way stands before what the search found, at most five statements, and the receipt
notes what the prompt was taken to ask. A list of what is left is told whole: what the session was shown when
it began is told again, what was said in the session itself is not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from foreword.knowledge.command_results import is_tool_output
from foreword.knowledge.decisions import list_decisions
from foreword.knowledge.open_ends import list_open_ends
from foreword.knowledge.progress_cues import is_done, task_words
from foreword.knowledge.progress_questions import read_progress_question
from foreword.knowledge.settled import is_decision
from foreword.pipeline import MAX_TOLD, tell_successors
from foreword.text.sentences import split_sentences
from foreword.text.statements import only_asks, split_statements
from foreword.types import DroppedResult, Filters, Note, SearchResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from foreword.knowledge.decisions import Decision
    from foreword.knowledge.open_ends import OpenEnd
    from foreword.knowledge.progress_questions import ProgressQuestion
    from foreword.pipeline import SearchDraft
    from foreword.types import Item

_OPEN_CHANCE, _PAST_CHANCE, _LAST_CHANCE = 0.6, 0.5, 0.4
"""How probably an open end, a statement of the time asked about, and a session's last statements help."""

_MAX_ITEMS = 500
_MAX_TURNS = 200
_MAX_LAST_STATEMENTS = 2
_MAX_USER_TURNS = 2
"""Who goes on with something after more turns than this means what the session itself was about."""

_MIN_WORDS = 3
"""A statement with fewer words of its own is chatter."""

_MIN_TOPIC_SHARE = 0.5
_MAX_QUESTION_CHARACTERS = 160
_KINDS = ("turn", "memory", "commit")


def tell_progress(draft: SearchDraft) -> SearchDraft:
    """Add what a prompt about the course of the work asks for, before what was found."""
    question = read_progress_question(draft.query.text, draft.query.now)
    if question is None:
        return draft
    answers = _ANSWERS[question.asked](draft, question)
    results = list({result.memory.id: result for result in reversed(answers)}.values())[::-1]
    said_here = {result.memory.id for result in results if _is_said_here(result.memory, draft)}
    fresh = [result for result in results if result.memory.id not in said_here][:MAX_TOLD]
    known = [DroppedResult(r, "already in context") for r in results if r.memory.id in said_here]
    note = Note(
        "progress", f"the prompt asks {_MEANINGS[question.asked]}: {len(fresh)} of {len(results)} told"
    )
    return _put_first(draft, fresh, known).with_notes(note)


def _put_first(
    draft: SearchDraft, fresh: Sequence[SearchResult], known: Sequence[DroppedResult]
) -> SearchDraft:
    """The draft with these results before the others, and as many as were asked for."""
    ids = {result.memory.id for result in fresh}
    found = [result for result in draft.results if result.memory.id not in ids]
    replaced = {item.id for result in fresh for item in result.history}
    asking = [r for r in found if _asks_for_progress(r.memory)]
    others = [r for r in found if r not in asking and r.memory.id not in replaced]
    left_out = [
        *(DroppedResult(r, "no answer", "it asks the same") for r in asking),
        *(DroppedResult(r, "superseded", "told as history") for r in found if r.memory.id in replaced),
    ]
    room = max(0, draft.query.limit - len(fresh))
    over = [DroppedResult(r, "over limit", f"limit {draft.query.limit}") for r in others[room:]]
    earlier = tuple(one for one in draft.dropped if one.result.memory.id not in ids)
    return replace(draft, dropped=earlier).keep([*fresh, *others[:room]], [*known, *left_out, *over])


def _asks_for_progress(item: Item) -> bool:
    """Whether a turn itself only asks for the course of the work: such a question answers none."""
    if item.kind != "turn" or len(item.text) > _MAX_QUESTION_CHARACTERS:
        return False
    return read_progress_question(item.text, item.created_at) is not None


def _is_said_here(item: Item, draft: SearchDraft) -> bool:
    return item.kind == "turn" and draft.session is not None and item.session == draft.session


# What is left ---------------------------------------------------------------------------------------------


def _answer_left(draft: SearchDraft, question: ProgressQuestion) -> list[SearchResult]:
    """The open ends; those about the topic or of the time, where one is named."""
    ends = list_open_ends(draft.kit.store, draft.query.workspace)
    if question.span is not None:
        ends = [end for end in ends if question.span.contains(end.item.created_at)] or ends
    if question.topic:
        sessions = {item.session for item in _mentions(draft, question.topic) if item.session}
        about = [end for end in ends if end.words & question.topic]
        ends = about or [end for end in ends if end.item.session in sessions]
    return list(map(_open_result, ends))


def _open_result(end: OpenEnd) -> SearchResult:
    excerpt = "" if end.text == end.item.text.strip() else end.text
    return SearchResult(end.item, _OPEN_CHANCE, scores={"progress": _OPEN_CHANCE}, excerpt=excerpt)


# Where the work stopped -----------------------------------------------------------------------------------


def _answer_where(draft: SearchDraft, question: ProgressQuestion) -> list[SearchResult]:
    """The open ends and the last statements of the session that is gone on with; none if it is this one."""
    said_here = _session_items(draft, draft.session) if draft.session else []
    if sum(item.source.trust == "user" for item in said_here) > _MAX_USER_TURNS:
        return []
    candidates = (
        _mentions(draft, question.topic) if question.topic else _recent_items(draft, Filters(kinds=_KINDS))
    )
    others = [item for item in candidates if item.session and item.session != draft.session]
    sessions = [item.session for item in _statements(others)]
    if not sessions:
        return []
    ends = [
        end
        for end in list_open_ends(draft.kit.store, draft.query.workspace)
        if end.item.session == sessions[0]
    ]
    last = _statements(_session_items(draft, sessions[0]))
    told = [_past_result(item, question, _LAST_CHANCE) for item in last[:_MAX_LAST_STATEMENTS]]
    decided = [one for one in _decisions(draft) if one.item.session == sessions[0]][:_MAX_LAST_STATEMENTS]
    return [*map(_open_result, ends), *map(_decision_result, decided), *_with_successors(draft, told)]


def _mentions(draft: SearchDraft, topic: frozenset[str]) -> list[Item]:
    """The latest statements that have most words of a topic, newest first."""
    recent = _recent_items(draft, Filters(kinds=_KINDS))
    return [item for item in recent if len(task_words(item.text) & topic) >= _MIN_TOPIC_SHARE * len(topic)]


def _session_items(draft: SearchDraft, session: str | None) -> list[Item]:
    filters = Filters(kinds=_KINDS, session=session)
    return list(draft.kit.store.recent(draft.query.workspace, filters, _MAX_TURNS))


# What was decided -----------------------------------------------------------------------------------------


def _answer_decided(draft: SearchDraft, question: ProgressQuestion) -> list[SearchResult]:
    """What was decided and holds: in a time, about a topic, or last.

    Without a time, a topic that no decision is about leaves the prompt to the search.
    """
    found, span = _decisions(draft), question.span
    if span is not None:
        found = [one for one in found if any(span.contains(at.created_at) for at in (one.item, *one.before))]
    if question.topic:
        shared = {one.item.id: len(one.words & question.topic) for one in found}
        most = max(shared.values(), default=0)
        about = [one for one in found if shared[one.item.id] == most > 0]
        found = about if about or span is None else found
    return list(map(_decision_result, found))


def _decisions(draft: SearchDraft) -> list[Decision]:
    return list_decisions(draft.kit.store, draft.query.workspace)


def _decision_result(one: Decision) -> SearchResult:
    excerpt = "" if one.text == one.item.text.strip() else one.text
    scores = {"progress": _PAST_CHANCE}
    return SearchResult(one.item, _PAST_CHANCE, scores=scores, excerpt=excerpt, history=one.before)


# What was done --------------------------------------------------------------------------------------------


def _answer_did(draft: SearchDraft, question: ProgressQuestion) -> list[SearchResult]:
    """What was done or decided in a time; what is about the topic, where one is named."""
    span = question.span
    if span is None:
        return []
    said = _statements(_recent_items(draft, Filters(kinds=_KINDS, since=span.since, until=span.until)))
    fits = [item for item in said if span.contains(item.created_at) and _tells_work(item)]
    about = [item for item in fits if task_words(item.text) & question.topic]
    told = [_past_result(item, question, _PAST_CHANCE) for item in about or fits]
    return _with_successors(draft, told[:MAX_TOLD])


def _tells_work(item: Item) -> bool:
    """Whether an item tells a decision or what was done."""
    by_agent = item.source.trust != "user"
    sentences = split_sentences(item.text)
    if item.kind == "commit" or item.type == "decision" or any(map(is_done, sentences)):
        return True
    return any(is_decision(sentence, by_agent=by_agent) for sentence in sentences)


def _past_result(item: Item, question: ProgressQuestion, chance: float) -> SearchResult:
    """An item as an answer; of a long one, the statement that has most of what is asked for."""
    statements = split_statements(item.text)
    best = max(statements, key=lambda one: (is_decision(one), len(task_words(one) & question.topic)))
    excerpt = best if len(statements) > 1 else ""
    return SearchResult(item, chance, scores={"progress": chance}, excerpt=excerpt)


def _statements(items: Iterable[Item]) -> list[Item]:
    """Those that somebody stated and that stand: no questions, no chatter, nothing that a tool printed."""
    return [
        item
        for item in items
        if not is_tool_output(item) and not item.superseded_by and not only_asks(item.text)
        if not _asks_for_progress(item)
        if len(task_words(item.text)) >= _MIN_WORDS
    ]


def _with_successors(draft: SearchDraft, results: Sequence[SearchResult]) -> list[SearchResult]:
    """The results, each in the words of what replaced it since."""
    return list(tell_successors(replace(draft, results=tuple(results))).results) if results else []


def _recent_items(draft: SearchDraft, filters: Filters) -> list[Item]:
    return list(draft.kit.store.recent(draft.query.workspace, filters, _MAX_ITEMS))


_ANSWERS: dict[str, Callable[[SearchDraft, ProgressQuestion], list[SearchResult]]] = {
    "left": _answer_left,
    "where": _answer_where,
    "did": _answer_did,
    "decided": _answer_decided,
}
_MEANINGS = {
    "left": "what is left",
    "where": "where the work stopped",
    "did": "what was done at a time",
    "decided": "what was decided",
}

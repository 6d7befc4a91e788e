"""A stage for prompts about the course of the work: what is left, where it stopped, what was decided.

Such prompts share no words with their answers, so no space finds these: they are chosen by time and by what
they say. At most five such answers are told, and the receipt notes what the prompt was taken to ask. What the
search found stands after them only if the prompt names a subject or a time, since it is found by the words of
the prompt; beside what is left, only what is about the subject and was not done. What the session was shown
when it began is repeated, so that a list of open ends is complete; what was said in the session is not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from foreword.knowledge.command_results import is_tool_output
from foreword.knowledge.decisions import list_decisions
from foreword.knowledge.open_ends import list_open_ends, read_open_end
from foreword.knowledge.progress_cues import says_something_is_done, task_words
from foreword.knowledge.progress_questions import read_progress_question
from foreword.knowledge.settled import is_decision
from foreword.knowledge.speech_acts import asks_for_action
from foreword.pipeline import MAX_TOLD, tell_successors
from foreword.text.sentences import split_sentences
from foreword.text.statements import is_bare_question, split_statements
from foreword.types import DroppedResult, Filters, Note, SearchResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from foreword.knowledge.decisions import Decision
    from foreword.knowledge.open_ends import OpenEnd
    from foreword.knowledge.progress_questions import ProgressQuestion
    from foreword.pipeline import SearchDraft
    from foreword.types import Item

_OPEN_CHANCE, _PAST_CHANCE, _LAST_CHANCE = 0.6, 0.5, 0.4
"""The scores given to an open end, to a statement of the time asked about, and to a session's last ones."""

_MAX_ITEMS = 500
_MAX_TURNS = 200
_MAX_LAST_STATEMENTS = 2
_MAX_USER_TURNS = 2
"""After more user turns than this, "go on" means the present session and not the last one."""

_MIN_WORDS = 3
"""A statement with fewer content words is chatter."""

_MIN_WORDS_OF_MORE = 5
"""A prompt with at least this many content words beside its question asks for more than the list."""

_MIN_TOPIC_SHARE = 0.5
_MAX_QUESTION_CHARACTERS = 160
_KINDS = ("turn", "memory", "commit")


def tell_progress(draft: SearchDraft) -> SearchDraft:
    """If the prompt asks about the course of the work, put the answers before what was found."""
    question = read_progress_question(draft.query.text, draft.query.now)
    if question is None:
        return draft
    answers = _ANSWERS[question.asked](draft, question)
    results = list({result.memory.id: result for result in reversed(answers)}.values())[::-1]
    said_here = {result.memory.id for result in results if _is_of_this_session(result.memory, draft)}
    fresh = [result for result in results if result.memory.id not in said_here][:MAX_TOLD]
    known = [DroppedResult(r, "already in context") for r in results if r.memory.id in said_here]
    note = Note(
        "progress", f"the prompt asks {_MEANINGS[question.asked]}: {len(fresh)} of {len(results)} told"
    )
    fitting = _drop_what_is_not_asked_for(draft, question)
    return _put_answers_before_results(fitting, fresh, known).with_notes(note)


def _drop_what_is_not_asked_for(draft: SearchDraft, question: ProgressQuestion) -> SearchDraft:
    """The draft without those results of the search, and that code, which the question does not ask for."""
    found = (*draft.results, *draft.aside)
    open_ids = _find_ids_left_open(draft) if question.asked == "left" and question.subject else frozenset()
    fitting = {r.memory.id for r in found if _may_accompany_answers(r, question)} | open_ids
    detail = f"the prompt asks {_MEANINGS[question.asked]}"
    left_out = [DroppedResult(r, "no answer", detail) for r in found if r.memory.id not in fitting]
    code = tuple(result for result in draft.aside if result.memory.id in fitting)
    kept = [result for result in draft.results if result.memory.id in fitting]
    return replace(draft, aside=code).keep(kept, left_out)


def _find_ids_left_open(draft: SearchDraft) -> frozenset[str]:
    """The ids of the items that leave something open: the search may have found one by its meaning."""
    return frozenset(end.item.id for end in list_open_ends(draft.kit.store, draft.query.workspace))


def _may_accompany_answers(result: SearchResult, question: ProgressQuestion) -> bool:
    """Whether what was found may be told beside the answers: it is of the subject or the time asked for."""
    item = result.memory
    if len(question.subject - question.topic) >= _MIN_WORDS_OF_MORE:
        return True
    if question.asked == "left":
        return _is_about_subject(result, question) and not _tells_of_finished_work(item)
    return bool(question.subject) or (question.span is not None and question.span.contains(item.created_at))


def _is_about_subject(result: SearchResult, question: ProgressQuestion) -> bool:
    """Whether a result is about the subject asked for: by the reader, which is sure, or by a shared word.

    Without the reader, what stands beside a match in its session can pass the floor.
    """
    if not question.subject:
        return False
    return "read" in result.scores or bool(task_words(result.memory.text) & question.subject)


def _tells_of_finished_work(item: Item) -> bool:
    """Whether an item tells of work that is over: a commit, a report, or a request that is not listed."""
    if item.kind not in ("turn", "memory"):
        return item.kind == "commit"
    if read_open_end(item) is not None:
        return False  # "two things left: …, and customers who cannot be deleted yet"
    return any(says_something_is_done(one) or asks_for_action(one) for one in split_sentences(item.text))


def _put_answers_before_results(
    draft: SearchDraft, fresh: Sequence[SearchResult], known: Sequence[DroppedResult]
) -> SearchDraft:
    """The draft with the answers about the work first, then the search's results, up to the query's limit.

    `known` are answers that were said in this session.
    """
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
    """Whether a turn is itself a question about the course of the work, and so no answer to one."""
    if item.kind != "turn" or len(item.text) > _MAX_QUESTION_CHARACTERS:
        return False
    return read_progress_question(item.text, item.created_at) is not None


def _is_of_this_session(item: Item, draft: SearchDraft) -> bool:
    return item.kind == "turn" and draft.session is not None and item.session == draft.session


# What is left ---------------------------------------------------------------------------------------------


def _answer_what_is_left(draft: SearchDraft, question: ProgressQuestion) -> list[SearchResult]:
    """The open ends, or only those of the topic or the time that the question names."""
    ends = list_open_ends(draft.kit.store, draft.query.workspace)
    if question.span is not None:
        ends = [end for end in ends if question.span.contains(end.item.created_at)] or ends
    if question.topic:
        sessions = {item.session for item in _items_about_topic(draft, question.topic) if item.session}
        about = [end for end in ends if end.words & question.topic]
        ends = about or [end for end in ends if end.item.session in sessions]
    return list(map(_result_from_open_end, ends))


def _result_from_open_end(end: OpenEnd) -> SearchResult:
    excerpt = "" if end.text == end.item.text.strip() else end.text
    return SearchResult(end.item, _OPEN_CHANCE, scores={"progress": _OPEN_CHANCE}, excerpt=excerpt)


# Where the work stopped -----------------------------------------------------------------------------------


def _answer_where_work_stopped(draft: SearchDraft, question: ProgressQuestion) -> list[SearchResult]:
    """The open ends and last statements of the session to be continued; none if that is the present one."""
    said_here = _session_items(draft, draft.session) if draft.session else []
    if sum(item.source.trust == "user" for item in said_here) > _MAX_USER_TURNS:
        return []
    candidates = (
        _items_about_topic(draft, question.topic)
        if question.topic
        else _recent_items(draft, Filters(kinds=_KINDS))
    )
    others = [item for item in candidates if item.session and item.session != draft.session]
    sessions = [item.session for item in _statements_that_still_hold(others)]
    if not sessions:
        return []
    ends = [
        end
        for end in list_open_ends(draft.kit.store, draft.query.workspace)
        if end.item.session == sessions[0]
    ]
    last = _statements_that_still_hold(_session_items(draft, sessions[0]))
    results = [
        _result_for_progress_question(item, question, _LAST_CHANCE) for item in last[:_MAX_LAST_STATEMENTS]
    ]
    decided = [one for one in _list_decisions(draft) if one.item.session == sessions[0]][
        :_MAX_LAST_STATEMENTS
    ]
    return [
        *map(_result_from_open_end, ends),
        *map(_result_from_decision, decided),
        *_replace_by_successors(draft, results),
    ]


def _items_about_topic(draft: SearchDraft, topic: frozenset[str]) -> list[Item]:
    """The latest items that have at least half of a topic's words, newest first."""
    recent = _recent_items(draft, Filters(kinds=_KINDS))
    return [item for item in recent if len(task_words(item.text) & topic) >= _MIN_TOPIC_SHARE * len(topic)]


def _session_items(draft: SearchDraft, session: str | None) -> list[Item]:
    filters = Filters(kinds=_KINDS, session=session)
    return list(draft.kit.store.recent(draft.query.workspace, filters, _MAX_TURNS))


# What was decided -----------------------------------------------------------------------------------------


def _answer_what_was_decided(draft: SearchDraft, question: ProgressQuestion) -> list[SearchResult]:
    """The decisions that hold: those of the time or the topic that the question names, or else the last.

    None if the question names only a topic, and no decision is about it.
    """
    found, span = _list_decisions(draft), question.span
    if span is not None:
        found = [one for one in found if any(span.contains(at.created_at) for at in (one.item, *one.before))]
    if question.topic:
        shared = {one.item.id: len(one.words & question.topic) for one in found}
        most = max(shared.values(), default=0)
        about = [one for one in found if shared[one.item.id] == most > 0]
        found = about if about or span is None else found
    return list(map(_result_from_decision, found))


def _list_decisions(draft: SearchDraft) -> list[Decision]:
    return list_decisions(draft.kit.store, draft.query.workspace)


def _result_from_decision(one: Decision) -> SearchResult:
    excerpt = "" if one.text == one.item.text.strip() else one.text
    scores = {"progress": _PAST_CHANCE}
    return SearchResult(one.item, _PAST_CHANCE, scores=scores, excerpt=excerpt, history=one.before)


# What was done --------------------------------------------------------------------------------------------


def _answer_what_was_done(draft: SearchDraft, question: ProgressQuestion) -> list[SearchResult]:
    """What was done or decided in the time that the question names; about its topic, if anything is."""
    span = question.span
    if span is None:
        return []
    statements = _statements_that_still_hold(
        _recent_items(draft, Filters(kinds=_KINDS, since=span.since, until=span.until))
    )
    fits = [item for item in statements if span.contains(item.created_at) and _reports_work(item)]
    about = [item for item in fits if task_words(item.text) & question.topic]
    results = [_result_for_progress_question(item, question, _PAST_CHANCE) for item in about or fits]
    return _replace_by_successors(draft, results[:MAX_TOLD])


def _reports_work(item: Item) -> bool:
    """Whether an item states a decision or reports that something was done."""
    by_agent = item.source.trust != "user"
    sentences = split_sentences(item.text)
    if item.kind == "commit" or item.type == "decision" or any(map(says_something_is_done, sentences)):
        return True
    return any(is_decision(sentence, by_agent=by_agent) for sentence in sentences)


def _result_for_progress_question(item: Item, question: ProgressQuestion, chance: float) -> SearchResult:
    """An item as a search result; of several statements, the excerpt is the one nearest to the question."""
    statements = split_statements(item.text)
    best = max(statements, key=lambda one: (is_decision(one), len(task_words(one) & question.topic)))
    excerpt = best if len(statements) > 1 else ""
    return SearchResult(item, chance, scores={"progress": chance}, excerpt=excerpt)


def _statements_that_still_hold(items: Iterable[Item]) -> list[Item]:
    """The items that are statements and hold: no questions, chatter, tool output or superseded items."""
    return [
        item
        for item in items
        if not is_tool_output(item) and not item.superseded_by and not is_bare_question(item.text)
        if not _asks_for_progress(item)
        if len(task_words(item.text)) >= _MIN_WORDS
    ]


def _replace_by_successors(draft: SearchDraft, results: Sequence[SearchResult]) -> list[SearchResult]:
    """The results, each replaced by the statement that has replaced it since, if any."""
    return list(tell_successors(replace(draft, results=tuple(results))).results) if results else []


def _recent_items(draft: SearchDraft, filters: Filters) -> list[Item]:
    return list(draft.kit.store.recent(draft.query.workspace, filters, _MAX_ITEMS))


_ANSWERS: dict[str, Callable[[SearchDraft, ProgressQuestion], list[SearchResult]]] = {
    "left": _answer_what_is_left,
    "where": _answer_where_work_stopped,
    "did": _answer_what_was_done,
    "decided": _answer_what_was_decided,
}
_MEANINGS = {
    "left": "what is left",
    "where": "where the work stopped",
    "did": "what was done at a time",
    "decided": "what was decided",
}

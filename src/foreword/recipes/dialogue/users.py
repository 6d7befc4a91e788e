"""Finds what a user said about themselves in other sessions of the workspace, as far as it matters now.

Only turns of exactly this user are read. How they want to be answered, and what must not be missed (their
name, allergies), is given whatever the question; other facts only if they are relevant to it, by the cues of
their kind or by a search. What the user said later replaces what they said before: by the kinds of facts of
which there is one at a time, by the relations between statements (`recall/history.py`), and by what they
asked to be changed and the assistant agreed to (`knowledge/asked_changes.py`).
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from foreword import pipeline
from foreword.capture.redact import redact
from foreword.compose.user_context import UserLine
from foreword.errors import StorageError
from foreword.knowledge.asked_changes import (
    apply_requested_change,
    asks_for_change,
    find_agreeing_sentence,
    is_yes,
)
from foreword.knowledge.corrections import MAX_TURNS_BACK, find_corrected
from foreword.knowledge.user_facts import (
    StandingFact,
    facts_that_hold,
    find_facts_with_verb_of_question,
    read_user_facts,
)
from foreword.knowledge.value_corrections import is_correction
from foreword.options import SearchOptions
from foreword.recall.history import MAX_SUCCESSORS, find_successors
from foreword.recipes.dialogue.item_feed import ItemFeed
from foreword.recipes.dialogue.shared import DialogueCache
from foreword.recipes.dialogue.turns import speaking_user
from foreword.store.base import Scan
from foreword.text.dates import write_out_day
from foreword.text.question import shorten_with_question_first
from foreword.text.words import content_words
from foreword.types import Filters, SearchResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from foreword.compose.user_context import UserSection
    from foreword.engine.base import Engine
    from foreword.knowledge.user_facts import UserFact
    from foreword.pipeline import SearchDraft, Stage
    from foreword.types import Item, Note

_MAX_FOUND, _MAX_RELEVANT = 20, 5
"""How many earlier turns of the user a question finds, and at most how many of them are used."""

_MAX_CHANGES = 20
"""How many of the user's latest requests for a change are followed to their answers."""

_MAX_CONVERSATIONS = 300
_MAX_TURNS_TO_ANSWER = 6
_MAX_SUCCESSOR_CHARACTERS = 300
_DIGEST_CHARACTERS = 16

_FIND_TURNS: tuple[Stage[Any], ...] = (
    *(pipeline.retrieve, pipeline.fuse, pipeline.refresh),
    *(pipeline.drop_questions_and_summaries, pipeline.limit, pipeline.drop_superseded),
)
"""The stages that find the user's own turns that may be relevant to a question. They are not read: the reader
looks for answers, and "I drive a Skoda" does not answer which tyres fit."""


@dataclass(frozen=True, slots=True)
class UserMemories:
    """What a user said about themselves that is worth adding to a prompt, the most needed first."""

    lines: tuple[UserLine, ...] = ()
    notes: tuple[Note, ...] = ()


def storable_user(user: str) -> str:
    """A user's name as it may be stored: unchanged, or a digest of it if it looks like a secret."""
    if redact(user) == user:
        return user
    return f"user {hashlib.sha256(user.encode()).hexdigest()[:_DIGEST_CHARACTERS]}"


_MAX_USERS = 256
_memories: DialogueCache[UserMemory] = DialogueCache(_MAX_USERS)


def get_user_memory(engine: Engine, workspace: str, user: str) -> UserMemory:
    """What a user of a workspace said, cached for all sessions of an engine."""
    return _memories.get_or_make(engine, (workspace, user), lambda: UserMemory(engine, workspace, user))


class UserMemory:
    """What one user of a workspace said about themselves. Safe to use from many threads."""

    def __init__(self, engine: Engine, workspace: str, user: str) -> None:
        self._engine = engine
        self._workspace = workspace
        self._user = user
        self._filters = Filters(kinds=("turn",), source=user)
        self._feed = ItemFeed(
            engine.store, workspace, self._filters, self._add_item, self._reset_state_from_user_turns
        )
        self._lock = threading.Lock()
        self._reset_state_from_user_turns()

    def _reset_state_from_user_turns(self) -> None:
        """Reset everything that was read from the user's turns, before they are read from the first again."""
        self._seen_ids: set[str] = set()
        self._conversations: dict[str, None] = {}
        self._items: dict[str, Item] = {}
        self._facts: list[UserFact] = []
        self._just_said: dict[str | None, UserFact] = {}
        self._change_requests: list[Item] = []

    def _add_item(self, item: Item) -> bool:
        """Add the facts of a turn, or append it to the fact that it corrects; False if it is known."""
        if item.id in self._seen_ids:
            return False
        self._seen_ids.add(item.id)
        is_own = self._is_said_by_user(item)
        if is_own and item.conversation:
            self._conversations.pop(item.conversation, None)
            self._conversations[item.conversation] = None  # the latest comes last
        facts = read_user_facts(item) if is_own else []
        if is_own and asks_for_change(item.text):
            self._change_requests = [*self._change_requests, item][-_MAX_CHANGES:]
        before = self._just_said.pop(item.conversation, None)
        if facts:
            self._items[item.id] = item
            self._facts += facts
            self._just_said[item.conversation] = facts[-1]
        elif before is not None and is_correction(item.text):
            fact = self._find_corrected_fact(item) or before
            corrected = replace(fact, text=f"{fact.text} {item.text.strip()}")
            self._facts[self._facts.index(fact)] = self._just_said[item.conversation] = corrected
        return True

    def _find_corrected_fact(self, item: Item) -> UserFact | None:
        """The fact, among the last ones of the conversation, whose value a correction changes."""
        recent = [fact for fact in reversed(self._facts) if fact.conversation == item.conversation]
        by_item = {fact.item_id: fact for fact in reversed(recent[:MAX_TURNS_BACK])}
        found = find_corrected(item, [self._items[name] for name in reversed(by_item)])
        return by_item[found[0].item.id] if found else None

    def other_conversations(self, session_id: str) -> tuple[str, ...]:
        """The conversations in which the user spoke, but for this one: the latest, at most some hundreds."""
        with self._lock:
            self._feed.catch_up()
            others = [name for name in self._conversations if name != session_id]
        return tuple(others[-_MAX_CONVERSATIONS:])

    def recall(self, query: str, session_id: str, max_tokens: int) -> UserMemories:
        """The lines on the user for a question: rules, facts not to be missed, and relevant facts."""
        with self._lock:
            self._feed.catch_up()
            items = self._items | {item.id: item for item in self._change_requests}
            facts, requests = tuple(self._facts), tuple(self._change_requests)
        facts = self._apply_agreed_changes(facts, requests)
        held = facts_that_hold(facts)
        if not held:
            return UserMemories()
        standing = [one for one in held if one.fact.is_always_shown]
        found, notes = self._search_facts_for_question(query, held, max_tokens)
        known = {one.fact for one in standing}
        elsewhere = [one for one in found if one.fact.conversation != session_id]
        chosen = [*standing, *(one for one in elsewhere if one.fact not in known)]
        current = self._follow_replacements(chosen, items, Counter(fact.item_id for fact in facts))
        lines: dict[tuple[str, str], UserLine] = {}
        for line in map(_make_user_line, current):
            lines.setdefault((line.turn_id, line.text), line)
        return UserMemories(tuple(sorted(lines.values(), key=lambda line: line.section != "wish")), notes)

    def _apply_agreed_changes(
        self, facts: tuple[UserFact, ...], requests: Sequence[Item]
    ) -> tuple[UserFact, ...]:
        """The facts, and those that became of them by requests that the assistant agreed to.

        The answers are read each time, because they are not the user's and may be forgotten meanwhile.
        """
        for request in requests:
            answer = self._find_what_assistant_agreed_with(request)
            changed = apply_requested_change(request, answer, facts) if answer else None
            if changed is not None:
                facts = (*(one for one in facts if one.item_id != request.id), changed)
        return facts

    def _find_what_assistant_agreed_with(self, request: Item) -> str:
        """What the assistant agreed with, at once or after a "yes" of the user; empty if it did not."""
        said = Filters(kinds=("turn",), conversation=request.conversation)
        scan = Scan(self._workspace, said, request.id, _MAX_TURNS_TO_ANSWER)
        try:
            following = self._engine.store.run(scan)
        except StorageError:  # the request was forgotten meanwhile
            return ""
        for item in following:
            role = item.metadata.get("role")
            if role == "user" and not is_yes(item.text):
                break
            answer = find_agreeing_sentence(item.text, request.text) if role == "assistant" else ""
            if answer:
                return answer
        return ""

    def _search_facts_for_question(
        self, query: str, standing_facts: Sequence[StandingFact], max_tokens: int
    ) -> tuple[list[StandingFact], tuple[Note, ...]]:
        """The facts that are relevant to a question, those that it asks for first; and the search's notes."""
        if not query.strip():
            return [], ()
        options = SearchOptions(limit=_MAX_FOUND, kinds=("turn",), lane="fast")
        draft = self._engine.draft(
            shorten_with_question_first(query), self._workspace, options, "dialogue", max_tokens
        )
        draft = replace(draft, query=replace(draft.query, filters=self._filters))
        draft = pipeline.run(draft, _FIND_TURNS)
        found = [
            one.memory.id
            for one in draft.results
            if _is_relevant(one, draft) and self._is_said_by_user(one.memory)
        ]
        asked = [one for one in standing_facts if one.fact.kind.is_asked_for(query)]
        asked += find_facts_with_verb_of_question(query, standing_facts)
        for item_id in found[:_MAX_RELEVANT]:
            asked += [
                one for one in standing_facts if item_id in {fact.item_id for fact in (one.fact, *one.before)}
            ]
        return list(dict.fromkeys(asked)), draft.notes

    def _is_said_by_user(self, item: Item) -> bool:
        """Whether the dialogue's own user said it, in this conversation or in another."""
        return speaking_user(item) == self._user

    def _follow_replacements(
        self, facts: Sequence[StandingFact], items: Mapping[str, Item], fact_counts: Mapping[str, int]
    ) -> list[StandingFact]:
        """The facts, each replaced by the later turn that a relation says replaced its own, if there is one.

        A turn that replaced one with several facts replaces only those with which it shares a word.
        """
        ids = [one.fact.item_id for one in facts]
        related = self._engine.store.expand(self._workspace, ids, MAX_SUCCESSORS, self._filters)
        current: list[StandingFact] = []
        for one in facts:
            item = items[one.fact.item_id]
            chain = find_successors(SearchResult(item, 0.0), related.get(item.id, ()), {})
            last = chain[-1] if chain else None
            is_plain = fact_counts[item.id] == 1 or (
                last is not None and _have_common_word(last.text, one.fact.text)
            )
            is_told = last is not None and last.text.strip() in one.fact.text
            if last is None or is_told or not self._is_said_by_user(last) or not is_plain:
                current.append(one)
                continue
            text = " ".join(last.text[:_MAX_SUCCESSOR_CHARACTERS].split())
            place = last.id, last.conversation or "", last.created_at
            newer = replace(one.fact, text=text, item_id=place[0], conversation=place[1], said_at=place[2])
            current.append(StandingFact(newer, (*one.before, one.fact)))
        return current


def _have_common_word(one: str, other: str) -> bool:
    return not set(content_words(one)).isdisjoint(content_words(other))


def _is_relevant(result: SearchResult, draft: SearchDraft) -> bool:
    """Whether a turn is probably relevant, or its cosine is above that of unrelated texts."""
    near = result.scores.get("semantic", 0.0) >= pipeline.unrelated_cosine(draft.kit)
    return near or result.score >= pipeline.FLOOR


def _make_user_line(standing: StandingFact) -> UserLine:
    fact = standing.fact
    before = tuple((write_out_day(one.said_at), " ".join(one.text.split())) for one in standing.before[-1:])
    section: UserSection = "wish" if fact.kind.is_rule else "fact"
    return UserLine(" ".join(fact.text.split()), fact.item_id, write_out_day(fact.said_at), section, before)

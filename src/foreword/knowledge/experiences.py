"""The experiences of a workspace: started, changed while they are open, resolved, found again.

An experience is an item. An item's text never changes, so every change is a new item that supersedes the
last, under the same experience id, which is the id of the first of them. Each version names those beside it
the way the store wants it, so that forgetting any of them, by whatever means, takes all of them along.

Of whom a run speaks: of its session's own open experience, or of one that belongs to no session.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from secrets import token_hex
from typing import TYPE_CHECKING

from foreword.errors import ValidationError
from foreword.knowledge import axes, precedents
from foreword.knowledge.experience import (
    DOMAINS,
    MOST_CHARACTERS,
    MOST_HISTORY,
    MOST_NOTE,
    MOST_NOTES,
    OPEN,
    STATUSES,
    STRATEGIES,
    TIERS,
    Experience,
    HistoryEntry,
    Outcome,
    experience_of,
    one_of,
    said,
    sound_cause,
    sound_lesson,
    tier_of,
)
from foreword.knowledge.experience_items import beside, fitting, item_of
from foreword.options import MAX_LIMIT, named, whole
from foreword.store.base import Amend
from foreword.types import Source

if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterator
    from datetime import datetime

    from foreword.engine.base import Engine
    from foreword.knowledge.experience import Lesson, RootCause, Status
    from foreword.types import Filters, Item, SearchResult

_AGENT = Source("agent", "agent")
_INSTANT = timedelta(microseconds=1)
_PAGE = 64


class Experiences:
    """Keeps experiences and finds them. Safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    # Writing

    def start(
        self,
        workspace: str,
        *,
        domain: str,
        strategy: str,
        goal: str,
        hypothesis: str,
        action: str,
        prediction: str,
        session: str | None = None,
        note: str = "",
        source: Source = _AGENT,
    ) -> Experience:
        """Begin an experience. A session has one open at a time: the last must be resolved first.

        Without a session, nobody knows whose it is: there may be any number of those.
        """
        begun = Experience(
            id=token_hex(8),
            session=session,
            created_at=self._engine.clock(),
            domain=one_of("domain", domain, DOMAINS),
            strategy=one_of("strategy", strategy, STRATEGIES),
            goal=said("goal", goal),
            hypothesis=said("hypothesis", hypothesis),
            action=said("action", action),
            prediction=said("prediction", prediction),
            notes=_noted((), note),
        )
        if session is not None and (other := self.active(workspace, session)) is not None:
            raise ValidationError(
                f"the experience {other.id!r} is still open ({other.goal[:80]}); "
                "resolve it first, as confirmed, falsified or abandoned"
            )
        item = item_of(begun, workspace, begun.created_at, source)
        return _read(self._engine.remember_all([replace(item, id=begun.id)], workspace)[0])

    def update(
        self,
        workspace: str,
        experience_id: str,
        *,
        hypothesis: str | None = None,
        action: str | None = None,
        prediction: str | None = None,
        strategy: str | None = None,
        note: str = "",
    ) -> Experience:
        """Change an open experience. Another hypothesis, action or prediction is another iteration."""
        item, old = self._newest(workspace, experience_id)
        if old.outcome is not None:
            raise ValidationError(f"{old.id!r} is {old.status} already; start another experience instead")
        given = {"hypothesis": hypothesis, "action": action, "prediction": prediction}
        changes = {name: said(name, text) for name, text in given.items() if text is not None}
        new = replace(
            old,
            hypothesis=changes.get("hypothesis", old.hypothesis),
            action=changes.get("action", old.action),
            prediction=changes.get("prediction", old.prediction),
            strategy=old.strategy if strategy is None else one_of("strategy", strategy, STRATEGIES),
            notes=_noted(old.notes, note),
        )
        if (new.hypothesis, new.action, new.prediction) != (old.hypothesis, old.action, old.prediction):
            past = HistoryEntry(self._engine.clock(), old.hypothesis, old.action, old.prediction)
            history = (*old.history, past)[-MOST_HISTORY:]
            new = replace(new, history=history, iteration_count=old.iteration_count + 1)
        return self._succeed(workspace, item, old, new)

    def resolve(
        self,
        workspace: str,
        experience_id: str,
        status: str,
        result: str = "",
        *,
        surprise: str = "",
        root_cause: RootCause | None = None,
        lesson: Lesson | None = None,
        note: str = "",
        auto_captured: bool = False,
        at: datetime | None = None,
    ) -> Experience:
        """Say how an experience ended, now or at another moment.

        Whoever calls one falsified says what surprised and why it failed. A run that does so cannot: then
        both are what the experience `lacks`, until somebody resolves it again and tells. To resolve again
        with the same status adds to what is known; the status changes only where a run had told it.
        """
        item, old = self._newest(workspace, experience_id)
        ended = one_of("status", status, STATUSES)
        new = replace(
            old,
            outcome=self._ended(old, ended, result, at or self._engine.clock(), auto_captured=auto_captured),
            surprise=said("surprise", surprise, empty=True) or old.surprise,
            root_cause=sound_cause(root_cause) or old.root_cause,
            lesson=sound_lesson(lesson) or old.lesson,
            notes=_noted(old.notes, note),
        )
        new = replace(new, tier=tier_of(new))
        if new.lacks and not auto_captured:
            raise ValidationError(
                "what is falsified teaches by what surprised and why it failed: give a surprise, "
                "and a root_cause with its category and description"
            )
        return self._succeed(workspace, item, old, new)

    def captured(self, workspace: str, experience_id: str, status: str, result: str, at: datetime) -> bool:
        """Let an experience end as a run at that moment told; False when that run has ended one already."""
        lately = self.list(workspace, tier="gold", limit=_PAGE)
        if any(one.outcome is not None and one.outcome.captured_at == at for one in lately):
            return False
        told = result[:MOST_CHARACTERS]
        self.resolve(workspace, experience_id, status, told, auto_captured=True, at=at)
        return True

    def adopt(self, workspace: str, experience_id: str, session: str) -> Experience:
        """Let an open experience that belongs to no session be this session's; any other stays as it is."""
        item, old = self._newest(workspace, experience_id)
        if old.session is not None or old.outcome is not None:
            return old
        # It was the session's from the beginning: that this is known only now makes it no newer.
        return self._succeed(workspace, item, old, replace(old, session=session), at=item.created_at)

    # Reading

    def active(self, workspace: str, session: str | None = None) -> Experience | None:
        """The open experience of a session; without a session, the newest open one of the workspace."""
        return next(iter(self.list(workspace, status=OPEN, session=session, limit=1)), None)

    def awaiting(
        self, workspace: str, session: str | None, at: datetime | None = None
    ) -> builtins.list[Experience]:
        """The open experiences of which a run may speak: the session's own, then those of no session.

        The newest first; with `at`, only what had begun, or changed last, by that moment.
        """
        every = self._standing(named(workspace), fitting(status=OPEN))
        begun = [experience for item, experience in every if at is None or item.created_at <= at]
        own = [experience for experience in begun if session and experience.session == session]
        return own + [experience for experience in begun if experience.session is None]

    def get(self, workspace: str, experience_id: str) -> Experience | None:
        """An experience as it stands now, by its own id or that of any of its versions."""
        found = self._found(workspace, experience_id)
        return found[1] if found else None

    def list(
        self,
        workspace: str,
        *,
        domain: str | None = None,
        strategy: str | None = None,
        status: str | None = None,
        tier: str | None = None,
        session: str | None = None,
        limit: int = 50,
    ) -> builtins.list[Experience]:
        """The experiences that fit, as they stand now, the newest first."""
        whole("limit", limit, 1, MAX_LIMIT)
        level = None if tier is None else one_of("tier", tier, TIERS)
        filters = replace(fitting(domain, strategy, status), session=session)
        found: builtins.list[Experience] = []
        for _, experience in self._standing(named(workspace), filters):
            if level is None or experience.tier == level:
                found.append(experience)
            if len(found) == limit:
                break
        return found

    def unexplained(
        self, workspace: str, session: str | None = None, limit: int = 5
    ) -> builtins.list[Experience]:
        """What runs have falsified and nobody has explained yet, the newest first."""
        found = self.list(workspace, status="falsified", tier="gold", session=session, limit=MAX_LIMIT)
        return [experience for experience in found if experience.lacks][:limit]

    def resolved(self, workspace: str) -> Iterator[tuple[Item, Experience]]:
        """Every experience that has an outcome, with the item that holds it, the newest first."""
        every = self._standing(named(workspace), fitting())
        return ((item, experience) for item, experience in every if experience.outcome is not None)

    def search_axis(
        self,
        workspace: str,
        query: str,
        axis: str = "full",
        *,
        domain: str | None = None,
        strategy: str | None = None,
        outcome: str | None = None,
        limit: int = 10,
    ) -> builtins.list[SearchResult]:
        """The resolved experiences nearest to a question on an axis, best first; `precedents` says how."""
        wanted = precedents.Wanted(
            named(workspace),
            said("query", query, 100_000, empty=True),
            one_of("axis", axis, axes.AXES),
            fitting(domain, strategy, outcome, resolved=True),
            whole("limit", limit, 1, MAX_LIMIT),
            narrowed=any((domain, strategy, outcome)),
        )
        return precedents.search(self._engine, wanted)

    # Inside

    def _ended(
        self, old: Experience, status: Status, result: str, at: datetime, *, auto_captured: bool
    ) -> Outcome:
        """How it ended, with regard to what is known of that already."""
        before = old.outcome
        if before is None:
            return Outcome(status, said("result", result), at, auto_captured)
        told = said("result", result, empty=True) or before.result
        if before.status == status:
            return replace(before, result=told)
        if auto_captured or not before.auto_captured:
            raise ValidationError(f"{old.id!r} is {before.status} already; start another experience instead")
        return Outcome(status, told, at)

    def _newest(self, workspace: str, experience_id: str) -> tuple[Item, Experience]:
        found = self._found(workspace, experience_id)
        if found is None:
            raise ValidationError(
                f"no experience of {workspace!r} has the id {experience_id!r}; list them to see their ids"
            )
        return found

    def _found(self, workspace: str, item_id: str) -> tuple[Item, Experience] | None:
        """Follow the versions of an experience to the last."""
        seen = {said("id", item_id, 200)}
        item = self._engine.store.get(named(workspace), item_id)[0]
        while item is not None and item.superseded_by and item.superseded_by not in seen:
            seen.add(item.superseded_by)
            item = self._engine.store.get(workspace, item.superseded_by)[0]
        experience = experience_of(item) if item is not None else None
        return (item, experience) if item is not None and experience is not None else None

    def _standing(self, workspace: str, filters: Filters) -> Iterator[tuple[Item, Experience]]:
        """What stands, newest first, read in growing pages; should two versions stand, the newer counts."""
        known: set[str] = set()
        page = _PAGE
        while True:
            items = self._engine.store.recent(workspace, filters, page)
            for item in items:
                experience = experience_of(item) if item.superseded_by is None else None
                if experience is not None and experience.id not in known:
                    known.add(experience.id)
                    yield item, experience
            if len(items) < page:
                return
            page *= 8

    def _succeed(
        self, workspace: str, item: Item, old: Experience, new: Experience, at: datetime | None = None
    ) -> Experience:
        """Keep a new version, and let the old one step behind it."""
        if new == old:
            return old
        # No version is as old as the last.
        at = max(at or self._engine.clock(), item.created_at + _INSTANT)
        version = replace(item_of(new, workspace, at, item.source), id=token_hex(8))
        held = {**version.metadata, **beside(item, item.id)}
        linked = {**item.metadata, **beside(item, *item.metadata.get("turns", ()), version.id)}
        behind = Amend(workspace, item.id, superseded_by=version.id, metadata=linked)
        return _read(self._engine.remember_all([replace(version, metadata=held)], workspace, [behind])[0])


def _read(item: Item) -> Experience:
    """The experience as it was kept: without what is secret."""
    experience = experience_of(item)
    if experience is None:
        raise ValidationError("nothing is left of the experience once what is private is gone")
    return experience


def _noted(notes: tuple[str, ...], note: str) -> tuple[str, ...]:
    text = said("note", note, MOST_NOTE, empty=True)
    return (*notes, text)[-MOST_NOTES:] if text else notes

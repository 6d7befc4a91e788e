"""The experiences of a workspace: starting, changing, resolving and finding them.

An experience is an item of the type `domain/strategy/status`, by which a store filters inside its search. An
item's text never changes, so every change is a new item that supersedes the last, under the same experience
id, which is the id of the first of them. Each version names the one before and the one after it in its
metadata, so that the store deletes all versions together.

A test or build run is about its session's own open experience, or about one that belongs to no session.
Evidence that is seen while an experience is open is added to the newest version without making a new one.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import product
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from foreword.errors import ValidationError
from foreword.knowledge.axes import AXES, AxisQuery, describe_whole_experience, search_axis
from foreword.knowledge.evidence import Evidence, add_evidence, evidence_to_metadata
from foreword.knowledge.experience import (
    DOMAINS,
    MAX_AMENDMENTS,
    MAX_HISTORY_ENTRIES,
    MAX_NOTE_CHARACTERS,
    MAX_NOTES,
    MAX_TEXT_CHARACTERS,
    OPEN,
    STATUSES,
    STRATEGIES,
    TIERS,
    Amendment,
    Experience,
    HistoryEntry,
    Outcome,
    check_choice,
    check_lesson,
    check_root_cause,
    check_text,
    experience_to_metadata,
    outcome_tier,
    read_experience,
)
from foreword.options import MAX_LIMIT, check_whole_number, check_workspace
from foreword.store.base import Amend
from foreword.types import Filters, Item, Source

if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from foreword.engine.base import Engine
    from foreword.knowledge.evidence import Proof
    from foreword.knowledge.experience import Lesson, RootCause, Status
    from foreword.types import SearchResult

_AGENT = Source("agent", "agent")
_INSTANT = timedelta(microseconds=1)
_FIRST_PAGE_ITEMS, _PAGE_GROWTH = 64, 8
_MAX_QUERY_CHARACTERS, _MAX_ID_CHARACTERS = 100_000, 200


class Experiences:
    """Stores experiences and finds them. Safe to share between threads."""

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
        """Begin an experience; ValidationError if its session has another one open.

        Any number of experiences without a session may be open at a time.
        """
        new = Experience(
            id=token_hex(8),
            session=session,
            created_at=self._engine.clock(),
            domain=check_choice("domain", domain, DOMAINS),
            strategy=check_choice("strategy", strategy, STRATEGIES),
            goal=check_text("goal", goal),
            hypothesis=check_text("hypothesis", hypothesis),
            action=check_text("action", action),
            prediction=check_text("prediction", prediction),
            notes=_add_note_within_limit((), note),
        )
        if session is not None and (other := self.active(workspace, session)) is not None:
            raise ValidationError(
                f"the experience {other.id!r} is still open ({other.goal[:80]}); "
                "resolve it first, as confirmed, falsified or abandoned"
            )
        item = _build_experience_item(new, workspace, new.created_at, source)
        return _require_experience_in_item(
            self._engine.remember_all([replace(item, id=new.id)], workspace)[0]
        )

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
        item, old = self._require_newest_version(workspace, experience_id)
        if old.outcome is not None:
            raise ValidationError(f"{old.id!r} is {old.status} already; start another experience instead")
        texts = {"hypothesis": hypothesis, "action": action, "prediction": prediction}
        changes: dict[str, Any] = {
            name: check_text(name, text) for name, text in texts.items() if text is not None
        }
        new = replace(
            old,
            **changes,
            strategy=old.strategy if strategy is None else check_choice("strategy", strategy, STRATEGIES),
            notes=_add_note_within_limit(old.notes, note),
        )
        if (new.hypothesis, new.action, new.prediction) != (old.hypothesis, old.action, old.prediction):
            new = _begin_iteration(old, new, self._engine.clock())
        return self._store_new_version(workspace, item, old, new)

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
        """Record how an experience ended, now or at the moment `at`.

        An agent that calls one falsified must give a surprise and a root cause. A run cannot: then the
        experience `lacks` both until it is resolved again with them. Resolving again with the same status
        adds details; another status is accepted only if the first came from a run, else `amend` it.
        """
        item, old = self._require_newest_version(workspace, experience_id)
        checked = check_choice("status", status, STATUSES)
        moment = at or self._engine.clock()
        new = replace(
            old,
            outcome=_merge_with_earlier_outcome(old, checked, result, moment, auto_captured=auto_captured),
            surprise=check_text("surprise", surprise, may_be_empty=True) or old.surprise,
            root_cause=check_root_cause(root_cause) or old.root_cause,
            lesson=check_lesson(lesson) or old.lesson,
            notes=_add_note_within_limit(old.notes, note),
        )
        new = replace(new, tier=outcome_tier(new))
        if not auto_captured:
            _require_explanation_if_falsified(new)
        return self._store_new_version(workspace, item, old, new)

    def confirm_experience_by_run(
        self,
        workspace: str,
        experience_id: str,
        result: str,
        at: datetime,
        proof: Proof = "passed after the change",
        names: Sequence[str] = (),
    ) -> bool:
        """Confirm an experience by a run at the moment `at`; False if that run has confirmed one already.

        `names` are what failed before the change and passes after it, if the proof is of that kind.
        """
        lately = self.list(workspace, status="confirmed", limit=_FIRST_PAGE_ITEMS)
        if any(one.outcome and one.outcome.auto_captured and one.outcome.captured_at == at for one in lately):
            return False
        item, old = self._require_newest_version(workspace, experience_id)
        outcome = Outcome("confirmed", result[:MAX_TEXT_CHARACTERS], at, True, proof, tuple(names))  # noqa: FBT003
        new = replace(old, outcome=outcome)
        self._store_new_version(workspace, item, old, replace(new, tier=outcome_tier(new)))
        return True

    def amend(
        self,
        workspace: str,
        experience_id: str,
        status: str,
        reason: str,
        *,
        result: str = "",
        surprise: str = "",
        root_cause: RootCause | None = None,
        lesson: Lesson | None = None,
    ) -> Experience:
        """Change the verdict on an experience and record why; the status `open` withdraws it.

        The earlier verdict is stored among the `amendments`. A falsified experience needs a surprise and a
        root cause. ValidationError if the experience is open, or has this status already.
        """
        item, old = self._require_newest_version(workspace, experience_id)
        checked = check_choice("status", status, (OPEN, *STATUSES))
        if old.outcome is None or checked == old.status:
            raise ValidationError(f"{old.id!r} is {old.status}; amend gives it another status than it has")
        amendment = Amendment(
            self._engine.clock(), old.status, old.outcome.result, check_text("the reason", reason)
        )
        new = replace(
            old,
            outcome=None,
            surprise=check_text("surprise", surprise, may_be_empty=True) or old.surprise,
            root_cause=check_root_cause(root_cause) or old.root_cause,
            lesson=check_lesson(lesson) or old.lesson,
            amendments=(*old.amendments, amendment)[-MAX_AMENDMENTS:],
        )
        if checked != OPEN:
            text = check_text("result", result, may_be_empty=True) or old.outcome.result
            new = replace(
                new, outcome=Outcome(check_choice("status", status, STATUSES), text, amendment.timestamp)
            )
        elif old.session is not None and (other := self.active(workspace, old.session)) is not None:
            raise ValidationError(f"the experience {other.id!r} of its session is open; resolve it first")
        new = replace(new, tier=outcome_tier(new))
        _require_explanation_if_falsified(new)
        return self._store_new_version(workspace, item, old, new)

    def add_evidence(
        self, workspace: str, experience_id: str, new: Sequence[Evidence], *, is_iteration: bool = False
    ) -> Experience:
        """Add observations to an open experience, each once; one that has ended is returned unchanged."""
        item, old = self._require_newest_version(workspace, experience_id)
        merged = add_evidence(old.evidence, new)
        if old.outcome is not None or merged == old.evidence:
            return old
        count = old.iteration_count + is_iteration
        metadata = {**item.metadata, "evidence": evidence_to_metadata(merged), "iteration_count": count}
        self._engine.store.batch([Amend(workspace, item.id, metadata=metadata)])
        return replace(old, evidence=merged, iteration_count=count)

    def adopt(self, workspace: str, experience_id: str, session: str) -> Experience:
        """Assign an open experience without a session to this session; any other is returned unchanged."""
        item, old = self._require_newest_version(workspace, experience_id)
        if old.session is not None or old.outcome is not None:
            return old
        # The experience belonged to the session from the beginning, so it gets no newer time.
        return self._store_new_version(
            workspace, item, old, replace(old, session=session), at=item.created_at
        )

    # Reading

    def active(self, workspace: str, session: str | None = None) -> Experience | None:
        """The open experience of a session; without a session, the newest open one of the workspace."""
        return next(iter(self.list(workspace, status=OPEN, session=session, limit=1)), None)

    def list_open_for_run(
        self, workspace: str, session: str | None, at: datetime | None = None
    ) -> builtins.list[Experience]:
        """The open experiences that a run may be about: the session's own, then those of no session.

        The newest first; with `at`, only those that had begun, and last changed, by that moment.
        """
        every = self._iterate_current_versions(
            check_workspace(workspace), _build_experience_filters(status=OPEN)
        )
        candidates = [experience for item, experience in every if at is None or item.created_at <= at]
        own = [experience for experience in candidates if session and experience.session == session]
        return own + [experience for experience in candidates if experience.session is None]

    def get(self, workspace: str, experience_id: str) -> Experience | None:
        """The newest version of an experience, by its own id or that of any of its versions."""
        found = self._find_newest_version(workspace, experience_id)
        return found[1] if found else None

    def find_item(self, workspace: str, experience_id: str) -> Item | None:
        """The item that holds the newest version of an experience; None when there is none."""
        found = self._find_newest_version(workspace, experience_id)
        return found[0] if found else None

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
        """The newest versions of the experiences that pass the filters, the newest first."""
        check_whole_number("limit", limit, 1, MAX_LIMIT)
        wanted_tier = None if tier is None else check_choice("tier", tier, TIERS)
        filters = replace(_build_experience_filters(domain, strategy, status), session=session)
        found: builtins.list[Experience] = []
        for _, experience in self._iterate_current_versions(check_workspace(workspace), filters):
            if wanted_tier is None or experience.tier == wanted_tier:
                found.append(experience)
            if len(found) == limit:
                break
        return found

    def list_unexplained(
        self, workspace: str, session: str | None = None, limit: int = 5
    ) -> builtins.list[Experience]:
        """The ended experiences that lack an explanation, the newest first."""
        found = self.list(workspace, session=session, limit=MAX_LIMIT)
        return [experience for experience in found if experience.lacks][:limit]

    def iterate_resolved(self, workspace: str) -> Iterator[tuple[Item, Experience]]:
        """Every experience that has an outcome, with the item that holds it, the newest first."""
        every = self._iterate_current_versions(check_workspace(workspace), _build_experience_filters())
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
        """The resolved experiences nearest to a question on an axis, best first."""
        asked = AxisQuery(
            check_workspace(workspace),
            check_text("query", query, _MAX_QUERY_CHARACTERS, may_be_empty=True),
            check_choice("axis", axis, AXES),
            _build_experience_filters(domain, strategy, outcome, only_resolved=True),
            check_whole_number("limit", limit, 1, MAX_LIMIT),
            filters_suffice=any((domain, strategy, outcome)),
        )
        return search_axis(self._engine, asked)

    # Inside

    def _require_newest_version(self, workspace: str, experience_id: str) -> tuple[Item, Experience]:
        """The newest version and its item; ValidationError when no version has this id."""
        found = self._find_newest_version(workspace, experience_id)
        if found is None:
            raise ValidationError(
                f"no experience of {workspace!r} has the id {experience_id!r}; list them to see their ids"
            )
        return found

    def _find_newest_version(self, workspace: str, item_id: str) -> tuple[Item, Experience] | None:
        """The newest version of an experience, from the id of any of them; None when there is none."""
        seen = {check_text("id", item_id, _MAX_ID_CHARACTERS)}
        item = self._engine.store.get(check_workspace(workspace), item_id)[0]
        while item is not None and item.superseded_by and item.superseded_by not in seen:
            seen.add(item.superseded_by)
            item = self._engine.store.get(workspace, item.superseded_by)[0]
        experience = read_experience(item) if item is not None else None
        return (item, experience) if item is not None and experience is not None else None

    def _iterate_current_versions(
        self, workspace: str, filters: Filters
    ) -> Iterator[tuple[Item, Experience]]:
        """The versions that are not superseded, newest first and one an experience, in growing pages."""
        seen: set[str] = set()
        page = _FIRST_PAGE_ITEMS
        while True:
            items = self._engine.store.recent(workspace, filters, page)
            for item in items:
                experience = read_experience(item) if item.superseded_by is None else None
                if experience is not None and experience.id not in seen:
                    seen.add(experience.id)
                    yield item, experience
            if len(items) < page:
                return
            page *= _PAGE_GROWTH

    def _store_new_version(
        self, workspace: str, item: Item, old: Experience, new: Experience, at: datetime | None = None
    ) -> Experience:
        """Store a new version and mark the old one as superseded; nothing is stored if they are equal."""
        if new == old:
            return old
        # Each version is newer than the one before it.
        at = max(at or self._engine.clock(), item.created_at + _INSTANT)
        version = replace(_build_experience_item(new, workspace, at, item.source), id=token_hex(8))
        version = replace(
            version, metadata={**version.metadata, **_metadata_for_joint_deletion(item, item.id)}
        )
        linked = {
            **item.metadata,
            **_metadata_for_joint_deletion(item, *item.metadata.get("turns", ()), version.id),
        }
        change = Amend(workspace, item.id, superseded_by=version.id, metadata=linked)
        return _require_experience_in_item(self._engine.remember_all([version], workspace, [change])[0])


def _build_experience_filters(
    domain: str | None = None,
    strategy: str | None = None,
    status: str | None = None,
    *,
    only_resolved: bool = False,
) -> Filters:
    """The filters for these experiences; without any condition, open ones pass even with `only_resolved`."""
    if domain is strategy is status is None:
        return Filters(kinds=("experience",))
    every = STATUSES if only_resolved else (OPEN, *STATUSES)
    parts = (
        DOMAINS if domain is None else (check_choice("domain", domain, DOMAINS),),
        STRATEGIES if strategy is None else (check_choice("strategy", strategy, STRATEGIES),),
        every if status is None else (check_choice("outcome", status, every),),
    )
    return Filters(kinds=("experience",), types=tuple(map("/".join, product(*parts))))


def _build_experience_item(experience: Experience, workspace: str, at: datetime, source: Source) -> Item:
    """The item that holds a version of an experience, not yet stored."""
    return Item(
        text=describe_whole_experience(experience),
        workspace=workspace,
        kind="experience",
        type=f"{experience.domain}/{experience.strategy}/{experience.status}",
        created_at=at,
        session=experience.session,
        confidence=experience.weight,
        source=source,
        metadata=experience_to_metadata(experience),
    )


def _metadata_for_joint_deletion(item: Item, *ids: str) -> dict[str, list[str]]:
    """The metadata that makes the store delete a version together with these others."""
    return {"derived_from": [item.source.name], "turns": [*ids]}


def _begin_iteration(old: Experience, new: Experience, at: datetime) -> Experience:
    """The new version with the old plan in its history, as a further iteration unless a run counted it."""
    last = next((one for one in reversed(old.evidence) if one.kind == "run"), None)
    failed = last is not None and not last.passed and any(one.kind == "change" for one in old.evidence)
    result = last.what if last is not None and failed else ""
    past = HistoryEntry(at, old.hypothesis, old.action, old.prediction, result)
    return replace(
        new,
        history=(*old.history, past)[-MAX_HISTORY_ENTRIES:],
        iteration_count=old.iteration_count + (0 if failed and old.iteration_count > 1 else 1),
        evidence=add_evidence(old.evidence, [Evidence(at, "plan")]) if old.evidence else (),
    )


def _require_explanation_if_falsified(experience: Experience) -> None:
    """Raise ValidationError if an experience is falsified and does not say what surprised, and why."""
    if experience.status == "falsified" and experience.lacks:
        raise ValidationError(
            "what is falsified teaches by what surprised and why it failed: give a surprise, "
            "and a root_cause with its category and description"
        )


def _merge_with_earlier_outcome(
    experience: Experience, status: Status, result: str, at: datetime, *, auto_captured: bool
) -> Outcome:
    """The new outcome, with details of the earlier one if any; ValidationError if that may not change."""
    before = experience.outcome
    if before is None:
        return Outcome(status, check_text("result", result), at, auto_captured)
    text = check_text("result", result, may_be_empty=True) or before.result
    if before.status == status:
        return replace(before, result=text)
    if auto_captured or not before.auto_captured:
        raise ValidationError(
            f"{experience.id!r} is {before.status} already; amend the verdict, with a reason, if it is wrong"
        )
    return Outcome(status, text, at)


def _require_experience_in_item(item: Item) -> Experience:
    """The experience that an item holds as stored, without secrets; ValidationError if none is left."""
    experience = read_experience(item)
    if experience is None:
        raise ValidationError("nothing is left of the experience once what is private is gone")
    return experience


def _add_note_within_limit(notes: tuple[str, ...], note: str) -> tuple[str, ...]:
    """The notes with one more, unless it is empty; beyond the limit the oldest are dropped."""
    text = check_text("note", note, MAX_NOTE_CHARACTERS, may_be_empty=True)
    return (*notes, text)[-MAX_NOTES:] if text else notes

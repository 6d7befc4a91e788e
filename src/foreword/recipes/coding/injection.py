"""The recipes of a coding agent: `coding` before a prompt, `brief` before a tool, `session` at the beginning.

Each is a list of stages (`coding_stages`, `brief_stages`, `session_stages`). What the session was shown is
not repeated, except that a prompt is told what it needs though the overview at the start had listed it. No
single source but the user fills the context, and alerts have tokens of their own. The functions that find
shifts of activity, the last session and the topics are passed in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foreword import pipeline
from foreword.compose.budget import BRIEF_BUDGET, DEFAULT_TOKEN_BUDGET, TokenBudget
from foreword.compose.injection import BRIEF_MEMORIES, ContextFormatter
from foreword.errors import ContextError, InjectionError, NoContext, RetrievalError, ValidationError
from foreword.options import MAX_NAME_CHARACTERS, SearchOptions, check_fraction, check_whole_number
from foreword.pipeline import (
    FLOOR,
    drop_repeats,
    drop_shown,
    drop_superseded,
    make_optional,
    search_stages_with_floor,
)
from foreword.recipes.code import MAX_BODIES, format_code_and_commits, put_back_code_above, set_code_aside
from foreword.recipes.coding.stages import (
    CodingDraft,
    add_divergence_alert,
    add_last_session,
    add_session_lines,
    add_topics,
    diversify,
    drop_echoes,
    drop_results_already_shown,
    fit_brief,
    fit_sections,
    limit_each_source,
    list_categories,
    load_shown,
    overview_name,
    skip_if_no_results,
    weigh,
)
from foreword.recipes.coding.told_parts import ToldParts
from foreword.recipes.progress import tell_progress
from foreword.store.base import ClearShown
from foreword.text.statements import MAX_HISTORY_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, tzinfo

    from foreword.compose.budget import InjectionCategory
    from foreword.compose.injection import Alert
    from foreword.engine.base import Engine
    from foreword.options import Lane
    from foreword.pipeline import Stage
    from foreword.recipes.coding.stages import Diverges, LastSession, SessionLines, Topics
    from foreword.recipes.coding.told_parts import ToldPart
    from foreword.types import Receipt

MAX_RESULTS = 50
"""At most how many results of the search may become part of a context."""

MAX_READ_BEFORE_PROMPT, MAX_READ_BEFORE_TOOL = 24, 8
"""At most how many statements are read before a prompt, and before a tool: an agent waits for them."""

SOURCE_SHARE = 1 / 3
"""The largest share of a context that one agent, tool or page may fill."""

SLOT_TOKENS = 70
"""About how many tokens a memory takes: fifty words, its age and its author."""


@dataclass(frozen=True, slots=True)
class InjectionResult:
    """A context for an agent, ready to be framed; empty when there is nothing worth saying.

    `told_parts` has what it tells of those memories that it does not tell whole.
    """

    formatted_context: str
    included_memories: tuple[str, ...]
    divergence_alerts: tuple[Alert, ...]
    tokens_used: int
    categories_included: tuple[InjectionCategory, ...]
    receipt: Receipt
    told_parts: tuple[ToldPart, ...] = ()

    @property
    def ids_of_memories_shown_whole(self) -> tuple[str, ...]:
        """The ids of the memories that are told whole: these count as shown."""
        parts = {item_id for item_id, _ in self.told_parts}
        return tuple(one for one in self.included_memories if one not in parts)

    def require_context(self) -> str:
        """The context; NoContext if it is empty."""
        if not self.formatted_context:
            raise NoContext
        return self.formatted_context


class InjectionPipeline:
    """Makes contexts for a coding agent.

    `diverges`, `last_session`, `open_ends`, `decisions`, `changes` and `topics` are called if there is time;
    one that fails becomes a note in the receipt. An agent waits for its context before a prompt, so the
    cross-encoder is not used unless the `lane` is full. Ages and days are shown in `zone`, by default the
    machine's own.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        diverges: Diverges | None = None,
        last_session: LastSession | None = None,
        open_ends: SessionLines | None = None,
        decisions: SessionLines | None = None,
        changes: SessionLines | None = None,
        topics: Topics | None = None,
        floor: float = FLOOR,
        lane: Lane = "fast",
        source_share: float = SOURCE_SHARE,
        zone: tzinfo | None = None,
    ) -> None:
        self._engine = engine
        self.told_parts = ToldParts()
        self._diverges = diverges
        self._last_session = last_session
        self._session_lines = {"open_ends": open_ends, "decisions": decisions, "changes": changes}
        self._topics = topics
        self._floor = check_fraction("floor", floor)
        self._lane = lane
        self._source_share = check_fraction("source_share", source_share)
        self._zone = zone

    def generate_context(
        self,
        query: str,
        session_id: str,
        budget: TokenBudget = DEFAULT_TOKEN_BUDGET,
        *,
        workspace: str,
        context: str | None = None,
        deadline_ms: float | None = None,
        record: bool = True,
    ) -> InjectionResult:
        """The context to inject before a prompt; empty when nothing is worth saying.

        What is injected is recorded as shown, and the receipt is stored; with `record=False` the caller does
        both once the agent has it, or neither for a preview. `context` names the context that it goes into
        if that is a subagent's and not the session's own.
        """
        draft = self._begin_draft(query, workspace, "coding", budget.total, session_id, deadline_ms, context)
        return self._run_recipe(draft, self.coding_stages(draft, budget), record=record)

    def generate_brief_context(
        self,
        query: str,
        budget: int = BRIEF_BUDGET,
        *,
        workspace: str,
        session_id: str | None = None,
        deadline_ms: float | None = None,
        record: bool = True,
    ) -> str:
        """The best few memories on one line, for an agent about to use a tool; empty when there are none."""
        return self.generate_brief(
            query, session_id or "", budget, workspace=workspace, deadline_ms=deadline_ms, record=record
        ).formatted_context

    def generate_brief(
        self,
        query: str,
        session_id: str,
        budget: int = BRIEF_BUDGET,
        *,
        workspace: str,
        context: str | None = None,
        deadline_ms: float | None = None,
        record: bool = True,
    ) -> InjectionResult:
        """The same as `generate_brief_context`, with its receipt."""
        check_whole_number("budget", budget, 1, BRIEF_BUDGET)
        draft = self._begin_draft(query, workspace, "brief", budget, session_id, deadline_ms, context)
        return self._run_recipe(draft, self.brief_stages(draft), record=record)

    def generate_session_context(
        self,
        session_id: str,
        budget: TokenBudget = DEFAULT_TOKEN_BUDGET,
        *,
        workspace: str,
        context: str | None = None,
        record: bool = True,
    ) -> InjectionResult:
        """The context to inject when a session begins: what is open, what was decided last, what changed.

        Then the summary of the last session, and the topics. The topics are left out if this session was
        shown anything before: then it is resumed, not new.
        """
        draft = self._begin_draft("", workspace, "session", budget.total, session_id, None, context)
        return self._run_recipe(draft, self.session_stages(draft, budget), record=record)

    # The recipes

    def coding_stages(self, draft: CodingDraft, budget: TokenBudget) -> Sequence[Stage[Any]]:
        """The stages of the recipe `coding`, in order."""
        slots = max(1, (budget.cluster_budget + budget.single_space_budget) // SLOT_TOKENS)
        return (
            *self._recall_stages(slots),
            *(
                [skip_if_no_results(make_optional(add_divergence_alert(self._diverges)))]
                if self._diverges
                else []
            ),
            *([skip_if_no_results(stage) for stage in self._last_session_stages()]),
            fit_sections(self._make_formatter(draft), budget),
        )

    def brief_stages(self, draft: CodingDraft) -> Sequence[Stage[Any]]:
        """The stages of the recipe `brief`, in order."""
        return (
            *self._recall_stages(BRIEF_MEMORIES, MAX_READ_BEFORE_TOOL, bodies=0),
            fit_brief(self._make_formatter(draft), draft.budget),
        )

    def session_stages(self, draft: CodingDraft, budget: TokenBudget) -> Sequence[Stage[Any]]:
        """The stages of the recipe `session`, in order."""
        return (
            load_shown,
            *(
                make_optional(add_session_lines(find, name))
                for name, find in self._session_lines.items()
                if find
            ),
            *self._last_session_stages(),
            *([make_optional(add_topics(self._topics))] if self._topics else []),
            fit_sections(self._make_formatter(draft), budget),
        )

    def _recall_stages(
        self, slots: int, max_read: int = MAX_READ_BEFORE_PROMPT, bodies: int = MAX_BODIES
    ) -> Sequence[Stage[Any]]:
        """The stages that search and rank, which `coding` and `brief` share; `slots` is how many may stay."""
        exclude = (drop_shown, drop_echoes, *((set_code_aside,) if self._floor else ()))
        return (
            load_shown,
            *search_stages_with_floor(self._floor, exclude=exclude, max_read=max_read),
            make_optional(tell_progress),
            put_back_code_above(self._floor),
            drop_superseded,
            drop_repeats,
            format_code_and_commits(bodies),
            weigh,
            drop_results_already_shown(brief=max_read == MAX_READ_BEFORE_TOOL),
            diversify,
            limit_each_source(slots, self._source_share),
        )

    def _last_session_stages(self) -> Sequence[Stage[CodingDraft]]:
        return [make_optional(add_last_session(self._last_session))] if self._last_session else []

    def _begin_draft(
        self,
        query: str,
        workspace: str,
        recipe: str,
        budget: int,
        session_id: str | None,
        deadline_ms: float | None,
        context: str | None,
    ) -> CodingDraft:
        session = _check_session(session_id)
        options = SearchOptions(limit=MAX_RESULTS, deadline_ms=deadline_ms, lane=self._lane)
        draft = self._engine.draft(query, workspace, options, recipe, budget)
        return CodingDraft(
            kit=draft.kit.with_reader(self._engine.reader),
            query=draft.query,
            recipe=recipe,
            budget=budget,
            session=session or None,
            context=context or None,
            told=self._list_parts_shown_before(recipe, draft.query.workspace, context or session),
        )

    def _list_parts_shown_before(
        self, recipe: str, workspace: str, context: str
    ) -> dict[str, tuple[str, ...]]:
        """What the context was told in part, by item; for a prompt without what its overview listed."""
        told = self.told_parts.list_shown_parts_by_item(workspace, context)
        listed = self.told_parts.list_shown_parts_by_item(workspace, overview_name(context))
        return told if recipe == "coding" else {**listed, **told}

    def _make_formatter(self, draft: CodingDraft) -> ContextFormatter:
        now = draft.query.now.astimezone(self._zone)
        return ContextFormatter(now, self._engine.tokenizer, draft.query.text)

    def _run_recipe(
        self, draft: CodingDraft, stages: Sequence[Stage[Any]], *, record: bool
    ) -> InjectionResult:
        """Run the stages, and store the receipt if `record`; RetrievalError if the search fails."""
        try:
            draft = pipeline.run(draft, stages)
        except (ValidationError, InjectionError):
            raise  # a wrong call and a failed formatting are no RetrievalError
        except ContextError as error:
            raise RetrievalError(error) from error
        assert draft.fitted is not None, "the last stage of every recipe fits"  # noqa: S101
        told = (
            *(candidate.memory_id for candidate in draft.fitted.candidates),
            *_ids_of_full_texts_appended(draft),
        )
        result = InjectionResult(
            formatted_context=draft.text,
            included_memories=tuple(dict.fromkeys(told)),
            divergence_alerts=draft.fitted.alerts,
            tokens_used=draft.tokens,
            categories_included=list_categories(draft.fitted),
            receipt=pipeline.make_receipt(draft),
            told_parts=draft.new_parts,
        )
        if record:
            context = draft.context or draft.session or ""
            self.store_receipt_and_mark_shown(
                result.receipt, result.ids_of_memories_shown_whole, result.told_parts, context
            )
        return result

    def store_receipt_and_mark_shown(
        self, receipt: Receipt, whole_ids: Sequence[str], parts: Sequence[ToldPart], context: str
    ) -> None:
        """Store a receipt; what it tells whole counts as shown to the context, and parts do not.

        What the overview at a session's start lists is kept apart (see `CodingDraft.overview_ids`).
        """
        name = overview_name(context) if context and receipt.recipe == "session" else context
        pipeline.store_receipt(self._engine.store, receipt, whole_ids, name)
        if name:
            self.told_parts.add(receipt.workspace, name, parts)

    def delete_record_of_shown_items(self, workspace: str, context: str, until: datetime) -> None:
        """Delete the record of what a context was told until then, because it was emptied."""
        names = (context, overview_name(context))
        self._engine.store.batch([ClearShown(workspace, name, until) for name in names])
        for name in names:
            self.told_parts.clear(workspace, name)


def _ids_of_full_texts_appended(draft: CodingDraft) -> list[str]:
    """The ids of what is told in full after a line: the agent's context holds these too."""
    later = [item for line in draft.lines for item in line.result.later]
    return [item.id for item in later if item.kind != "commit" and len(item.text) <= MAX_HISTORY_CHARACTERS]


def _check_session(session_id: str | None) -> str:
    """The name of a session, "" for none; ValidationError if it is too long or not printable."""
    session = session_id or ""
    if len(session) > MAX_NAME_CHARACTERS or "\0" in session or not session.isprintable():
        raise ValidationError(f"a session's name has at most {MAX_NAME_CHARACTERS} printable characters")
    return session

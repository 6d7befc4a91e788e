"""ContextEngine: remembers, searches, builds contexts, explains them. It alone wires the parts together.

Every method names its workspace. The engine is safe to use from many threads, and beside other processes on
the same data. It does no retrieval, ranking or wording of its own: those are the stages of `pipeline`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from foreword import config, pipeline
from foreword.capture.folder import file_items
from foreword.capture.item_checks import check_item, redact_item
from foreword.capture.redact import redact
from foreword.compose.templates import TEMPLATES, ContextTemplate
from foreword.engine import jsonl
from foreword.engine.defaults import (
    choose_summarizer,
    default_embedding_provider,
    default_reader,
    default_store,
    default_token_space,
    make_dense_space,
)
from foreword.engine.embedder import Embedder, Progress, no_progress
from foreword.errors import EmbeddingError, ForewordError, TemplateNotFound, ValidationError
from foreword.knowledge import axes, supersession
from foreword.log import get_logger
from foreword.options import (
    CacheConfig,
    ContextOptions,
    SearchOptions,
    check_fraction,
    check_kind,
    check_text,
    check_workspace,
    merge_options,
)
from foreword.recall.fuse import BLENDS, DEFAULT_BLEND, Blend
from foreword.recall.rank import RANKERS, RankingFunction, build_rankers
from foreword.recall.retrieve import find_items_with_all_words
from foreword.spaces.base import ReplacementReader
from foreword.spaces.basic import DaySpace, GraphSpace, HourSpace, LexicalSpace, RecencySpace, TrigramSpace
from foreword.spaces.bundled import BundledReranker
from foreword.spaces.names import EntitySpace, IdentifierSpace
from foreword.store.base import Amend, Delete, GetVectors, ListRelations, Put, PutRelations
from foreword.text.question import shorten_with_question_first
from foreword.text.tokens import Tokenizer, tokenizer_by_name
from foreword.text.words import content_words
from foreword.types import Filters, Item, Query, Relation, SearchResult, Source, content_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Self, Unpack

    from foreword.config import Settings
    from foreword.engine.base import StoreWaitingEvents
    from foreword.knowledge.replacement import ReplacementJudge
    from foreword.options import ContextChanges, SearchChanges
    from foreword.recipes.chat import ContextPreview, ContextResult
    from foreword.spaces.base import Reranker, Space, TimeSpace, TokenSpace
    from foreword.spaces.providers import EmbeddingProvider
    from foreword.store.base import Counts, Problem, Store
    from foreword.types import DialogueSummarizer, FindReplacing, Kind, Receipt

_log = get_logger("foreword")
_BATCH = 500

NEWEST = "b2:newest"
"""In changes that are stored with items, this stands for the id of the last item."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The ids of removed items, and the problems that a check of the workspace found afterwards."""

    ids: tuple[str, ...]
    problems: tuple[Problem, ...] = ()


class ContextEngine:
    """Remembers items, searches them, and builds contexts for prompts from them.

    With no arguments: an SQLite store in the user's data folder (or FOREWORD_HOME) and the bundled encoder.
    """

    def __init__(
        self,
        store: Store | None = None,
        embedding_provider: EmbeddingProvider | None = None,
        *,
        settings: Settings | None = None,
        expected_embedding_dimensions: int | None = None,
        cache_config: CacheConfig = CacheConfig(),  # noqa: B008  (frozen)
        counter: Tokenizer | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        reranker: Reranker | None = None,
        reader: Reranker | None = None,
        token_space: TokenSpace | None = None,
        without: Sequence[str] = (),
    ) -> None:
        self.settings = settings if settings is not None else config.load_settings()
        self.store = store if store is not None else default_store(self.settings)
        self.tokenizer = counter if counter is not None else tokenizer_by_name(self.settings.tokenizer)
        self.clock = clock
        self.store_waiting_events: StoreWaitingEvents = lambda **_: None  # an edge with a spool does more
        self._templates = dict(TEMPLATES)
        self._rankers: dict[str, RankingFunction] = {}
        self._blends: dict[str, dict[str, Blend]] = {}
        provider = (
            embedding_provider
            if embedding_provider is not None
            else default_embedding_provider(self.settings)
        )
        self._dense = make_dense_space(provider, expected_embedding_dimensions, cache_config)
        self._reranker = reranker if reranker is not None else BundledReranker(self.settings.threads or None)
        self.reader = reader if reader is not None else default_reader(self.settings)
        if token_space is None and embedding_provider is None:
            token_space = default_token_space(self.settings)
        self._token_space = token_space
        self._embedder = self._make_embedder()
        self.kit = self._make_kit(frozenset(without))
        self._find_template(self.settings.template)

    def _make_embedder(self) -> Embedder | None:
        if self._dense is None:
            return None
        return Embedder(self.store, self._dense, axes.VIEWS, self._make_judge, self._token_space)

    def _make_judge(self) -> ReplacementJudge:
        from foreword.knowledge.replacement import ReplacementJudge

        reader = self.reader
        return ReplacementJudge(self.store, reader if isinstance(reader, ReplacementReader) else None)

    # Remembering

    def remember(
        self,
        text: str,
        workspace: str,
        *,
        kind: Kind = "memory",
        type: str = "",  # noqa: A002  (the document's word)
        about: str = "",
        session: str | None = None,
        conversation: str | None = None,
        confidence: float = 1.0,
        importance: float = 0.5,
        source: Source = Source(),  # noqa: B008  (frozen)
        metadata: Mapping[str, Any] | None = None,
        created_at: datetime | None = None,
        supersedes: str | None = None,
    ) -> Item:
        """Store a statement, durably. It is found by its words at once, by its meaning when it has a vector.

        `supersedes` is the id of an item that this one replaces: that one no longer appears in contexts.
        """
        self._require_known_ids(workspace, [supersedes] if supersedes is not None else [])
        item = Item(
            text=text,
            workspace=workspace,
            kind=kind,
            type=type,
            about=about,
            session=session,
            conversation=conversation,
            confidence=confidence,
            importance=importance,
            source=source,
            metadata=metadata if metadata is not None else {},
            created_at=created_at if created_at is not None else self.clock(),
        )
        changes = [] if supersedes is None else [Amend(workspace, supersedes, superseded_by=NEWEST)]
        return self.remember_all([item], workspace, changes)[0]

    def remember_all(
        self, items: Iterable[Item], workspace: str, changes: Sequence[Amend] = ()
    ) -> list[Item]:
        """Store many items, a few hundred a transaction. All are checked before the first is written.

        A statement supersedes older ones about the same subject and attribute. `changes` are made in the
        transaction that stores the last item, whose id they may give as `NEWEST`.
        """
        check_workspace(workspace)
        counted = [
            replace(item, tokens=self.tokenizer.count(item.text), workspace=workspace)
            for item in (redact_item(check_item(item)) for item in items)
        ]
        if changes and not counted:
            raise ValidationError("changes go with an item; give one, or amend the store")
        kept: list[Item] = []
        for start in range(0, len(counted), _BATCH):
            batch, settled = supersession.plan_supersessions(
                self.store, workspace, counted[start : start + _BATCH]
            )
            last = start + _BATCH >= len(counted)
            more = self._fill_in_hash(workspace, batch[-1], changes) if last else []
            stored, *amended = self.store.batch([Put(workspace, batch), *settled, *more])
            now = {item.id: item for item in amended if item is not None}
            kept += [now.get(one.item.id, one.item) for one in stored]
            if self._embedder:
                self._embedder.embed_soon(workspace, [one.item for one in stored if one.new])
        return kept

    def relate(
        self,
        from_id: str,
        to_id: str,
        workspace: str,
        type: str = "related_to",  # noqa: A002
        confidence: float = 1.0,
    ) -> Relation:
        """Store a relation between two items."""
        label = redact(check_text("type", type, 200))
        relation = Relation(from_id, to_id, label, check_fraction("confidence", confidence), self.clock())
        self.store.run(PutRelations(workspace, (relation,)))
        return relation

    def forget(
        self,
        workspace: str,
        *ids: str,
        session: str | None = None,
        source: str | None = None,
        words: str = "",
        verify: bool = True,
    ) -> Forgotten:
        """Remove items, and everything made from them, for good; then check that nothing is left.

        `words` means every item that has all of them, and such receipts; what waits to be stored counts, too.
        """
        if not ids and session is None and source is None and not words:
            raise ValidationError("say what to forget: ids, a session, a source or words")
        self.store_waiting_events(drop_unreadable=True)
        removed: list[str] = []
        if words:
            ids = (*ids, *(item.id for item in self.find_by_words(workspace, words)))
        if ids or words:
            removed += self.store.delete(Delete(workspace, ids, words=content_words(words)))
        if session is not None or source is not None:
            removed += self.store.delete(Delete(workspace, filters=Filters(session=session, source=source)))
        if self._dense:
            self._dense.cache.clear()
        if self._token_space:
            self._token_space.clear_question_cache()
        return Forgotten(tuple(removed), self.store.check(workspace) if verify else ())

    def find_by_words(self, workspace: str, words: str) -> list[Item]:
        """Every item that has all the words, in its text, its `about` or its metadata."""
        return find_items_with_all_words(self.store, check_workspace(workspace), words)

    # Searching

    def search(
        self,
        query: str,
        workspace: str,
        options: SearchOptions | None = None,
        **changes: Unpack[SearchChanges],
    ) -> list[SearchResult]:
        """The items that answer a question, best first."""
        chosen = merge_options(SearchOptions, options, changes)
        return self._search(self._build_text_query(query, workspace, chosen), chosen)

    def search_by_vector(
        self,
        vector: Sequence[float],
        workspace: str,
        options: SearchOptions | None = None,
        **changes: Unpack[SearchChanges],
    ) -> list[SearchResult]:
        """The items nearest to a vector of this engine's encoder."""
        chosen = merge_options(SearchOptions, options, changes)
        return self._search(self._build_vector_query(vector, workspace, chosen), chosen)

    # Building a context

    def build_context(
        self,
        query: str,
        workspace: str,
        options: ContextOptions | None = None,
        *,
        on_error: Literal["raise", "empty"] = "raise",
        **changes: Unpack[ContextChanges],
    ) -> ContextResult:
        """The text to put before a prompt, within its budget, and its receipt.

        With `on_error="empty"` a ForewordError becomes an empty context, with a note and a warning.
        """
        if on_error not in ("raise", "empty"):
            raise ValidationError(f"on_error is 'raise' or 'empty', not {on_error!r}")
        try:
            chosen = merge_options(ContextOptions, options, changes)
            return self._build_context(self._build_text_query(query, workspace, chosen), chosen)
        except ForewordError as error:
            if on_error != "empty":
                raise
            _log.warning("no context could be built", workspace=workspace, error=str(error))
            from foreword.recipes.chat import empty_context

            return empty_context(redact(str(query)), workspace, self.clock(), error)

    def build_context_by_vector(
        self,
        vector: Sequence[float],
        workspace: str,
        options: ContextOptions | None = None,
        **changes: Unpack[ContextChanges],
    ) -> ContextResult:
        """The same as `build_context`, for a vector of this engine's encoder instead of a question."""
        chosen = merge_options(ContextOptions, options, changes)
        return self._build_context(self._build_vector_query(vector, workspace, chosen), chosen)

    def preview_context(
        self,
        query: str,
        workspace: str,
        options: ContextOptions | None = None,
        **changes: Unpack[ContextChanges],
    ) -> ContextPreview:
        """What `build_context` would give, with its scores; nothing is recorded."""
        from foreword.recipes.chat import context_preview_with_numbers

        chosen = merge_options(ContextOptions, options, changes)
        return context_preview_with_numbers(
            self._build_context(self._build_text_query(query, workspace, chosen), chosen, keep=False)
        )

    def draft(
        self, query: str, workspace: str, options: SearchOptions, recipe: str, budget: int
    ) -> pipeline.SearchDraft:
        """A question ready for the stages of a recipe: `pipeline.run(draft, stages)`."""
        return self._begin_draft(self._build_text_query(query, workspace, options), options, recipe, budget)

    def explain(self, workspace: str, receipt_id: str = "") -> Receipt | None:
        """The receipt of a context that was built: what was injected, what was not, and why."""
        return self.store.receipt(workspace, check_text("receipt", receipt_id, 200, may_be_empty=True))

    # Adjusting

    def register_template(self, name: str, template: ContextTemplate) -> None:
        """Add a template of your own; ValidationError for a name that comes with Foreword."""
        if name in TEMPLATES:
            raise ValidationError(f"the template {name!r} comes with Foreword; choose another name")
        self._templates[check_text("template name", name, 200)] = replace(template, name=name)

    def register_ranker(self, name: str, ranker: RankingFunction) -> None:
        """Add a ranker of your own; ValidationError for a name that comes with Foreword."""
        if name in RANKERS:
            raise ValidationError(f"the ranker {name!r} comes with Foreword; choose another name")
        self._rankers[check_text("ranker name", name, 200)] = ranker

    def adjust(self, workspace: str, kind: str, **weights: float) -> None:
        """Weigh the spaces differently for one kind of item in one workspace; this is not stored.

        `adjust("shop", "turn", lexical=0.3)`: the names are the fields of `foreword.recall.fuse.Blend`.
        """
        check_kind(kind)
        if unknown := sorted(set(weights) - set(Blend.__dataclass_fields__)):
            raise ValidationError(
                f"no weight named {unknown[0]!r}; there are: {', '.join(Blend.__dataclass_fields__)}"
            )
        blends = self._blends.setdefault(check_workspace(workspace), dict(BLENDS))
        blends[kind] = replace(blends.get(kind, DEFAULT_BLEND), **weights)

    def dialogue_summarizer(self, find_replacing: FindReplacing | None = None) -> DialogueSummarizer:
        """A new summarizer of conversations: by the model that the settings name, else extractive."""
        return choose_summarizer(self.settings, self.tokenizer, find_replacing)

    # Keeping house

    def embed_pending(self, workspace: str, progress: Progress = no_progress, *, wait: bool = True) -> int:
        """Make the vectors that a workspace lacks, and return how many; without `wait`, in the background."""
        return self._embedder.embed_missing(workspace, progress, wait=wait) if self._embedder else 0

    def vectors(self, workspace: str, items: Sequence[Item]) -> dict[str, Sequence[float]]:
        """The vectors of these items by id; an item that has none yet is left out."""
        if self._dense is None or not items:
            return {}
        hashes = {item.id: self._dense.hash_of_embedded_text(item) for item in items}
        known = self.store.run(GetVectors(workspace, self._dense.digest, tuple(hashes.values())))
        return {item: known[name] for item, name in hashes.items() if name in known}

    def embed_question(self, question: str) -> list[float] | None:
        """The vector of a question; None when this engine has no encoder."""
        return self._dense.embed_question(question) if self._dense and question.strip() else None

    def count(self, workspace: str) -> Counts:
        """How many items, relations, vectors and receipts a workspace holds, and its bytes."""
        return self.store.count(workspace)

    def export(self, workspace: str) -> Iterator[str]:
        """All items of a workspace, then all relations, as lines of JSON."""
        for item in self.store.scan(workspace):
            yield jsonl.item_as_json_line(item)
        for relation in self.store.run(ListRelations(workspace)):
            yield jsonl.relation_as_json_line(relation)

    def import_lines(self, lines: Iterable[str], workspace: str) -> int:
        """Store lines in `export`'s format, and return how many; all are checked before any is stored."""
        read = list(jsonl.parse_exported_lines(lines, workspace, self.clock()))
        items = [one for one in read if isinstance(one, Item)]
        relations = tuple(one for one in read if isinstance(one, Relation))
        ends = {end for relation in relations for end in (relation.from_id, relation.to_id)}
        self._require_known_ids(workspace, sorted(ends - {item.id for item in items}))
        kept = self.remember_all(items, workspace)
        if relations:
            # An item that was stored before keeps its old id, so relations are changed to that.
            renamed = {asked.id: got.id for asked, got in zip(items, kept, strict=True) if asked.id}
            moved = tuple(
                replace(r, from_id=renamed.get(r.from_id, r.from_id), to_id=renamed.get(r.to_id, r.to_id))
                for r in relations
            )
            self.store.run(PutRelations(workspace, moved))
        return len(read)

    def close(self) -> None:
        """Stop the embedder after its batch, finish pending writes, and close the store."""
        if self._embedder:
            self._embedder.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Inside

    def _make_kit(self, without: frozenset[str]) -> pipeline.SearchKit:
        """The kit for searches, less the spaces named in `without`; ValidationError for an unknown name."""
        recency = RecencySpace()
        words: list[Space] = [LexicalSpace(), TrigramSpace(), IdentifierSpace(), EntitySpace(), GraphSpace()]
        spaces: list[Space] = [*words, recency, *([self._dense] if self._dense else [])]
        clocks: list[TimeSpace] = [HourSpace(), DaySpace(), recency]
        known = {space.name for space in spaces} | {clock.name for clock in clocks}
        tokens = self._token_space
        known |= {tokens.name} if tokens else set()
        if unknown := sorted(without - known):
            raise ValidationError(f"no space named {unknown[0]!r}; there are: {', '.join(sorted(known))}")
        return pipeline.SearchKit(
            store=self.store,
            spaces=tuple(space for space in spaces if space.name not in without),
            clocks=tuple(clock for clock in clocks if clock.name not in without),
            tokenizer=self.tokenizer,
            encoder=self._dense,
            token_space=tokens if tokens and tokens.name not in without else None,
            file_lookup=file_items.find_item_changes,
        )

    def _fill_in_hash(self, workspace: str, newest: Item, changes: Sequence[Amend]) -> list[Amend]:
        """The changes with `NEWEST` replaced by the item's hash; ValidationError if it supersedes itself."""
        if not changes:
            return []
        name = content_hash(replace(newest, created_at=newest.created_at.astimezone(UTC)))
        olds = self.store.get(workspace, *(change.id for change in changes))
        for change, old in zip(changes, olds, strict=True):
            if change.superseded_by == NEWEST and old is not None and old.hash == name:
                raise ValidationError(f"{old.id!r} says the same already; an item cannot supersede itself")
        return [
            replace(change, superseded_by=name) if change.superseded_by == NEWEST else change
            for change in changes
        ]

    def _require_known_ids(self, workspace: str, ids: Sequence[str]) -> None:
        """Raise ValidationError if an id is not in the workspace, before anything is stored."""
        for wanted, item in zip(ids, self.store.get(workspace, *ids) if ids else (), strict=True):
            if item is None:
                raise ValidationError(f"no item of {workspace!r} has the id {wanted!r}")

    def _build_text_query(self, text: str, workspace: str, options: SearchOptions) -> Query:
        return self._begin_query(redact(check_text("query", text, may_be_empty=True)), workspace, options)

    def _build_vector_query(self, vector: Sequence[float], workspace: str, options: SearchOptions) -> Query:
        if self._dense is None:
            raise EmbeddingError("this engine has no encoder; set embedding to something other than 'none'")
        self._dense.check_vector(vector)
        return self._begin_query("", workspace, options, tuple(float(value) for value in vector))

    def _begin_query(
        self, text: str, workspace: str, options: SearchOptions, vector: tuple[float, ...] | None = None
    ) -> Query:
        """The query, whose deadline begins now; the embedder waits for it, then looks for what is left."""
        check_workspace(workspace)
        if self._embedder:
            if options.deadline_ms is not None:
                self._embedder.pause_embedding_for_question()
            self._embedder.embed_soon(workspace)
        expires = None if options.deadline_ms is None else time.monotonic() + options.deadline_ms / 1000
        return Query(text, workspace, self.clock(), options.filters, options.limit, vector, expires)

    def _begin_draft(
        self, query: Query, options: SearchOptions, recipe: str, budget: int
    ) -> pipeline.SearchDraft:
        blends = self._blends.get(query.workspace, BLENDS)
        kit = replace(self.kit, blends=blends, reranker=self._reranker if options.reranks else None)
        depth = options.relationship_depth if options.include_relationships else 0
        return pipeline.SearchDraft(
            kit=kit, query=query, recipe=recipe, budget=budget, relationship_depth=depth
        )

    def _search(self, query: Query, options: SearchOptions) -> list[SearchResult]:
        return list(pipeline.run(self._begin_draft(query, options, "search", 0), pipeline.SEARCH).results)

    def _build_context(self, query: Query, options: ContextOptions, *, keep: bool = True) -> ContextResult:
        from foreword.recipes import chat  # other recipes do without it, and it takes long to import

        query = replace(query, text=shorten_with_question_first(query.text))
        template = self._find_template(options.template or self.settings.template)
        stages = chat.chat_stages(
            template,
            self._find_ranker(options.ranker or "default", query.now),
            pipeline.FLOOR if options.floor is None else options.floor,
            include_metadata=options.include_metadata,
        )
        draft = self._begin_draft(
            query, options, template.name, options.token_budget or self.settings.token_budget
        )
        kit = draft.kit.with_reader(self.reader)
        draft = pipeline.run(replace(draft, kit=kit, session=options.asked_in), stages)
        receipt = pipeline.make_receipt(draft)
        if keep:
            pipeline.store_receipt(self.store, receipt)
        return chat.ContextResult(
            context=draft.text,
            token_count=draft.tokens,
            memories=draft.results,
            truncated=any(dropped.reason == "over budget" for dropped in draft.dropped),
            template=template.name,
            receipt=receipt,
        )

    def _find_template(self, name: str) -> ContextTemplate:
        if name not in self._templates:
            raise TemplateNotFound(name, self._templates)
        return self._templates[name]

    def _find_ranker(self, ranker: str | RankingFunction, now: datetime) -> RankingFunction:
        if callable(ranker):
            return ranker
        known = {**build_rankers(now), **self._rankers}
        if ranker not in known:
            raise ValidationError(f"no ranker named {ranker!r}; there are: {', '.join(sorted(known))}")
        return known[ranker]

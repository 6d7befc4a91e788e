"""Every error a user of Foreword can see. Each message says what happened and what to do about it.

    ForewordError
    ├── ContextError             asking or answering failed; `type` is the document's tag
    │   ├── ValidationError      the call is wrong: empty text, reversed dates, unknown kind…
    │   │   ├── TemplateNotFound     no template of that name; lists those there are
    │   │   └── UnknownId            nothing in the workspace has that id
    │   ├── EmbeddingError       the encoder failed, or its vectors do not fit
    │   ├── SearchError          no space could answer
    │   ├── InjectionError       a context could not be made for an agent
    │   │   ├── RetrievalError       searching failed; `source` says how
    │   │   ├── FormattingError      a memory cannot be formatted
    │   │   ├── BudgetExceeded       the parts of a budget are more than the whole
    │   │   ├── QueryTooLarge        the question alone is more than the whole budget
    │   │   ├── CannotCompress       a prompt compressed as far as it goes is more than its budget
    │   │   └── NoContext            nothing relevant was found, and the caller asked for an error
    │   ├── ContextAssemblyError     a context could not be assembled from several sources
    │   │   └── InvalidContextTypeError  no source of that name; lists them (a ValidationError, too)
    │   └── StorageError         the store could not read or write
    │       ├── StoreDamaged         not a database, truncated, or malformed
    │       ├── StoreTooNew          written by a newer Foreword
    │       ├── StoreReadOnly        the folder or file cannot be written
    │       ├── StoreFull            no space left on the disk
    │       ├── StoreBusy            another process kept the lock too long
    │       ├── StoreAway            the server of the store cannot be reached, or does not answer
    │       └── StorePaused          nothing may be kept now: paused, or switched off for the project
    └── MissingExtra             an optional package is not installed; the message is its pip line

    >>> from foreword import ContextEngine
    >>> from foreword.errors import TemplateNotFound
    >>> engine = ContextEngine()
    >>> try:
    ...     engine.build_context("Which database?", "shop", template="prose")
    ... except TemplateNotFound as error:
    ...     print(error)
    no template named 'prose'; there are: chat, detailed, summary
    >>> engine.close()

Errors of other libraries become one of these in the module that calls the library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class ForewordError(Exception):
    """The root of everything Foreword raises on purpose."""


class ContextError(ForewordError):
    """A question could not be asked or answered."""

    type = "context_error"


class ValidationError(ContextError):
    """The call itself is wrong; nothing was read or written."""

    type = "validation_error"


class UnknownId(ValidationError):
    """Nothing in the workspace has that id."""

    type = "not_found"


class TemplateNotFound(ValidationError):
    """No template has that name."""

    type = "template_not_found"

    def __init__(self, template: str, available: Iterable[str]) -> None:
        self.template = template
        self.available = tuple(sorted(available))
        super().__init__(f"no template named {template!r}; there are: {', '.join(self.available)}")


class EmbeddingError(ContextError):
    """The encoder failed, or gave vectors that do not fit."""

    type = "embedding_error"


class SearchError(ContextError):
    """No space could answer the question."""

    type = "search_error"


class InjectionError(ContextError):
    """A context could not be made for an agent."""

    type = "injection_error"


class RetrievalError(InjectionError):
    """Searching failed; `source` is what went wrong."""

    type = "retrieval_error"

    def __init__(self, source: ContextError) -> None:
        self.source = source
        super().__init__(f"nothing could be searched: {source}")


class FormattingError(InjectionError):
    """A memory cannot be formatted."""

    type = "formatting_error"


class BudgetExceeded(InjectionError):
    """The parts of a budget sum to more than the whole."""

    type = "budget_exceeded"

    def __init__(self, requested: int, available: int) -> None:
        self.requested = requested
        self.available = available
        super().__init__(
            f"the parts of the budget sum to {requested} tokens, the whole has {available}; "
            "make them smaller, or let TokenBudget.with_total divide the whole"
        )


class QueryTooLarge(InjectionError):
    """The question alone is over the budget; it is never cut, since the rest of the prompt serves it."""

    type = "query_too_large"

    def __init__(self, tokens: int, available: int) -> None:
        self.tokens = tokens
        self.available = available
        super().__init__(
            f"the query has {tokens} tokens and the whole budget is {available}; "
            "shorten the query, or give a larger max_tokens"
        )


class CannotCompress(InjectionError):
    """A prompt is over its budget even when compressed as far as possible."""

    type = "cannot_compress"

    def __init__(self, tokens: int, target: int) -> None:
        self.tokens = tokens
        self.target = target
        super().__init__(
            f"compressed as far as it goes, the prompt has {tokens} tokens and may have {target}; "
            "shorten the query or the base instructions, or give a larger budget"
        )


class NoContext(InjectionError):
    """Nothing relevant was found; only for callers who ask for an error instead of an empty context."""

    type = "no_context"

    def __init__(self) -> None:
        super().__init__("no relevant context found; ask differently, or go on without")


class ContextAssemblyError(ContextError):
    """A context could not be assembled from several sources."""

    type = "context_assembly_error"


class InvalidContextTypeError(ContextAssemblyError, ValidationError):
    """No source of context has that name."""

    type = "invalid_context_type"

    def __init__(self, context_type: object, valid: Iterable[str]) -> None:
        self.context_type = context_type
        self.valid = tuple(valid)
        super().__init__(
            f"no context type named {context_type!r}; pass a list of some of: {', '.join(self.valid)}"
        )


class StorageError(ContextError):
    """The store could not read or write."""

    type = "storage_error"


class StoreDamaged(StorageError):
    """The database file is not a database, is truncated, or is malformed."""


class StoreTooNew(StorageError):
    """The database was written by a newer Foreword than this one."""


class StoreReadOnly(StorageError):
    """The data folder or the database file cannot be written."""


class StoreFull(StorageError):
    """The disk is full; what was stored before is safe."""


class StoreBusy(StorageError):
    """Another process held the write lock for longer than we wait."""


class StoreAway(StorageError):
    """The server of the store cannot be reached, or does not answer; what was stored there is safe."""


class StorePaused(StorageError):
    """Nothing may be stored now: Foreword is paused, or switched off for the project."""


class MissingExtra(ForewordError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(f"{package} is not installed; run: pip install 'foreword[{extra}]'")

"""One document from memories, code, experiences, values, commits and documents; and what went wrong before.

    >>> import asyncio
    >>> from foreword import ContextEngine
    >>> from foreword.assembled import ContextAssembler, EngineSearcher, Experiences
    >>> engine = ContextEngine()
    >>> _ = engine.remember("Uploads go to the S3 bucket in Dublin.", "shop", type="fact")
    >>> assembler = ContextAssembler(EngineSearcher(engine, "shop", Experiences(engine)))
    >>> context = asyncio.run(assembler.assemble_context("Where do uploads go?", ["memories", "code"]))
    >>> [item.source for item in context.items]
    ['memory']
    >>> engine.close()

`ContextAssembler.assemble_context` and `.get_premortem_context` give a `FormattedContext` of
`ContextItem`s. They use a `Searcher`, which is any object with the five searches; `EngineSearcher` is the one
that searches an engine's workspace. They raise `ContextAssemblyError`, or `InvalidContextTypeError` for an
unknown source. `Experiences` stores what was tried: an `Experience` has a goal, a hypothesis, an action, a
prediction, an outcome, and perhaps a `RootCause` and a `Lesson`. A premortem finds precedents of a `Failure`;
`Values` finds what experiences have in common. An `Indexer` reads a folder's code, documents and commits, and
gives their numbers in `Indexed`. Every name is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.engine.public_names import load_public_name

_HOME = {
    "ContextAssembler": "foreword.recipes.assembled.assembler",
    "ContextAssemblyError": "foreword.errors",
    "ContextItem": "foreword.compose.assembled",
    "EngineSearcher": "foreword.recipes.assembled.searcher",
    "Experience": "foreword.knowledge.experience",
    "Experiences": "foreword.knowledge.experiences",
    "Failure": "foreword.knowledge.precedents",
    "FormattedContext": "foreword.compose.assembled",
    "Indexed": "foreword.indexing.indexer",
    "Indexer": "foreword.indexing.indexer",
    "InvalidContextTypeError": "foreword.errors",
    "Lesson": "foreword.knowledge.experience",
    "RootCause": "foreword.knowledge.experience",
    "Searcher": "foreword.recipes.assembled.sources",
    "Values": "foreword.knowledge.values",
}

__all__ = sorted(_HOME)  # noqa: PLE0605  (one table, from which both are made)

if TYPE_CHECKING:
    from foreword.compose.assembled import ContextItem as ContextItem
    from foreword.compose.assembled import FormattedContext as FormattedContext
    from foreword.errors import ContextAssemblyError as ContextAssemblyError
    from foreword.errors import InvalidContextTypeError as InvalidContextTypeError
    from foreword.indexing.indexer import Indexed as Indexed
    from foreword.indexing.indexer import Indexer as Indexer
    from foreword.knowledge.experience import Experience as Experience
    from foreword.knowledge.experience import Lesson as Lesson
    from foreword.knowledge.experience import RootCause as RootCause
    from foreword.knowledge.experiences import Experiences as Experiences
    from foreword.knowledge.precedents import Failure as Failure
    from foreword.knowledge.values import Values as Values
    from foreword.recipes.assembled.assembler import ContextAssembler as ContextAssembler
    from foreword.recipes.assembled.searcher import EngineSearcher as EngineSearcher
    from foreword.recipes.assembled.sources import Searcher as Searcher


def __getattr__(name: str) -> object:
    """Load a public name from the module it lives in; a first context does not wait for the others."""
    return load_public_name(name, _HOME, globals())


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return __all__

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
gives their numbers in `Indexed`.
"""

from foreword.compose.assembled import ContextItem, FormattedContext
from foreword.errors import ContextAssemblyError, InvalidContextTypeError
from foreword.indexing.indexer import Indexed, Indexer
from foreword.knowledge.experience import Experience, Lesson, RootCause
from foreword.knowledge.experiences import Experiences
from foreword.knowledge.precedents import Failure
from foreword.knowledge.values import Values
from foreword.recipes.assembled.assembler import ContextAssembler
from foreword.recipes.assembled.searcher import EngineSearcher
from foreword.recipes.assembled.sources import Searcher

__all__ = [
    "ContextAssembler",
    "ContextAssemblyError",
    "ContextItem",
    "EngineSearcher",
    "Experience",
    "Experiences",
    "Failure",
    "FormattedContext",
    "Indexed",
    "Indexer",
    "InvalidContextTypeError",
    "Lesson",
    "RootCause",
    "Searcher",
    "Values",
]

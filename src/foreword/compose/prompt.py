"""A whole prompt from its parts: [SYSTEM], [CONTEXT], [KNOWLEDGE], [USER]; what is empty is left out.

Whatever the parts say, the headings are ours alone: a line of them that looks like one is escaped. The query
is never left out and never cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.compose.entity_context import entities_text
from foreword.compose.history import FormattedHistory
from foreword.compose.knowledge_chunk import knowledge_text
from foreword.compose.parts import part, sheltered, verbatim

if TYPE_CHECKING:
    from foreword.compose.entity_context import EntityContext
    from foreword.compose.knowledge_chunk import KnowledgeChunk
    from foreword.compose.parts import PartName
    from foreword.text.tokens import Tokenizer

NO_HISTORY = FormattedHistory()


@dataclass(frozen=True, slots=True)
class ContextContent:
    """What a prompt is made of, every part within its budget."""

    query: str
    system: str = ""
    history: FormattedHistory = NO_HISTORY
    entities: tuple[EntityContext, ...] = ()
    rag_chunks: tuple[KnowledgeChunk, ...] = ()


def prompt_parts(content: ContextContent) -> dict[PartName, str]:
    """The parts that say something, by name, in their order; always the user's."""
    context = "\n\n".join(filter(None, (content.history.text, entities_text(content.entities))))
    said: dict[PartName, str] = {
        "SYSTEM": content.system,
        "CONTEXT": context,
        "KNOWLEDGE": knowledge_text(content.rag_chunks),
    }
    parts: dict[PartName, str] = {name: sheltered(text) for name, text in said.items() if text.strip()}
    parts["USER"] = verbatim(content.query)
    return parts


def prompt_text(content: ContextContent) -> str:
    """The prompt as one text."""
    return "\n\n".join(part(name, text) for name, text in prompt_parts(content).items())


def prompt_tokens(content: ContextContent, tokenizer: Tokenizer) -> int:
    """What the prompt costs, headings and joins included."""
    return tokenizer.count(prompt_text(content))

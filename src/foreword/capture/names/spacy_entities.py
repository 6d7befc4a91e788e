"""Names as a spaCy pipeline of yours sees them, beside what is known by its shape.

The pipeline says who is a person, what is an organisation and what is a place; shapes, dates and code stay
with us, because no model reads `src/app.py` as a file. Loads no model: you hand a loaded one over.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from foreword.capture.names.entities import MOST_READ, find_entities
from foreword.capture.names.shapes import Mention
from foreword.errors import MissingExtra, ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foreword.types import EntityType

KINDS: Mapping[str, EntityType] = {
    **dict.fromkeys(("PERSON", "PER"), "person"),
    "ORG": "organisation",
    **dict.fromkeys(("GPE", "LOC", "FAC"), "place"),
    **dict.fromkeys(("PRODUCT", "EVENT", "WORK_OF_ART", "LAW", "MISC"), "thing"),
    "DATE": "date",
}
"""Labels of the common pipelines, and what they are here; others are passed over."""

_NAMED: tuple[EntityType, ...] = ("person", "organisation", "place", "thing")


class SpacyEntities:
    """Finds what a text names with a loaded pipeline: `SpacyEntities(spacy.load("en_core_web_sm"))`.

    What both see, the pipeline names; what has a shape of its own stays what it is.
    """

    def __init__(self, nlp: Any) -> None:  # noqa: ANN401  spaCy's Language, which is not imported here
        if find_spec("spacy") is None:
            raise MissingExtra("spacy", "spacy")
        if not hasattr(nlp, "pipe_names"):
            raise ValidationError(
                "SpacyEntities takes a loaded pipeline, such as spacy.load('en_core_web_sm')"
            )
        self._nlp = nlp
        self._most = min(MOST_READ, nlp.max_length)

    def __call__(self, text: str) -> tuple[Mention, ...]:
        """What a text names, in order; no two mentions overlap."""
        text = text[: self._most]
        return merged(find_entities(text), _mentions(self._nlp(text)))


def merged(ours: tuple[Mention, ...], theirs: tuple[Mention, ...]) -> tuple[Mention, ...]:
    """Two readings of a text as one: shapes first, then names of theirs, then what only we saw."""
    kept = [mention for mention in ours if mention.entity_type not in _NAMED]
    for mention in (*theirs, *(one for one in ours if one.entity_type in _NAMED)):
        if not any(mention.start < other.end and other.start < mention.end for other in kept):
            kept.append(mention)
    return tuple(sorted(kept, key=lambda mention: mention.start))


def _mentions(document: Any) -> tuple[Mention, ...]:  # noqa: ANN401  spaCy's Doc
    return tuple(
        Mention(span.text, KINDS[span.label_], span.start_char, span.end_char)
        for span in document.ents
        if span.label_ in KINDS and span.text.strip()
    )

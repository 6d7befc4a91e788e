"""What a text asks, doubts or imagines: stretches in which nothing is said to be so.

Knows English wordings and the marks between clauses. What somebody else is said to have told counts as told.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FLAGS = re.IGNORECASE | re.VERBOSE
_SENTENCE_END = re.compile(
    r"""(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bSt)(?<!\bProf)(?<!\b[A-Z])
        [.!?]++["'”’)\]]{0,2}(?=\s|$) | [\n;]""",
    re.VERBOSE,
)
_CLAUSE = re.compile(r",\s+|\s[–—-]\s|:\s+")
_DOUBT = re.compile(
    r"""\b(?:doubt(?:s|ed|ful)? | wonder(?:s|ed|ing)? | unsure | uncertain | no\ idea | if | whether | unless
      | maybe | perhaps | possibly | suppos(?:e|ed|edly|ing) | assum(?:e|es|ed|ing) | allegedly | rumou?rs?
      | pretend(?:s|ed|ing)? | imagin(?:e|es|ed|ing) | wish(?:es|ed)? | i\ thought | in\ case
      | (?:not|never|cannot)\ (?:(?:quite|so|really|entirely|at\ all)\ )?
        (?:sure|certain|true|clear|think|believe|know|say|said|remember) )\b
      | n['’]t\ (?:(?:quite|so|really|entirely)\ )?
        (?:sure|certain|true|clear|think|believe|know|say|remember)\b
    """,
    _FLAGS,
)
_ASKING = re.compile(
    r"""(?:(?:and|but|so|or|hey|hi|ok|okay|well)[ ,]\s*)?
        (?:who|whom|whose|what|when|where|which|why|how|is|are|am|was|were|do|does|did|has|have|had|can|could
          |will|would|should|may|might|shall)(?:n['’]t|['’]s|['’]re)?\b""",
    _FLAGS,
)
_PLAINLY_ASKING = re.compile(r"(?:is|are|was|were|does|did)(?:n['’]t)?\s", re.IGNORECASE)
_TAG = re.compile(
    r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)(?:n['’]t)?\ \w{1,5}\s*\?",
    re.IGNORECASE,
)


def doubtful(text: str) -> list[tuple[int, int]]:
    """Where a text does not say that something is so: from and to, in order and apart."""
    found: list[tuple[int, int]] = []
    for span in sorted(span for one in _sentences(text) for span in _in_sentence(text, *one)):
        if found and span[0] <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], span[1])
        else:
            found.append(span)
    return found


def is_within(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a place lies in one of the spans, which are in order and apart."""
    before = bisect_right(spans, place, key=lambda span: span[0]) - 1
    return before >= 0 and place < spans[before][1]


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _SENTENCE_END.finditer(text):
        yield start, match.end()
        start = match.end()
    if start < len(text):
        yield start, len(text)


def _in_sentence(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    start += len(text[start:end]) - len(text[start:end].lstrip())
    begins = [start, *(match.end() for match in _CLAUSE.finditer(text, start, end))]
    if "?" in text[max(start, end - 4) : end]:
        yield _asked(text, begins, end), end
    elif _PLAINLY_ASKING.match(text, start, end):
        yield start, end
    for match in _DOUBT.finditer(text, start, end):
        clause = bisect_right(begins, match.end())
        yield match.start(), begins[clause] if clause < len(begins) else end


def _asked(text: str, begins: list[int], end: int) -> int:
    """Where a question begins: with the clause that asks; with the sentence when it only ends in a tag."""
    asking = next((begin for begin in begins if _ASKING.match(text, begin, end)), begins[0])
    return begins[0] if _TAG.fullmatch(text[asking:end].strip()) else asking

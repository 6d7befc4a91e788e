"""The stages for code and commits that the recipes `chat` and `coding` share.

Code is not judged by the reader, which was trained on talk and rejects good code: it keeps the probability
that `fuse` gave it. Tests, imports and bare signatures are dropped, unless the question is about them. Of the
rest, the best piece or two are shown by their lines, the next few by name and place.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from foreword.capture.folder.file_items import MARK
from foreword.compose.code import MAX_LINES, format_code, format_commit, format_path_and_name
from foreword.pipeline import MAX_NEAR_MISSES, MAX_TOLD, limit, min_probability_worth_telling, relate
from foreword.recall.code_roles import find_unrequested_code_without_work
from foreword.types import DroppedResult

if TYPE_CHECKING:
    from foreword.pipeline import SearchDraft, Stage
    from foreword.recall.code_roles import CodeRole
    from foreword.types import SearchResult

MAX_BODIES, MAX_PLACES = 2, 3
"""At most how many pieces of code are shown by their lines, and how many more by name and place."""

MIN_BODY_SHARE, MIN_PLACE_SHARE = 0.6, 0.3
"""The least share of the best piece's probability to be shown by its lines, and to be shown by its place."""

WINDOW_PRIOR = 0.5
"""What the probability of lines that define nothing is multiplied by: they match by what their file is about,
but the answer is more often in a function beside them."""

_SECOND_LINES = MAX_LINES // 2
_ROLE_NAMES = {"test": "a test", "imports": "imports", "signature": "a bare signature"}


def set_code_aside(draft: SearchDraft) -> SearchDraft:
    """Move code from the results to `aside`, so that it is not read; drop tests, imports and signatures."""
    code = [result for result in draft.results if result.memory.kind == "code"]
    if not code:
        return draft
    roles = find_unrequested_code_without_work(draft.query.text, [result.memory for result in code])
    aside = [lower_if_code_defines_nothing(result) for result in code if result.memory.id not in roles]
    aside.sort(key=lambda result: -result.score)
    bystanders = [result for result in code if result.memory.id in roles][:MAX_NEAR_MISSES]
    dropped = [
        DroppedResult(r, "no answer", describe_why_role_dropped(roles[r.memory.id])) for r in bystanders
    ]
    rest = [result for result in draft.results if result.memory.kind != "code"]
    return replace(draft, aside=tuple(aside)).keep(rest, dropped)


def describe_why_role_dropped(role: CodeRole) -> str:
    """Why a test, an import or a bare signature is dropped, for the receipt."""
    return f"{_ROLE_NAMES[role]}, which the question is not about"


def lower_if_code_defines_nothing(result: SearchResult) -> SearchResult:
    """The result, with a lower probability if it is a piece of code that defines nothing."""
    is_window = result.memory.metadata.get("unit") == "window"
    return replace(result, score=result.score * WINDOW_PRIOR) if is_window else result


def put_back_code_above(floor: float) -> Stage[Any]:
    """A stage that returns the best code from `aside` to the results; the rest of it is dropped."""

    def bring_back_code(draft: SearchDraft) -> SearchDraft:
        if not draft.aside:
            return draft
        best_read = max((result.score for result in draft.results), default=0.0)
        least = max(floor, MIN_PLACE_SHARE * draft.aside[0].score, min_probability_worth_telling(best_read))
        near = [result for result in draft.aside if result.score >= least]
        kept, over = near[: MAX_BODIES + MAX_PLACES], near[MAX_BODIES + MAX_PLACES :]
        low = [result for result in draft.aside if result.score < floor]
        behind = [*over, *(result for result in draft.aside if floor <= result.score < least)]
        # Code that is shown by its lines takes places of other results: a long list is not read.
        most = MAX_TOLD - min(len(kept), MAX_BODIES)
        results = sorted((*draft.results[:most], *kept), key=lambda result: -result.score)
        dropped = [
            *(DroppedResult(r, "over limit", "better ones were told") for r in draft.results[most:]),
            *(DroppedResult(r, "over limit", "better code was told") for r in behind[:MAX_NEAR_MISSES]),
            *(DroppedResult(r, "below floor", f"{r.score:.2g} < {floor:g}") for r in low[:MAX_NEAR_MISSES]),
        ]
        return relate(limit(replace(draft, aside=()).keep(results, dropped)))

    return bring_back_code


def format_code_and_commits(bodies: int = MAX_BODIES) -> Stage[Any]:
    """A stage that words code and commits; at most `bodies` pieces of code are shown by their lines."""

    def choose_lines(draft: SearchDraft) -> SearchDraft:
        code = [result for result in draft.results if result.memory.kind == "code"]
        code.sort(key=lambda result: -result.score)
        excerpts = {
            result.memory.id: _format_code_marking_change(result, draft.query.text, place)
            if place < bodies and result.score >= MIN_BODY_SHARE * code[0].score
            else format_path_and_name(result.memory)
            for place, result in enumerate(code)
        }
        excerpts |= {
            result.memory.id: format_commit(result.memory, result.excerpt)
            for result in draft.results
            if result.memory.kind == "commit"
        }
        results = (replace(r, excerpt=excerpts.get(r.memory.id, r.excerpt)) for r in draft.results)
        return replace(draft, results=tuple(results))

    return choose_lines


def _format_code_marking_change(result: SearchResult, question: str, place: int) -> str:
    """The lines of a piece of code, fewer if it is not the best; marked if its file has changed."""
    item = result.memory
    changed = item.text.startswith(MARK)
    plain = replace(item, text=item.text.removeprefix(f"{MARK} ")) if changed else item
    worded = format_code(plain, question, _SECOND_LINES if place else MAX_LINES)
    return worded.replace("\n", f" {MARK}\n", 1) if changed else worded

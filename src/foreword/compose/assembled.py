"""How memories, code, experiences, values, commits and documents are worded, and the page around them.

What an item does not know is left out of its wording: items may be stored by hand, with any metadata or none.
What others wrote stays data (`quoting`), and says whose words it holds unless they are the user's; what
files, tools and pages say is quoted. Code stands under its path, a commit's message under its author. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from foreword.compose.code import MAX_LINES, choose_lines
from foreword.compose.quoting import fence_code, quote_block, quote_inline_code, quote_line, quote_prose
from foreword.text.provenance import attribution, is_foreign, quote_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from foreword.types import DroppedResult, Item, Note, Receipt, SearchResult, Source

CONTEXT = "# Context"
TITLES: Mapping[str, str] = {
    "memory": "Memories",
    "code": "Code",
    "experience": "Experiences",
    "value": "Values",
    "commit": "Commits",
    "document": "Documents",
}
"""The sections of a context, in their order, by the source that fills each."""

TYPE_NAMES: Mapping[str, str] = {source: title.lower() for source, title in TITLES.items()}
"""What each source is called where it is asked for, and counted: "memories", "code", "experiences"…"""

SPARE = ("Action", "Prediction", "Hypothesis", "Goal", "Lesson")
"""The lines that an experience can do without where room is short, what is missed least first. What came of
it, what surprised and why it failed are what it is told for."""

_NAME, _FILES = 120, 5
_STEPS = ("goal", "hypothesis", "action", "prediction")


def context_item(result: SearchResult) -> ContextItem:
    """A result of a search as a piece of context."""
    item = result.memory
    return ContextItem(item.kind, word_item(item), result.score, facts(item), result)


# Facts ---------------------------------------------------------------------------------------------------


def facts(item: Item) -> dict[str, Any]:
    """What is known of an item, under the names its source has for it."""
    held = item.metadata
    known: dict[str, Any] = {"id": item.id, "created_at": item.created_at.isoformat()}
    match item.kind:
        case "memory":
            return known | {"category": item.label, "importance": item.importance}
        case "code":
            return known | {
                "file_path": _first_text(held, "path", "file_path"),
                "start_line": held.get("start_line"),
                "end_line": held.get("end_line"),
                "language": _first_text(held, "language"),
                "unit_type": _first_text(held, "unit", "unit_type") or item.type,
                "qualified_name": _first_text(held, "qualified_name", "name"),
            }
        case "experience":
            return known | {
                "id": _first_text(held, "experience", "id") or item.id,
                "domain": _first_text(held, "domain"),
                "strategy": _first_text(held, "strategy"),
                "outcome_status": _first_text(_nested_facts(held, "outcome", "status"), "status"),
                "confidence_tier": _first_text(held, "tier", "confidence_tier"),
                "iteration_count": held.get("iteration_count", 1),
            }
        case "value":
            return known | {
                "id": _first_text(held, "experience", "id") or item.id,
                "axis": _first_text(held, "axis"),
                "cluster_id": _first_text(held, "cluster_id"),
                "cluster_size": held.get("cluster_size"),
                "similarity_to_centroid": held.get("similarity_to_centroid"),
            }
        case "commit":
            return known | {
                "sha": _first_text(held, "sha"),
                "author": _first_text(held, "author"),
                "timestamp": item.created_at.isoformat(),
                "files_changed": _changed_files(held),
                "insertions": held.get("insertions"),
                "deletions": held.get("deletions"),
            }
        case "document":
            return known | {
                "file_path": _first_text(held, "path", "file_path"),
                "start_line": held.get("start_line"),
                "end_line": held.get("end_line"),
                "page": held.get("page"),
                "title": _first_text(held, "title"),
                "headings": [str(heading) for heading in held.get("headings") or ()],
            }
    return known


# Wording -------------------------------------------------------------------------------------------------


def word_item(item: Item) -> str:
    """An item in the words of its source."""
    return _WORDINGS.get(item.kind, _word_memory)(item)


def _word_memory(item: Item) -> str:
    importance = f"{item.importance:.2f}".rstrip("0").rstrip(".")
    quoted = f"\n{quote_block(item.text)}" if is_foreign(item.source) else ""
    return (
        f"**Memory**{_author_note(item)}:{quoted or f' {quote_prose(item.text, begun=True)}'}\n"
        f"*Category: {quote_line(item.label, _NAME)}, Importance: {importance}*"
    )


def _word_code(item: Item) -> str:
    signature, docstring = _first_text(item.metadata, "signature"), _first_text(item.metadata, "docstring")
    body = "\n".join(filter(None, (signature, docstring))) if signature else item.text
    return f"{word_code_place(item)}\n{fence_code(body, _first_text(item.metadata, 'language'))}"


def word_code_place(item: Item) -> str:
    """What a piece of code is, what it is called and where it is: **function** `renew` in `holds.py:12`."""
    known = facts(item)
    name, kind = known["qualified_name"], quote_line(known["unit_type"] or "code", _NAME)
    head = f"**{kind}** {quote_inline_code(name) if name else ''}".rstrip()
    place = _place_in_file(known)
    return f"{head}{f' in {place}' if place else ''}{_author_note(item)}"


def word_code_lines(item: Item, question: str, *, is_best: bool) -> str:
    """The place of a piece of code, and its lines; of a long one those that the question names.

    The best piece has twice as many lines as another.
    """
    lines = choose_lines(item.text, question, MAX_LINES if is_best else MAX_LINES // 2)
    return f"{word_code_place(item)}\n{fence_code(lines, _first_text(item.metadata, 'language'))}"


def _place_in_file(known: Mapping[str, Any]) -> str:
    """The path and the line, as far as they are known."""
    path, start, page = known["file_path"], known["start_line"], known.get("page")
    where = f"{path}:{start}" if start is not None else f"{path}, page {page}" if page else path
    return quote_inline_code(where) if path else ""


def _word_experience(item: Item) -> str:
    kinds = (quote_line(_first_text(item.metadata, key), _NAME) for key in ("domain", "strategy"))
    heading = f"**Experience**{_author_note(item)}: {' | '.join(filter(None, kinds))}".rstrip()
    return "\n".join([heading, *(_story_lines(item) or [_prose(item, item.text)])])


def _story_lines(item: Item) -> list[str]:
    """The story of an experience, a line a step; of an item that has none of the steps, nothing."""
    held = item.metadata
    outcome = _nested_facts(held, "outcome", "status")
    ended = " - ".join(filter(None, (_first_text(outcome, "status"), _first_text(outcome, "result"))))
    story = [(step.capitalize(), _first_text(held, step)) for step in _STEPS]
    story += [
        ("Outcome", ended),
        ("Surprise", _first_text(held, "surprise")),
        ("Lesson", _first_text(_nested_facts(held, "lesson", "what_worked"), "what_worked")),
        ("Root cause", _root_cause(held)),
        ("Takeaway", _first_text(_nested_facts(held, "lesson", "what_worked"), "takeaway")),
    ]
    return [_bullet_line(name, said, item.source) for name, said in story if said]


def _word_value(item: Item) -> str:
    axis, size = _first_text(item.metadata, "axis"), item.metadata.get("cluster_size")
    cluster = f"cluster size: {quote_line(str(size), _NAME)}" if size is not None else ""
    known = ", ".join(filter(None, (quote_line(axis, _NAME), cluster)))
    return f"**Value**{f' ({known})' if known else ''}{_author_note(item)}:\n{_prose(item, item.text)}"


def _word_commit(item: Item) -> str:
    sha, author = _first_text(item.metadata, "sha"), _first_text(item.metadata, "author")
    files = _changed_files(item.metadata)
    head = "**Commit**" + (f" {quote_inline_code(sha[:7])}" if sha else "")
    head += (f" by {quote_line(author, _NAME)}" if author else "") + f" on {item.created_at:%Y-%m-%d}"
    lines = [head + _author_note(item), _prose(item, _first_text(item.metadata, "message") or item.text)]
    if files:
        named = [quote_line(name, _NAME) for name in files[:_FILES]]
        lines.append(f"*Files: {', '.join(named + ['...'] * (len(files) > _FILES))}*")
    return "\n".join(lines)


def _word_document(item: Item) -> str:
    known = facts(item)
    headings = " › ".join(quote_line(heading, _NAME) for heading in known["headings"])
    title = _place_in_file(known) or quote_line(known["title"] or item.about, _NAME)
    head = " ".join(filter(None, ("**Document**", title)))
    head += f" › {headings}" if headings else ""
    said_by = _author_note(item)
    return f"{head}{said_by}{':' if said_by else ''}\n{_prose(item, item.text)}"


_WORDINGS: Mapping[str, Callable[[Item], str]] = {
    "memory": _word_memory,
    "code": _word_code,
    "experience": _word_experience,
    "value": _word_value,
    "commit": _word_commit,
    "document": _word_document,
}


def _root_cause(held: Mapping[str, Any]) -> str:
    """Why an experience failed: the kind of the cause, and the cause."""
    root = _nested_facts(held, "root_cause", "description")
    return " - ".join(filter(None, (_first_text(root, "category"), _first_text(root, "description"))))


def word_warning(item: Item, *, failures_stand_out: bool = False) -> str:
    """An experience as a warning; a failure may stand out."""
    story = word_item(item)
    if failures_stand_out:
        story = story.replace("\n- **Outcome**: falsified", "\n- **Outcome**: **falsified**", 1)
    return story


def truncation_note(source: str, known: Mapping[str, Any]) -> str:
    """Where the whole of an item is that had to be cut."""
    path, start, sha, name = (known.get(key) for key in ("file_path", "start_line", "sha", "id"))
    if source in ("code", "document") and path:
        place = f"{path}:{start}" if start is not None else str(path)
        return f"*(truncated, see full at {quote_line(place, _NAME)})*"
    if source == "commit" and sha:
        return f"*(truncated, see full with git show {quote_line(str(sha)[:12], _NAME)})*"
    if name:
        return f"*(truncated, full {quote_line(source)} ID: {quote_line(str(name), _NAME)})*"
    return "*(truncated)*"


# Documents -----------------------------------------------------------------------------------------------


def document(title: str, sections: Sequence[tuple[str, Sequence[str]]], footer: str) -> str:
    """A title, the sections that hold anything, a rule and a footer; nothing at all without items."""
    filled = [f"## {name}\n" + "\n\n".join(pieces) for name, pieces in sections if pieces]
    return "\n\n".join([title, *filled, f"---\n{footer}\n"]) if filled else ""


def premortem_title(domain: str, strategy: str | None) -> str:
    """The first line of a premortem."""
    return f"# Premortem: {quote_line(domain)}" + (f" with {quote_line(strategy)}" if strategy else "")


def _bullet_line(name: str, said: str, source: Source) -> str:
    return f"- **{name}**: {quote_entry(said) if is_foreign(source) else quote_line(said)}"


def _author_note(item: Item) -> str:
    """Whose words these are, where that is not plain.

    Experiences and values are the agent's by nature; code and commits of the repository say where they stand.
    """
    plain = ("code", "commit") if item.source.trust == "repository" else ("experience", "value")
    if item.kind in plain and item.source.trust not in ("tool", "web"):
        return ""
    author = attribution(item)
    if is_foreign(item.source):
        return f", {author}"
    return f" ({author})" if author else ""


def _prose(item: Item, text: str) -> str:
    """The text as data; in a block of its own, marked as a quotation, if it is foreign."""
    return quote_block(text) if is_foreign(item.source) else quote_prose(text)


def _first_text(held: Mapping[str, Any], *keys: str) -> str:
    """The first of these that is there and is text."""
    found = (held.get(key) for key in keys)
    return next((value for value in found if isinstance(value, str) and value.strip()), "")


def _nested_facts(held: Mapping[str, Any], key: str, first: str) -> Mapping[str, Any]:
    """A part that has parts of its own; where somebody wrote plain words instead, they are its first."""
    part = held.get(key)
    return part if isinstance(part, Mapping) else {first: part}


def _changed_files(held: Mapping[str, Any]) -> list[str]:
    """The files that a commit changed, by whichever of the two names a list of them is kept."""
    kept = (held.get(key) for key in ("files", "files_changed"))
    return next(([str(name) for name in files] for files in kept if isinstance(files, list | tuple)), [])


@dataclass(frozen=True, slots=True)
class ContextItem:
    """A single piece of context: where it comes from, its wording, how relevant it is (0 to 1), its facts.

    `source` is memory, code, experience, value, commit or document. `result` is what a search knew of it.
    """

    source: str
    content: str
    relevance: float
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    result: SearchResult | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class FormattedContext:
    """A context ready to be put before a prompt; empty when there is nothing to say.

    `items` are those in it, as worded there, most relevant first; `sources_used` counts them by the name
    under which a source is asked for ("memories", "code"…).
    `over_by` says how many tokens it has beyond the limit it was asked to keep, `notes` what went wrong.
    """

    markdown: str
    items: tuple[ContextItem, ...]
    token_count: int
    sources_used: Mapping[str, int]
    notes: tuple[Note, ...] = ()
    over_by: int = 0
    receipt: Receipt | None = field(default=None, repr=False, compare=False)

    @property
    def limit_exceeded(self) -> bool:
        """Whether it has more tokens than it was asked to keep to."""
        return self.over_by > 0


class SourceItems(list[ContextItem]):
    """What a source found, best first; with what it left out and why, and what went wrong on the way."""

    def __init__(
        self,
        items: Iterable[ContextItem] = (),
        dropped: tuple[DroppedResult, ...] = (),
        notes: tuple[Note, ...] = (),
    ) -> None:
        super().__init__(items)
        self.dropped = dropped
        self.notes = notes

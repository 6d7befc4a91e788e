"""Markdown for memories, code, experiences, values, commits and documents, and the page around them.

Facts that an item does not have are left out: items may be stored by hand, with any metadata or none. Text
that others wrote is escaped (`quoting`) and names its author, unless that is the user; the words of files,
tools and pages are quoted. Code has its path above it, a commit's message its author. Pure functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from foreword.compose.code import MAX_LINES, choose_lines
from foreword.compose.quoting import (
    escape_markdown_in_prose,
    escape_to_one_line,
    fence_code,
    quote_block,
    quote_inline_code,
)
from foreword.text.provenance import attribution, is_from_third_party, quote_entry

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
"""The name of each source in requests and counts: "memories", "code", "experiences"…"""

DISPENSABLE_LINES = ("Action", "Prediction", "Hypothesis", "Goal", "Lesson")
"""The lines of an experience that are dropped where tokens are short, the least missed first. Its outcome,
its surprise and its root cause are never dropped."""

_MAX_NAME_CHARACTERS, _MAX_FILES = 120, 5
_STEPS = ("goal", "hypothesis", "action", "prediction")


def make_context_item(result: SearchResult) -> ContextItem:
    """A search result as a piece of context, with its Markdown and its facts."""
    item = result.memory
    return ContextItem(item.kind, format_item(item), result.score, item_facts(item), result)


# Facts ---------------------------------------------------------------------------------------------------


def item_facts(item: Item) -> dict[str, Any]:
    """What is known of an item besides its text, under the keys that are usual for its kind."""
    metadata = item.metadata
    known: dict[str, Any] = {"id": item.id, "created_at": item.created_at.isoformat()}
    match item.kind:
        case "memory":
            return known | {"category": item.label, "importance": item.importance}
        case "code":
            return known | {
                "file_path": _first_text(metadata, "path", "file_path"),
                "start_line": metadata.get("start_line"),
                "end_line": metadata.get("end_line"),
                "language": _first_text(metadata, "language"),
                "unit_type": _first_text(metadata, "unit", "unit_type") or item.type,
                "qualified_name": _first_text(metadata, "qualified_name", "name"),
            }
        case "experience":
            return known | {
                "id": _first_text(metadata, "experience", "id") or item.id,
                "domain": _first_text(metadata, "domain"),
                "strategy": _first_text(metadata, "strategy"),
                "outcome_status": _first_text(_nested_facts(metadata, "outcome", "status"), "status"),
                "confidence_tier": _first_text(metadata, "tier", "confidence_tier"),
                "iteration_count": metadata.get("iteration_count", 1),
            }
        case "value":
            return known | {
                "id": _first_text(metadata, "experience", "id") or item.id,
                "axis": _first_text(metadata, "axis"),
                "cluster_id": _first_text(metadata, "cluster_id"),
                "cluster_size": metadata.get("cluster_size"),
                "similarity_to_centroid": metadata.get("similarity_to_centroid"),
            }
        case "commit":
            return known | {
                "sha": _first_text(metadata, "sha"),
                "author": _first_text(metadata, "author"),
                "timestamp": item.created_at.isoformat(),
                "files_changed": _changed_files(metadata),
                "insertions": metadata.get("insertions"),
                "deletions": metadata.get("deletions"),
            }
        case "document":
            return known | {
                "file_path": _first_text(metadata, "path", "file_path"),
                "start_line": metadata.get("start_line"),
                "end_line": metadata.get("end_line"),
                "page": metadata.get("page"),
                "title": _first_text(metadata, "title"),
                "headings": [str(heading) for heading in metadata.get("headings") or ()],
            }
    return known


# Wording -------------------------------------------------------------------------------------------------


def format_item(item: Item) -> str:
    """The Markdown of an item, in the form that its kind has."""
    return _WORDINGS.get(item.kind, _format_memory)(item)


def _format_memory(item: Item) -> str:
    importance = f"{item.importance:.2f}".rstrip("0").rstrip(".")
    foreign = is_from_third_party(item.source)
    said = (
        f"\n{quote_block(item.text)}"
        if foreign
        else f" {escape_markdown_in_prose(item.text, after_label=True)}"
    )
    return (
        f"**Memory**{_author_note(item)}:{said}\n"
        f"*Category: {escape_to_one_line(item.label, _MAX_NAME_CHARACTERS)}, Importance: {importance}*"
    )


def _format_code(item: Item) -> str:
    signature, docstring = _first_text(item.metadata, "signature"), _first_text(item.metadata, "docstring")
    body = "\n".join(filter(None, (signature, docstring))) if signature else item.text
    return f"{format_code_place(item)}\n{fence_code(body, _first_text(item.metadata, 'language'))}"


def format_code_place(item: Item) -> str:
    """The kind, name and place of a piece of code: **function** `renew` in `holds.py:12`."""
    known = item_facts(item)
    name, kind = (
        known["qualified_name"],
        escape_to_one_line(known["unit_type"] or "code", _MAX_NAME_CHARACTERS),
    )
    head = f"**{kind}** {quote_inline_code(name) if name else ''}".rstrip()
    place = _path_with_line_or_page(known)
    return f"{head}{f' in {place}' if place else ''}{_author_note(item)}"


def format_code_lines(item: Item, question: str, *, is_best: bool) -> str:
    """The place of a piece of code and its lines; of long code only the lines that the question names.

    The best piece gets twice as many lines as any other.
    """
    lines = choose_lines(item.text, question, MAX_LINES if is_best else MAX_LINES // 2)
    return f"{format_code_place(item)}\n{fence_code(lines, _first_text(item.metadata, 'language'))}"


def _path_with_line_or_page(known: Mapping[str, Any]) -> str:
    """The path with the line or the page, as far as they are known; empty without a path."""
    path, start, page = known["file_path"], known["start_line"], known.get("page")
    where = f"{path}:{start}" if start is not None else f"{path}, page {page}" if page else path
    return quote_inline_code(where) if path else ""


def _format_experience(item: Item) -> str:
    kinds = (
        escape_to_one_line(_first_text(item.metadata, key), _MAX_NAME_CHARACTERS)
        for key in ("domain", "strategy")
    )
    heading = f"**Experience**{_author_note(item)}: {' | '.join(filter(None, kinds))}".rstrip()
    return "\n".join([heading, *(_experience_lines(item) or [_escape_or_quote(item, item.text)])])


def _experience_lines(item: Item) -> list[str]:
    """The steps of an experience, one line each; empty if the item has none of them."""
    metadata = item.metadata
    outcome = _nested_facts(metadata, "outcome", "status")
    ended = " - ".join(filter(None, (_first_text(outcome, "status"), _first_text(outcome, "result"))))
    story = [(step.capitalize(), _first_text(metadata, step)) for step in _STEPS]
    story += [
        ("Outcome", ended),
        ("Surprise", _first_text(metadata, "surprise")),
        ("Lesson", _first_text(_nested_facts(metadata, "lesson", "what_worked"), "what_worked")),
        ("Root cause", _root_cause(metadata)),
        ("Takeaway", _first_text(_nested_facts(metadata, "lesson", "what_worked"), "takeaway")),
    ]
    return [_bullet_line(name, said, item.source) for name, said in story if said]


def _format_learned_value(item: Item) -> str:
    axis, size = _first_text(item.metadata, "axis"), item.metadata.get("cluster_size")
    cluster = (
        f"cluster size: {escape_to_one_line(str(size), _MAX_NAME_CHARACTERS)}" if size is not None else ""
    )
    known = ", ".join(filter(None, (escape_to_one_line(axis, _MAX_NAME_CHARACTERS), cluster)))
    return (
        f"**Value**{f' ({known})' if known else ''}{_author_note(item)}:\n{_escape_or_quote(item, item.text)}"
    )


def _format_commit(item: Item) -> str:
    """The Markdown of a commit: its id, author and date, its message, and a few of its files."""
    sha, author = _first_text(item.metadata, "sha"), _first_text(item.metadata, "author")
    files = _changed_files(item.metadata)
    head = "**Commit**" + (f" {quote_inline_code(sha[:7])}" if sha else "")
    head += (
        f" by {escape_to_one_line(author, _MAX_NAME_CHARACTERS)}" if author else ""
    ) + f" on {item.created_at:%Y-%m-%d}"
    lines = [
        head + _author_note(item),
        _escape_or_quote(item, _first_text(item.metadata, "message") or item.text),
    ]
    if files:
        named = [escape_to_one_line(name, _MAX_NAME_CHARACTERS) for name in files[:_MAX_FILES]]
        lines.append(f"*Files: {', '.join(named + ['...'] * (len(files) > _MAX_FILES))}*")
    return "\n".join(lines)


def _format_document(item: Item) -> str:
    known = item_facts(item)
    headings = " › ".join(escape_to_one_line(heading, _MAX_NAME_CHARACTERS) for heading in known["headings"])
    title = _path_with_line_or_page(known) or escape_to_one_line(
        known["title"] or item.about, _MAX_NAME_CHARACTERS
    )
    head = " ".join(filter(None, ("**Document**", title)))
    head += f" › {headings}" if headings else ""
    said_by = _author_note(item)
    return f"{head}{said_by}{':' if said_by else ''}\n{_escape_or_quote(item, item.text)}"


_WORDINGS: Mapping[str, Callable[[Item], str]] = {
    "memory": _format_memory,
    "code": _format_code,
    "experience": _format_experience,
    "value": _format_learned_value,
    "commit": _format_commit,
    "document": _format_document,
}


def _root_cause(metadata: Mapping[str, Any]) -> str:
    """Why an experience failed: the category of the cause, and its description."""
    root = _nested_facts(metadata, "root_cause", "description")
    return " - ".join(filter(None, (_first_text(root, "category"), _first_text(root, "description"))))


def format_as_warning(item: Item, *, failures_stand_out: bool = False) -> str:
    """The Markdown of an experience as a warning; if failures stand out, "falsified" is bold."""
    story = format_item(item)
    if failures_stand_out:
        story = story.replace("\n- **Outcome**: falsified", "\n- **Outcome**: **falsified**", 1)
    return story


def truncation_note(source: str, known: Mapping[str, Any]) -> str:
    """The note at the end of a shortened item that says where the whole can be found."""
    path, start, sha, name = (known.get(key) for key in ("file_path", "start_line", "sha", "id"))
    if source in ("code", "document") and path:
        place = f"{path}:{start}" if start is not None else str(path)
        return f"*(truncated, see full at {escape_to_one_line(place, _MAX_NAME_CHARACTERS)})*"
    if source == "commit" and sha:
        return (
            f"*(truncated, see full with git show {escape_to_one_line(str(sha)[:12], _MAX_NAME_CHARACTERS)})*"
        )
    if name:
        shown_name = escape_to_one_line(str(name), _MAX_NAME_CHARACTERS)
        return f"*(truncated, full {escape_to_one_line(source)} ID: {shown_name})*"
    return "*(truncated)*"


# Documents -----------------------------------------------------------------------------------------------


def render_document(title: str, sections: Sequence[tuple[str, Sequence[str]]], footer: str) -> str:
    """A document with a title, the sections that are not empty, and a footer; empty without items."""
    filled = [f"## {name}\n" + "\n\n".join(pieces) for name, pieces in sections if pieces]
    return "\n\n".join([title, *filled, f"---\n{footer}\n"]) if filled else ""


def premortem_title(domain: str, strategy: str | None) -> str:
    """The first line of a premortem, with its domain and strategy."""
    return f"# Premortem: {escape_to_one_line(domain)}" + (
        f" with {escape_to_one_line(strategy)}" if strategy else ""
    )


def _bullet_line(name: str, said: str, source: Source) -> str:
    return f"- **{name}**: {quote_entry(said) if is_from_third_party(source) else escape_to_one_line(said)}"


def _author_note(item: Item) -> str:
    """A note that names the author of an item; empty where the author is obvious.

    Experiences and values are the agent's by nature; code and commits of the repository show their place or
    author.
    """
    plain = ("code", "commit") if item.source.trust == "repository" else ("experience", "value")
    if item.kind in plain and item.source.trust not in ("tool", "web"):
        return ""
    author = attribution(item)
    if is_from_third_party(item.source):
        return f", {author}"
    return f" ({author})" if author else ""


def _escape_or_quote(item: Item, text: str) -> str:
    """The text with its Markdown escaped; as a block quotation if the item is foreign."""
    return quote_block(text) if is_from_third_party(item.source) else escape_markdown_in_prose(text)


def _first_text(metadata: Mapping[str, Any], *keys: str) -> str:
    """The value of the first of these keys that holds text which is not blank; empty if none does."""
    found = (metadata.get(key) for key in keys)
    return next((value for value in found if isinstance(value, str) and value.strip()), "")


def _nested_facts(metadata: Mapping[str, Any], key: str, first: str) -> Mapping[str, Any]:
    """The mapping under a key; a plain value there is returned as a mapping from `first` to it."""
    part = metadata.get(key)
    return part if isinstance(part, Mapping) else {first: part}


def _changed_files(metadata: Mapping[str, Any]) -> list[str]:
    """The files that a commit changed, from whichever of two keys holds a list; empty if neither does."""
    kept = (metadata.get(key) for key in ("files", "files_changed"))
    return next(([str(name) for name in files] for files in kept if isinstance(files, list | tuple)), [])


@dataclass(frozen=True, slots=True)
class ContextItem:
    """A single piece of context: where it comes from, its wording, how relevant it is (0 to 1), its facts.

    `source` is memory, code, experience, value, commit or document. `result` is the search result that it was
    made from, if any.
    """

    source: str
    content: str
    relevance: float
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    result: SearchResult | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class FormattedContext:
    """A context ready to be put before a prompt; empty if nothing was found.

    `items` are those in it, as worded there, most relevant first; `sources_used` counts them by the name
    under which a source is asked for ("memories", "code"…). `over_by` is the number of tokens beyond the
    limit that was asked for, `notes` say what went wrong.
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
        """Whether it has more tokens than the limit."""
        return self.over_by > 0


class SourceItems(list[ContextItem]):
    """The items that a source found, best first, with the results it dropped and notes on what went wrong."""

    def __init__(
        self,
        items: Iterable[ContextItem] = (),
        dropped: tuple[DroppedResult, ...] = (),
        notes: tuple[Note, ...] = (),
    ) -> None:
        super().__init__(items)
        self.dropped = dropped
        self.notes = notes

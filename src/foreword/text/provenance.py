"""Who wrote the words of an item: how far they are trusted, how they are attributed, and how they are quoted.

Trust is an order: the user, the agent, the repository (files, documents, commits), tools, the web. The words
of the last three are *foreign*: they are never shown as a statement, but as a quotation after its
attribution. No filter of words tells an instruction from a fact; a reader who sees that "the user wants …" is
a line of a README can.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from foreword.text.clean import join_lines, remove_invisible
from foreword.text.frame import escape_entry
from foreword.text.shell import find_main_step
from foreword.types import TRUSTS, Item

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foreword.types import Source, Trust

FOREIGN: tuple[Trust, ...] = ("repository", "tool", "web")
"""The trusts of words that neither the user nor the agent wrote."""

FILED_KINDS = ("code", "document", "commit")
"""Kinds of items that come from files and their history; they are never the user's word."""

REPLACING_RANKS = {"user": 0, "agent": 1, "repository": 1, "tool": 2, "web": 3}
"""A later statement may replace an earlier one whose author has the same or a higher number."""

_MAX_NAME_CHARACTERS = 80
_MAX_COMMAND_WORDS, _MAX_COMMAND_CHARACTERS = 3, 40
_SHORT_SHA = 7
_NOT_IN_NAME = re.compile(r"[^\w .:/@+-]|:(?!\S)")
_QUOTATION_MARKS = re.compile("[“”„‟«»]")
_BEFORE_COMMAND = re.compile(r"(?:\w+=\S*\s+|(?:sudo|time|nohup)\s+)*")


def is_from_third_party(source: Source) -> bool:
    """Whether this source is neither the user nor the agent."""
    return source.trust in FOREIGN


def least_trust(sources: Iterable[Source], otherwise: Trust = "agent") -> Trust:
    """The trust of the least trusted source; `otherwise` if there are no sources."""
    ranks = [TRUSTS.index(source.trust) for source in sources]
    return TRUSTS[max(ranks)] if ranks else otherwise


def is_at_least_as_trusted(source: Source, other: Source) -> bool:
    """Whether a source is trusted at least as much as another one."""
    return TRUSTS.index(source.trust) <= TRUSTS.index(other.trust)


def may_replace(newer: Source, older: Source) -> bool:
    """Whether a later statement from one source may replace an earlier one from the other.

    A less trusted source never replaces a more trusted one. The agent and the repository are equals here: a
    commit that changes a value outdates what the agent said about it.
    """
    return REPLACING_RANKS[newer.trust] <= REPLACING_RANKS[older.trust]


# Attribution ----------------------------------------------------------------------------------------------


def attribution(item: Item) -> str:
    """The author of an item's words, as shown before them: `commit 3f2a1c0 by Ana`; "" for the user."""
    match item.source.trust:
        case "user":
            return ""
        case "agent":
            return "agent"
        case trust if item.kind == "summary":
            return f"summary of {_SUMMED_UP[trust]}"
        case "repository":
            return _repository_attribution(item)
        case "tool":
            name = _find_command_behind_output(item) or _clean_name(item.source.name.removeprefix("tool:"))
            return f"printed by `{name}`" if name else "printed by a tool"
        case "web":
            return _web_attribution(item.source.name)


def source_attribution(source: Source) -> str:
    """The attribution of words of which only the source is known; "" for the user."""
    return attribution(Item("", "", source=source))


_SUMMED_UP = {"repository": "files", "tool": "what tools printed", "web": "web pages"}


def _repository_attribution(item: Item) -> str:
    """The attribution of a commit, a file or a document: `file docs/setup.md says`."""
    facts, name = item.metadata, item.source.name
    if item.kind == "commit":
        sha = _clean_name(str(facts.get("sha") or ""))[:_SHORT_SHA]
        author = _clean_name(str(facts.get("author") or name.removeprefix("git:")))
        named = f"commit {sha}" if sha else "a commit"
        return f"{named} by {author}" if author else named
    path = str(facts.get("path") or (name.removeprefix("file:") if name.startswith("file:") else ""))
    if path:
        return f"file {_clean_name(path[-_MAX_NAME_CHARACTERS:])} says"
    title = _clean_name(str(facts.get("title") or name.removeprefix("document:")))
    return f"document {title} says" if title not in ("", "user") else "a document says"


def _web_attribution(name: str) -> str:
    """The attribution of a web page, by its host alone, as anybody can write anything into the rest."""
    try:
        host = urlsplit(name).hostname or name
    except ValueError:
        host = name
    plain = _clean_name(host)
    return f"page {plain} says" if plain not in ("", "web") else "a web page says"


def _find_command_behind_output(item: Item) -> str:
    """The first words of the command whose output is the text of a turn; "" for other items."""
    if item.kind != "turn" or not item.text.startswith("$ "):
        return ""
    step = find_main_step(remove_invisible(item.text[2:].partition("\n")[0]))
    words = _BEFORE_COMMAND.sub("", step, count=1).split()[:_MAX_COMMAND_WORDS]
    return _clean_name(" ".join(words))[:_MAX_COMMAND_CHARACTERS].rstrip()


def _clean_name(name: str) -> str:
    """A name, shortened, without punctuation that could end the attribution or begin a quotation."""
    return join_lines(_NOT_IN_NAME.sub(" ", escape_entry(name)))[:_MAX_NAME_CHARACTERS].rstrip()


# Quotation ------------------------------------------------------------------------------------------------


def quote_entry(text: str) -> str:
    """The text on one line between quotation marks, which no character inside can close."""
    return f"“{_QUOTATION_MARKS.sub(chr(34), escape_entry(text))}”"


def quote_lines(text: str) -> str:
    """The text between quotation marks, with its lines and indentation; from the second on behind a `>`."""
    lines = remove_invisible(text).strip("\n").split("\n")
    inside = "\n> ".join(f"{_indentation(line)}{escape_entry(line)}" for line in lines)
    return f"“{_QUOTATION_MARKS.sub(chr(34), inside).strip()}”"


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())] if line.strip() else ""

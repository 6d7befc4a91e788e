"""Reports of work: what an agent says that it did, and the records of files that its tools changed.

Two reports stand beside each other unless they speak of the same: that the README was updated says nothing
about a test that was written before.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.knowledge.progress_cues import task_words
from foreword.text.clean import plain_line
from foreword.text.words import fold_case

if TYPE_CHECKING:
    from foreword.types import Item

_DOING = (
    r"added|adjusted|built|bumped|changed|checked|cleaned|committed|configured|created|deleted|documented|dropped"
    r"|edited|extended|extracted|fixed|implemented|installed|made|merged|migrated|moved|patched|pushed|put|ran"
    r"|refactored|removed|renamed|replaced|rewrote|set|split|stored|switched|tested|updated|upgraded|verified"
    r"|wired|wrote"
)
_REPORT = re.compile(
    rf"(?:\A|[.!:] )\W*(?:done|finished|fertig|erledigt|(?:{_DOING}))\b"
    rf"|\bi(?:'ve| have)?(?: (?:also|just|now|then|have))* (?:{_DOING})\b"
)
_MOVES = re.compile(r"\b(?:moved|renamed|switched|replaced|instead|no longer|from now on|anymore)\b")
"""Words by which a report says that something is elsewhere, or otherwise, than it was."""

_FILE = re.compile(r"(?<![\w.@])(?:[\w.-]+/)*(?:\.[a-z][\w-]+|[\w-]{2,}\.[a-z][a-z0-9]{0,4})\b")
_TICKET = re.compile(
    r"\b(?!(?:UTF|SHA|ISO|RFC|AES|RSA|ES|CVE)-)[A-Z][A-Z0-9]{1,9}-\d{1,6}\b|(?<!\w)#\d{1,6}\b"
)
"""A piece of work by its number: `LH-112`, `#482`. Names of standards look alike and are none."""

_SAY_LITTLE = frozenset(
    {"new", "file", "files", "test", "tests", "line", "lines", "code", "entry", "changes"}
)


def is_report(text: str) -> bool:
    """Whether a text says what its author has just done: "Done. …", "I wrote them to .env"."""
    return bool(_REPORT.search(fold_case(plain_line(text))))


def are_unrelated_reports(newer: Item, older: Item) -> bool:
    """Whether two items only record what an agent did, and did it to different files or different things."""
    if (
        not (_records_agents_own_work(newer) and _records_agents_own_work(older))
        or newer.kind == "commit"
        or older.kind == "commit"
    ):
        return False
    files, others = _file_names(newer), _file_names(older)
    related = bool(_subject_words(newer) & _subject_words(older))
    if files and others and files.isdisjoint(others):
        return not (related and _MOVES.search(fold_case(newer.text)))
    if _is_record_of_file_change(newer) or _is_record_of_file_change(older):
        return False
    return not related


def are_about_different_tickets(newer: Item, older: Item) -> bool:
    """Whether an agent said both, of different tickets, and does not say that anything moved between them."""
    tickets = [set(_TICKET.findall(item.text)) for item in (newer, older) if item.source.trust == "agent"]
    if len(tickets) < 2 or not all(tickets) or tickets[0] & tickets[1]:
        return False
    return not _MOVES.search(fold_case(newer.text))


def _records_agents_own_work(item: Item) -> bool:
    """Whether an item only records what an agent did: a file that it changed, or its own report."""
    return _is_record_of_file_change(item) or (item.source.trust == "agent" and is_report(item.text))


def _is_record_of_file_change(item: Item) -> bool:
    """Whether an item is what is kept of a tool that changed a file."""
    return item.source.trust == "tool" and bool(item.metadata.get("file"))


def _file_names(item: Item) -> frozenset[str]:
    """The names of the files that an item speaks of, without their folders."""
    named = (
        [str(item.metadata["file"])]
        if _is_record_of_file_change(item)
        else _FILE.findall(fold_case(item.text))
    )
    return frozenset(fold_case(name.rpartition("/")[2]) for name in named)


def _subject_words(item: Item) -> frozenset[str]:
    """The words that say what a report is about, without its files and what was done to them."""
    said = re.sub(rf"\b(?:{_DOING})\b", " ", _FILE.sub(" ", fold_case(plain_line(item.text))))
    return task_words(" ".join(word for word in said.split() if word.strip(".,;:!") not in _SAY_LITTLE))

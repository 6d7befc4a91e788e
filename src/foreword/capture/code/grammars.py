"""How each language is parsed: its grammar, and a query (`queries/*.scm`) for definitions and references.

A query captures `function` and `class` (a whole definition), `scope` (it only lends its name to what is in
it), `rest` (a scope without braces, which reaches to the next one or to the end), `value` (a function held by
a member of an object, which is a definition once it has a few lines), `import` (a statement that only brings
names) and `reference` (a name that is called, created, inherited or imported). Queries have no predicates and
no wildcards: they run at a million nodes a second, and the binding has crashed on both. Positions are asked
for in bytes only, for the same reason.
"""

from __future__ import annotations

import importlib
import re
import threading
import warnings
from importlib import resources
from typing import TYPE_CHECKING

from foreword.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tree_sitter import Node, Parser, QueryCursor, Tree

PARSE_SECONDS = 1.0
"""How many seconds one file may be parsed for. A megabyte of real code takes a tenth of one; only text that
is no code at all, under a code file's name, makes a parser search for longer."""

MAX_BRACKET_DEPTH = 1_000
"""At most how many brackets of a kind may be open at once in a source that is parsed."""

LANGUAGES = frozenset(
    "python javascript typescript tsx go rust java c cpp csharp ruby php bash".split()  # noqa: SIM905
)
"""The languages whose functions and classes are found; every other text is cut into windows."""

_SHARED_QUERIES = {
    "javascript": ("ecmascript", "jsx", "javascript"),
    "typescript": ("ecmascript", "typescript"),
    "tsx": ("ecmascript", "jsx", "typescript"),
    "cpp": ("c", "cpp"),
}
"""The files of `queries/` that a language is made of, where it is not its own file alone."""

_GRAMMARS = {
    **{language: (f"tree_sitter_{language}", "language") for language in LANGUAGES},
    "csharp": ("tree_sitter_c_sharp", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
}
"""The package of each language, and the function in it that gives the grammar."""


class Reader:
    """A parser and a query of one language, kept for the next file. It belongs to one thread."""

    def __init__(self, parser: Parser, cursor: QueryCursor) -> None:
        self._parser = parser
        self._cursor = cursor

    def read(self, source: bytes) -> tuple[Tree, dict[str, list[Node]]] | None:
        """The tree of a source and the nodes that the query captures; None when parsing took too long."""
        try:
            tree = self._parser.parse(source)
        except ValueError:
            self._parser.reset()  # otherwise it would go on with this source when given the next
            return None
        return tree, self._cursor.captures(tree.root_node)


_thread_readers = threading.local()


def reader_for(language: str) -> Reader:
    """This thread's reader of a language. Raises MissingExtra where the grammar is not installed."""
    readers: dict[str, Reader] = _thread_readers.__dict__
    if language not in readers:
        readers[language] = _load_reader(language)
    return readers[language]


def _load_reader(language: str) -> Reader:
    package, function = _GRAMMARS[language]
    try:
        from tree_sitter import Language, Parser, Query, QueryCursor

        grammar = Language(getattr(importlib.import_module(package), function)())
    except ImportError as error:
        raise MissingExtra(error.name or package, "code") from error
    with warnings.catch_warnings():
        # The announced successor, a callback, crashes the interpreter in the versions that have both.
        warnings.simplefilter("ignore", DeprecationWarning)
        parser = Parser(grammar, timeout_micros=int(PARSE_SECONDS * 1_000_000))
    return Reader(parser, QueryCursor(Query(grammar, _read_query_text(language))))


def _read_query_text(language: str) -> str:
    """The query of a language, put together from its files."""
    folder = resources.files("foreword.capture.code").joinpath("queries")
    names = _SHARED_QUERIES.get(language, (language,))
    return "\n".join(folder.joinpath(f"{name}.scm").read_text(encoding="utf-8") for name in names)


# What may be given to a parser
#
# The parser keeps every reading that is as likely as the others. Where errors repeat, or stand below
# thousands of open brackets, it copies them all at each error: twelve kilobytes of `<a<a<a…` have taken three
# gigabytes, and the time limit was not noticed. So a text of very long lines, of the same lines again and
# again, or of brackets deeper than anybody writes is not parsed. Brackets in strings count too; they come in
# pairs, or are few.

_SHORT_SOURCE_BYTES = 4_000
_MAX_MEAN_LINE_BYTES = 300
_MAX_LINE_BYTES = 10_000
_MIN_LINES_FOR_REPEATS = 200
_MAX_MEAN_REPEATS = 40
_BRACKET_PAIRS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"))
_ALL_BYTES = bytes(range(256))
_ANGLES = re.compile(rb"(?<!<)<(?![<=-])|(?<![=-])>(?!=)|[;{}]")
_ANGLES_BY_LINE = re.compile(rb"(?<!<)<(?![<=-])|(?<![=-])>(?!=)|[;{}\n]")
_STATEMENTS_END_WITH_LINES = frozenset({"python", "ruby", "bash", "go"})


def is_parsable(source: bytes, lines: list[bytes], language: str) -> bool:
    """Whether a source, given with its lines, looks like code that somebody wrote, without parsing it."""
    if len(source) > _SHORT_SOURCE_BYTES and (
        len(source) > _MAX_MEAN_LINE_BYTES * len(lines) or max(map(len, lines)) > _MAX_LINE_BYTES
    ):
        return False
    if len(lines) > _MIN_LINES_FOR_REPEATS and len(set(lines)) * _MAX_MEAN_REPEATS < len(lines):
        return False
    return not _has_too_deep_brackets(source, language)


def _has_too_deep_brackets(source: bytes, language: str) -> bool:
    """Whether too many brackets of a kind are open at once; angles close with their statement."""
    for opener, closer in _BRACKET_PAIRS:
        if source.count(opener) > MAX_BRACKET_DEPTH:
            brackets = source.translate(None, _ALL_BYTES.translate(None, opener + closer))
            depth = _max_bracket_depth(1 if bracket == opener[0] else -1 for bracket in brackets)
            if depth > MAX_BRACKET_DEPTH:
                return True
    if source.count(b"<") <= MAX_BRACKET_DEPTH:
        return False
    angles = (_ANGLES_BY_LINE if language in _STATEMENTS_END_WITH_LINES else _ANGLES).finditer(source)
    return _max_bracket_depth({b"<": 1, b">": -1}.get(found[0], 0) for found in angles) > MAX_BRACKET_DEPTH


def _max_bracket_depth(steps: Iterable[int]) -> int:
    """How many brackets are open at most: 1 opens one, -1 closes one, 0 closes all."""
    deepest = depth = 0
    for step in steps:
        depth = max(depth + step, 0) if step else 0
        deepest = max(deepest, depth)
    return deepest

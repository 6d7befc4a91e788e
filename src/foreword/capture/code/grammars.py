"""Parse each language: its grammar, and a query (`queries/*.scm`) for definitions and references.

A query captures `function` and `class` (a whole definition), `scope` (it only adds its name to the names
inside it), `rest` (a scope without braces, which reaches to the next one or to the end of the file), `value`
(a function in a member of an object, which is a definition once it has a few lines), `import` (a statement
that only imports names) and `reference` (a name that is called, created, inherited or imported). Queries have
no predicates and no wildcards, because the binding has crashed on both, and positions are read in bytes only
for the same reason. Such queries run at a million nodes a second.
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
"""At most this many seconds are spent on parsing one file. A megabyte of real code takes a tenth of a second;
only a text that is no code, under a code file's name, takes longer."""

MAX_BRACKET_DEPTH = 1_000
"""A source with more open brackets of one kind at once is not parsed."""

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
"""The files of `queries/` that make up the query of a language; others have one file of their own."""

_GRAMMARS = {
    **{language: (f"tree_sitter_{language}", "language") for language in LANGUAGES},
    "csharp": ("tree_sitter_c_sharp", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
}
"""The package of each language, and the function in it that gives the grammar."""


class LanguageParser:
    """A parser and a query of one language, which are reused for many files. It belongs to one thread."""

    def __init__(self, parser: Parser, cursor: QueryCursor) -> None:
        self._parser = parser
        self._cursor = cursor

    def parse(self, source: bytes) -> tuple[Tree, dict[str, list[Node]]] | None:
        """The tree of a source and the nodes that the query captures; None if parsing takes too long."""
        try:
            tree = self._parser.parse(source)
        except ValueError:
            self._parser.reset()  # otherwise it would continue with this source instead of the next
            return None
        return tree, self._cursor.captures(tree.root_node)


_thread_parsers = threading.local()


def parser_for(language: str) -> LanguageParser:
    """This thread's parser of a language, loaded on first use. Raises MissingExtra without its grammar."""
    parsers: dict[str, LanguageParser] = _thread_parsers.__dict__
    if language not in parsers:
        parsers[language] = _load_parser(language)
    return parsers[language]


def _load_parser(language: str) -> LanguageParser:
    """A new parser of a language with its query. Raises MissingExtra if the grammar is not installed."""
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
    return LanguageParser(parser, QueryCursor(Query(grammar, _read_syntax_query(language))))


def _read_syntax_query(language: str) -> str:
    """The query of a language, joined from its files."""
    folder = resources.files("foreword.capture.code").joinpath("queries")
    names = _SHARED_QUERIES.get(language, (language,))
    return "\n".join(folder.joinpath(f"{name}.scm").read_text(encoding="utf-8") for name in names)


# Which sources are parsed
#
# The parser keeps all interpretations that are equally likely. Where errors repeat, or are inside thousands
# of open brackets, it copies them all at each error: twelve kilobytes of `<a<a<a…` took three gigabytes, and
# the time limit did not help. So a text of very long lines, of the same lines again and again, or of brackets
# deeper than anybody writes is not parsed. Brackets in strings count too; they come in pairs, or are few.

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


def is_safe_to_parse(source: bytes, lines: list[bytes], language: str) -> bool:
    """Whether a source looks like code that a person wrote, so that it is safe to parse."""
    if len(source) > _SHORT_SOURCE_BYTES and (
        len(source) > _MAX_MEAN_LINE_BYTES * len(lines) or max(map(len, lines)) > _MAX_LINE_BYTES
    ):
        return False
    if len(lines) > _MIN_LINES_FOR_REPEATS and len(set(lines)) * _MAX_MEAN_REPEATS < len(lines):
        return False
    return not _has_too_deep_brackets(source, language)


def _has_too_deep_brackets(source: bytes, language: str) -> bool:
    """Whether too many brackets of one kind are open at once; angle brackets close with their statement."""
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
    """The largest number of open brackets, where a step of 1 opens one, -1 closes one and 0 closes all."""
    deepest = depth = 0
    for step in steps:
        depth = max(depth + step, 0) if step else 0
        deepest = max(deepest, depth)
    return deepest

"""How each language is parsed: its grammar, and a query for what is defined and what is referred to.

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

_ECMASCRIPT = """
[(function_declaration) (generator_function_declaration) (method_definition)] @function
(variable_declarator value: [(arrow_function) (function_expression) (generator_function)]) @function
(assignment_expression right: [(arrow_function) (function_expression) (generator_function)]) @function
(pair value: [(arrow_function) (function_expression) (generator_function)]) @value
(variable_declarator value: (object)) @scope
[(class_declaration) (variable_declarator value: (class))] @class
(export_statement value: (class) @class)
(export_statement value: [(arrow_function) (function_expression) (generator_function)] @function)
(call_expression function: (identifier) @reference)
(call_expression function: (member_expression property: (property_identifier) @reference))
(new_expression constructor: (identifier) @reference)
(new_expression constructor: (member_expression property: (property_identifier) @reference))
(import_statement) @import
(import_statement source: (string (string_fragment) @reference))
(import_specifier name: (identifier) @reference)
(import_clause (identifier) @reference)
(namespace_import (identifier) @reference)
"""
_JSX = """
(jsx_opening_element name: (identifier) @reference)
(jsx_self_closing_element name: (identifier) @reference)
"""
_TYPESCRIPT_PARENT = """[
    (type_identifier) @reference
    (nested_type_identifier name: (type_identifier) @reference)
    (generic_type name: (type_identifier) @reference)
    (generic_type name: (nested_type_identifier name: (type_identifier) @reference))
]"""
_TYPESCRIPT = f"""
(public_field_definition value: [(arrow_function) (function_expression)]) @function
[(abstract_class_declaration) (interface_declaration) (type_alias_declaration) (enum_declaration)] @class
[(internal_module) (module)] @scope
(extends_clause value: (identifier) @reference)
(extends_clause value: (member_expression property: (property_identifier) @reference))
(implements_clause {_TYPESCRIPT_PARENT})
(extends_type_clause {_TYPESCRIPT_PARENT})
"""
_C = """
(function_definition) @function
(struct_specifier body: (field_declaration_list)) @class
(union_specifier body: (field_declaration_list)) @class
(enum_specifier body: (enumerator_list)) @class
(call_expression function: (identifier) @reference)
(call_expression function: (field_expression field: (field_identifier) @reference))
(preproc_include) @import
(preproc_include path: [(string_literal (string_content) @reference) (system_lib_string) @reference])
"""

_QUERIES = {
    "python": """
(function_definition) @function
(class_definition) @class
(class_definition superclasses: (argument_list (identifier) @reference))
(class_definition superclasses: (argument_list (attribute attribute: (identifier) @reference)))
(decorator [(identifier) @reference (attribute attribute: (identifier) @reference)])
(call function: [(identifier) @reference (attribute attribute: (identifier) @reference)])
[(import_statement) (import_from_statement) (future_import_statement)] @import
(import_statement name: [(dotted_name) @reference (aliased_import name: (dotted_name) @reference)])
(import_from_statement module_name: (dotted_name) @reference)
(import_from_statement name: [(dotted_name) @reference (aliased_import name: (dotted_name) @reference)])
""",
    "javascript": _ECMASCRIPT
    + _JSX
    + """
(field_definition value: [(arrow_function) (function_expression)]) @function
(class_heritage [(identifier) @reference (member_expression property: (property_identifier) @reference)])
""",
    "typescript": _ECMASCRIPT + _TYPESCRIPT,
    "tsx": _ECMASCRIPT + _TYPESCRIPT + _JSX,
    "go": """
[(function_declaration) (method_declaration)] @function
[(type_spec) (type_alias)] @class
(call_expression function: (identifier) @reference)
(call_expression function: (selector_expression field: (field_identifier) @reference))
(composite_literal type: [(type_identifier) @reference (qualified_type name: (type_identifier) @reference)])
[(import_declaration) (package_clause)] @import
(import_spec path: (interpreted_string_literal (interpreted_string_literal_content) @reference))
""",
    "rust": """
[(function_item) (macro_definition)] @function
[(struct_item) (enum_item) (union_item) (trait_item) (impl_item)] @class
(mod_item body: (declaration_list)) @scope
(call_expression function: (identifier) @reference)
(call_expression function: (field_expression field: (field_identifier) @reference))
(call_expression function: (scoped_identifier name: (identifier) @reference))
(generic_function function: (identifier) @reference)
(generic_function function: (field_expression field: (field_identifier) @reference))
(generic_function function: (scoped_identifier name: (identifier) @reference))
(macro_invocation macro: (identifier) @reference)
(struct_expression name: (type_identifier) @reference)
(impl_item trait: [(type_identifier) @reference (generic_type type: (type_identifier) @reference)])
(impl_item trait: (scoped_type_identifier name: (type_identifier) @reference))
(use_declaration) @import
(use_declaration argument: [(identifier) @reference (scoped_identifier name: (identifier) @reference)])
(use_list [(identifier) @reference (scoped_identifier name: (identifier) @reference)])
(scoped_use_list path: [(identifier) @reference (scoped_identifier name: (identifier) @reference)])
(use_as_clause path: [(identifier) @reference (scoped_identifier name: (identifier) @reference)])
""",
    "java": """
[(method_declaration) (constructor_declaration) (compact_constructor_declaration)] @function
[(class_declaration) (interface_declaration) (enum_declaration) (record_declaration)] @class
(annotation_type_declaration) @class
(method_invocation name: (identifier) @reference)
(object_creation_expression type: (type_identifier) @reference)
(object_creation_expression type: (generic_type (type_identifier) @reference))
[(marker_annotation name: (identifier) @reference) (annotation name: (identifier) @reference)]
(superclass [(type_identifier) @reference (generic_type (type_identifier) @reference)])
(type_list [(type_identifier) @reference (generic_type (type_identifier) @reference)])
[(package_declaration) (import_declaration)] @import
(import_declaration (scoped_identifier) @reference)
""",
    "c": _C,
    "cpp": _C
    + """
(class_specifier body: (field_declaration_list)) @class
(namespace_definition) @scope
(call_expression function: (qualified_identifier name: (identifier) @reference))
(call_expression function: (template_function name: (identifier) @reference))
(new_expression type: (type_identifier) @reference)
(base_class_clause (type_identifier) @reference)
(base_class_clause (qualified_identifier name: (type_identifier) @reference))
(base_class_clause (template_type name: (type_identifier) @reference))
(using_declaration) @import
""",
    "csharp": """
[(method_declaration) (constructor_declaration) (destructor_declaration)] @function
(local_function_statement) @function
[(class_declaration) (interface_declaration) (struct_declaration)] @class
[(record_declaration) (enum_declaration)] @class
(namespace_declaration) @scope
(invocation_expression function: [(identifier) @reference (generic_name (identifier) @reference)])
(invocation_expression function: (member_access_expression name: (identifier) @reference))
(invocation_expression function: (member_access_expression name: (generic_name (identifier) @reference)))
(object_creation_expression type: [(identifier) @reference (generic_name (identifier) @reference)])
(attribute name: (identifier) @reference)
(base_list [(identifier) @reference (generic_name (identifier) @reference)])
[(using_directive) (file_scoped_namespace_declaration)] @import
(file_scoped_namespace_declaration) @rest
(using_directive [(qualified_name) (identifier)] @reference)
""",
    "ruby": """
[(method) (singleton_method)] @function
[(class) (module)] @class
(call method: (identifier) @reference)
(call receiver: (constant) @reference)
(superclass [(constant) @reference (scope_resolution name: (constant) @reference)])
""",
    "php": """
[(method_declaration) (function_definition)] @function
[(class_declaration) (interface_declaration) (trait_declaration) (enum_declaration)] @class
(namespace_definition body: (compound_statement)) @scope
(function_call_expression function: [(name) @reference (qualified_name (name) @reference)])
(member_call_expression name: (name) @reference)
(nullsafe_member_call_expression name: (name) @reference)
(scoped_call_expression name: (name) @reference)
(scoped_call_expression scope: (name) @reference)
(object_creation_expression [(name) @reference (qualified_name (name) @reference)])
(base_clause (name) @reference)
(class_interface_clause (name) @reference)
(use_declaration (name) @reference)
[(php_tag) (namespace_definition !body) (namespace_use_declaration)] @import
(namespace_definition !body) @rest
(namespace_use_clause [(qualified_name) (name)] @reference)
""",
    "bash": """
(function_definition) @function
(command name: (command_name (word) @reference))
""",
}
_GRAMMARS = {
    **{language: (f"tree_sitter_{language}", "language") for language in _QUERIES},
    "csharp": ("tree_sitter_c_sharp", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
}
"""The package of each language, and the function in it that gives the grammar."""

LANGUAGES = frozenset(_QUERIES)
"""The languages whose functions and classes are found; every other text is cut into windows."""


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
    return Reader(parser, QueryCursor(Query(grammar, _QUERIES[language])))


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


def is_parsable(source: bytes, rows: list[bytes], language: str) -> bool:
    """Whether a source, given with its lines, looks like code that somebody wrote, without parsing it."""
    if len(source) > _SHORT_SOURCE_BYTES and (
        len(source) > _MAX_MEAN_LINE_BYTES * len(rows) or max(map(len, rows)) > _MAX_LINE_BYTES
    ):
        return False
    if len(rows) > _MIN_LINES_FOR_REPEATS and len(set(rows)) * _MAX_MEAN_REPEATS < len(rows):
        return False
    return not _is_too_deep(source, language)


def _is_too_deep(source: bytes, language: str) -> bool:
    """Whether too many brackets of a kind are open at once; angles close with their statement."""
    for opener, closer in _BRACKET_PAIRS:
        if source.count(opener) > MAX_BRACKET_DEPTH:
            brackets = source.translate(None, _ALL_BYTES.translate(None, opener + closer))
            if _max_depth(1 if bracket == opener[0] else -1 for bracket in brackets) > MAX_BRACKET_DEPTH:
                return True
    if source.count(b"<") <= MAX_BRACKET_DEPTH:
        return False
    angles = (_ANGLES_BY_LINE if language in _STATEMENTS_END_WITH_LINES else _ANGLES).finditer(source)
    return _max_depth({b"<": 1, b">": -1}.get(found[0], 0) for found in angles) > MAX_BRACKET_DEPTH


def _max_depth(steps: Iterable[int]) -> int:
    """How many brackets are open at most: 1 opens one, -1 closes one, 0 closes all."""
    deepest = depth = 0
    for step in steps:
        depth = max(depth + step, 0) if step else 0
        deepest = max(deepest, depth)
    return deepest

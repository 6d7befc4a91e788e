"""How each language is read: its grammar, and a query for what is defined and what is referred to.

A query names six things: `function` and `class` (a definition as a whole), `scope` (only lends its name to
what is in it), `rest` (a scope without braces: it reaches to the next, or to the end), `value` (a function
held by a member of an object: a definition once it has some lines), `import` (a statement that only brings
names) and `reference` (a name that is called, made, inherited or imported). Queries have no predicates and
no wildcards: they run at a million nodes a second, and the binding has crashed on both. Positions are asked
in bytes only, for the same reason.
"""

from __future__ import annotations

import importlib
import threading
import warnings
from typing import TYPE_CHECKING

from foreword.errors import MissingExtra

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, QueryCursor, Tree

PATIENCE = 1.0
"""Seconds that one file may be parsed for. A megabyte of real code takes a tenth of one; only text that is
no code at all, under a code file's name, makes a parser search for longer."""

_ECMASCRIPT = """
(function_declaration) @function
(generator_function_declaration) @function
(method_definition) @function
(variable_declarator value: [(arrow_function) (function_expression) (generator_function)]) @function
(assignment_expression right: [(arrow_function) (function_expression) (generator_function)]) @function
(pair value: [(arrow_function) (function_expression) (generator_function)]) @value
(variable_declarator value: (object)) @scope
(class_declaration) @class
(variable_declarator value: (class)) @class
(export_statement value: (class) @class)
(export_statement value: [(arrow_function) (function_expression) (generator_function)] @function)
(call_expression function: (identifier) @reference)
(call_expression function: (member_expression property: (property_identifier) @reference))
(new_expression constructor: (identifier) @reference)
(new_expression constructor: (member_expression property: (property_identifier) @reference))
(import_statement) @import
(import_specifier name: (identifier) @reference)
(import_clause (identifier) @reference)
(namespace_import (identifier) @reference)
(import_statement source: (string (string_fragment) @reference))
"""
_JSX = """
(jsx_opening_element name: (identifier) @reference)
(jsx_self_closing_element name: (identifier) @reference)
"""
_TYPESCRIPT = """
(public_field_definition value: [(arrow_function) (function_expression)]) @function
(abstract_class_declaration) @class
(interface_declaration) @class
(type_alias_declaration) @class
(enum_declaration) @class
(internal_module) @scope
(module) @scope
(extends_clause value: (identifier) @reference)
(extends_clause value: (member_expression property: (property_identifier) @reference))
(implements_clause (type_identifier) @reference)
(implements_clause (nested_type_identifier name: (type_identifier) @reference))
(implements_clause (generic_type name: (type_identifier) @reference))
(implements_clause (generic_type name: (nested_type_identifier name: (type_identifier) @reference)))
(extends_type_clause (type_identifier) @reference)
(extends_type_clause (nested_type_identifier name: (type_identifier) @reference))
(extends_type_clause (generic_type name: (type_identifier) @reference))
(extends_type_clause (generic_type name: (nested_type_identifier name: (type_identifier) @reference)))
"""
_C = """
(function_definition) @function
(struct_specifier body: (field_declaration_list)) @class
(union_specifier body: (field_declaration_list)) @class
(enum_specifier body: (enumerator_list)) @class
(call_expression function: (identifier) @reference)
(call_expression function: (field_expression field: (field_identifier) @reference))
(preproc_include) @import
(preproc_include path: (string_literal (string_content) @reference))
(preproc_include path: (system_lib_string) @reference)
"""

# Language: (package, the function in it that gives the grammar, query).
_GRAMMARS: dict[str, tuple[str, str, str]] = {
    "python": (
        "tree_sitter_python",
        "language",
        """
(function_definition) @function
(class_definition) @class
(class_definition superclasses: (argument_list (identifier) @reference))
(class_definition superclasses: (argument_list (attribute attribute: (identifier) @reference)))
(decorator (identifier) @reference)
(decorator (attribute attribute: (identifier) @reference))
(call function: (identifier) @reference)
(call function: (attribute attribute: (identifier) @reference))
(import_statement) @import
(import_from_statement) @import
(future_import_statement) @import
(import_statement name: (dotted_name) @reference)
(import_statement name: (aliased_import name: (dotted_name) @reference))
(import_from_statement module_name: (dotted_name) @reference)
(import_from_statement name: (dotted_name) @reference)
(import_from_statement name: (aliased_import name: (dotted_name) @reference))
""",
    ),
    "javascript": (
        "tree_sitter_javascript",
        "language",
        _ECMASCRIPT
        + _JSX
        + """
(field_definition value: [(arrow_function) (function_expression)]) @function
(class_heritage (identifier) @reference)
(class_heritage (member_expression property: (property_identifier) @reference))
""",
    ),
    "typescript": ("tree_sitter_typescript", "language_typescript", _ECMASCRIPT + _TYPESCRIPT),
    "tsx": ("tree_sitter_typescript", "language_tsx", _ECMASCRIPT + _TYPESCRIPT + _JSX),
    "go": (
        "tree_sitter_go",
        "language",
        """
(function_declaration) @function
(method_declaration) @function
(type_spec) @class
(type_alias) @class
(call_expression function: (identifier) @reference)
(call_expression function: (selector_expression field: (field_identifier) @reference))
(composite_literal type: (type_identifier) @reference)
(composite_literal type: (qualified_type name: (type_identifier) @reference))
(import_declaration) @import
(package_clause) @import
(import_spec path: (interpreted_string_literal (interpreted_string_literal_content) @reference))
""",
    ),
    "rust": (
        "tree_sitter_rust",
        "language",
        """
(function_item) @function
(macro_definition) @function
(struct_item) @class
(enum_item) @class
(union_item) @class
(trait_item) @class
(impl_item) @class
(mod_item body: (declaration_list)) @scope
(call_expression function: (identifier) @reference)
(call_expression function: (field_expression field: (field_identifier) @reference))
(call_expression function: (scoped_identifier name: (identifier) @reference))
(generic_function function: (identifier) @reference)
(generic_function function: (field_expression field: (field_identifier) @reference))
(generic_function function: (scoped_identifier name: (identifier) @reference))
(macro_invocation macro: (identifier) @reference)
(struct_expression name: (type_identifier) @reference)
(impl_item trait: (type_identifier) @reference)
(impl_item trait: (generic_type type: (type_identifier) @reference))
(impl_item trait: (scoped_type_identifier name: (type_identifier) @reference))
(use_declaration) @import
(use_declaration argument: (scoped_identifier name: (identifier) @reference))
(use_declaration argument: (identifier) @reference)
(use_list (identifier) @reference)
(use_list (scoped_identifier name: (identifier) @reference))
(scoped_use_list path: (identifier) @reference)
(scoped_use_list path: (scoped_identifier name: (identifier) @reference))
(use_as_clause path: (identifier) @reference)
(use_as_clause path: (scoped_identifier name: (identifier) @reference))
""",
    ),
    "java": (
        "tree_sitter_java",
        "language",
        """
(method_declaration) @function
(constructor_declaration) @function
(compact_constructor_declaration) @function
(class_declaration) @class
(interface_declaration) @class
(enum_declaration) @class
(record_declaration) @class
(annotation_type_declaration) @class
(method_invocation name: (identifier) @reference)
(object_creation_expression type: (type_identifier) @reference)
(object_creation_expression type: (generic_type (type_identifier) @reference))
(marker_annotation name: (identifier) @reference)
(annotation name: (identifier) @reference)
(superclass (type_identifier) @reference)
(superclass (generic_type (type_identifier) @reference))
(type_list (type_identifier) @reference)
(type_list (generic_type (type_identifier) @reference))
(package_declaration) @import
(import_declaration) @import
(import_declaration (scoped_identifier) @reference)
""",
    ),
    "c": ("tree_sitter_c", "language", _C),
    "cpp": (
        "tree_sitter_cpp",
        "language",
        _C
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
    ),
    "csharp": (
        "tree_sitter_c_sharp",
        "language",
        """
(method_declaration) @function
(constructor_declaration) @function
(destructor_declaration) @function
(local_function_statement) @function
(class_declaration) @class
(interface_declaration) @class
(struct_declaration) @class
(record_declaration) @class
(enum_declaration) @class
(namespace_declaration) @scope
(invocation_expression function: (identifier) @reference)
(invocation_expression function: (generic_name (identifier) @reference))
(invocation_expression function: (member_access_expression name: (identifier) @reference))
(invocation_expression function: (member_access_expression name: (generic_name (identifier) @reference)))
(object_creation_expression type: (identifier) @reference)
(object_creation_expression type: (generic_name (identifier) @reference))
(attribute name: (identifier) @reference)
(base_list (identifier) @reference)
(base_list (generic_name (identifier) @reference))
(using_directive) @import
(file_scoped_namespace_declaration) @import
(file_scoped_namespace_declaration) @rest
(using_directive (qualified_name) @reference)
(using_directive (identifier) @reference)
""",
    ),
    "ruby": (
        "tree_sitter_ruby",
        "language",
        """
(method) @function
(singleton_method) @function
(class) @class
(module) @class
(call method: (identifier) @reference)
(call receiver: (constant) @reference)
(superclass (constant) @reference)
(superclass (scope_resolution name: (constant) @reference))
""",
    ),
    "php": (
        "tree_sitter_php",
        "language_php",
        """
(method_declaration) @function
(function_definition) @function
(class_declaration) @class
(interface_declaration) @class
(trait_declaration) @class
(enum_declaration) @class
(namespace_definition body: (compound_statement)) @scope
(function_call_expression function: (name) @reference)
(function_call_expression function: (qualified_name (name) @reference))
(member_call_expression name: (name) @reference)
(nullsafe_member_call_expression name: (name) @reference)
(scoped_call_expression name: (name) @reference)
(scoped_call_expression scope: (name) @reference)
(object_creation_expression (name) @reference)
(object_creation_expression (qualified_name (name) @reference))
(base_clause (name) @reference)
(class_interface_clause (name) @reference)
(use_declaration (name) @reference)
(php_tag) @import
(namespace_definition !body) @import
(namespace_definition !body) @rest
(namespace_use_declaration) @import
(namespace_use_clause (qualified_name) @reference)
(namespace_use_clause (name) @reference)
""",
    ),
    "bash": (
        "tree_sitter_bash",
        "language",
        """
(function_definition) @function
(command name: (command_name (word) @reference))
""",
    ),
}
LANGUAGES = frozenset(_GRAMMARS)
"""The languages whose functions and classes are told apart; everything else is cut into windows."""


class Reader:
    """A parser and a query of one language, kept for the next file. It belongs to one thread."""

    def __init__(self, parser: Parser, cursor: QueryCursor) -> None:
        self._parser = parser
        self._cursor = cursor

    def read(self, source: bytes) -> tuple[Tree, dict[str, list[Node]]] | None:
        """The tree of a source and the nodes that the query names; None when parsing took too long."""
        try:
            tree = self._parser.parse(source)
        except ValueError:
            self._parser.reset()  # else it would go on with this source when handed the next
            return None
        return tree, self._cursor.captures(tree.root_node)


_readers = threading.local()


def reader(language: str) -> Reader:
    """This thread's reader of a language."""
    known: dict[str, Reader] = _readers.__dict__
    if language not in known:
        known[language] = _load(language)
    return known[language]


def _load(language: str) -> Reader:
    package, function, query = _GRAMMARS[language]
    try:
        from tree_sitter import Language, Parser, Query, QueryCursor

        grammar = Language(getattr(importlib.import_module(package), function)())
    except ImportError as error:
        raise MissingExtra(error.name or package, "code") from error
    with warnings.catch_warnings():
        # Its announced successor, a callback, crashes the interpreter in the versions that have both.
        warnings.simplefilter("ignore", DeprecationWarning)
        parser = Parser(grammar, timeout_micros=int(PATIENCE * 1_000_000))
    return Reader(parser, QueryCursor(Query(grammar, query)))

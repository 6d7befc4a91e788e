"""Registers the predicates as atoms that MeTTa can call, and converts values between MeTTa and Python.

Strings and numbers become MeTTa's own, and lists become expressions, so that `car-atom` and `map-atom` work
on them; everything else stays a Python object, whose fields `py-dot` reads. A vector is one such object: as
an expression of hundreds of numbers it would take seconds. A failure becomes an `Error` with advice. Needs
the extra `metta`.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from foreword.compose.compress import CompressionLevel
from foreword.compose.system_prompt import Conversational, Custom, Expert, Helpful, UserPreferences
from foreword.edges.metta.predicates import DECLARED, MettaConversation
from foreword.errors import ForewordError, MissingExtra
from foreword.recipes.dialogue.rag import RAGConfig, RAGSystem

if TYPE_CHECKING:
    from collections.abc import Callable

    from hyperon import MeTTa
    from hyperon.atoms import Atom

    from foreword.engine.context_engine import ContextEngine
    from foreword.recipes.dialogue.session import Session

_DECLARATION = re.compile(r"^\(: (\S+) (\(->.*\))\)$", re.MULTILINE)
_UNCHECKED = re.compile(r"\((?:List|Maybe) (?:\([^()]*\)|\w+)\)|\bChunk\b")
_NUMBER = re.compile(r"\b(?:Int|Float)\b")
_PERSONALITIES = (Helpful, Expert, Conversational, Custom)
_LEVELS = "".join(f"(: {level.name.capitalize()} CompressionLevel)\n" for level in CompressionLevel)
_ONE_VALUE = frozenset({"embed-query"})
"""The predicates whose answer stays one value, although it is a list."""


def register(
    metta: MeTTa,
    engine: ContextEngine,
    session: Session,
    config: RAGConfig = RAGConfig(),  # noqa: B008  (frozen)
) -> None:
    """Register the predicates, and `&state`, `&knowledge`, `&preferences` and `&personality`.

    A program that is parsed later sees the conversation as it is then.
    """
    hyperon = import_hyperon()
    conversation = MettaConversation(engine, session, RAGSystem(engine, session.workspace, config))
    for name, declared in _DECLARATION.findall(DECLARED):
        kind = metta.parse_single(_NUMBER.sub("Number", _UNCHECKED.sub("%Undefined%", declared)))
        work = getattr(conversation, name.replace("-", "_"))
        run = partial(_execute_predicate, name, declared, work)
        metta.register_atom(name, hyperon.OperationAtom(name, run, kind, unwrap=False))
    system = session.wording.system
    for name, value in {
        "&state": lambda: session.state,
        "&knowledge": lambda: conversation.knowledge,
        "&preferences": lambda: system.user_preferences or UserPreferences(),
        "&personality": lambda: system.agent_personality,
    }.items():
        metta.register_token(name, lambda _, get_value=value: _value_to_grounded_atom(get_value()))
    metta.run(_LEVELS)


# Atoms and values ----------------------------------------------------------------------------------------


def _execute_predicate(name: str, declared: str, work: Callable[..., Any], *atoms: Atom) -> list[Atom]:
    """Call a predicate with the values of these atoms; returns its answer, or an `Error` atom."""
    try:
        answer = work(*map(_atom_to_python, atoms))
    except ForewordError as error:
        problem = str(error)
    except (AttributeError, TypeError, ValueError) as error:
        problem = f"{name} is {declared}; give it such values ({error})"
    else:
        return [_value_to_grounded_atom(answer) if name in _ONE_VALUE else _value_to_atom(answer)]
    hyperon = import_hyperon()
    call = hyperon.E(hyperon.S(name), *atoms)
    return [hyperon.E(hyperon.S("Error"), call, hyperon.ValueAtom(problem))]


def _atom_to_python(atom: Atom) -> Any:  # noqa: ANN401  (whatever the program hands over)
    """The Python value of an atom: an expression is a list, `(Just x)` is x, `Nothing` is None."""
    from hyperon.atoms import ExpressionAtom, GroundedAtom, NoReduceError

    if isinstance(atom, GroundedAtom):
        return atom.get_object().content
    if isinstance(atom, ExpressionAtom):
        children = atom.get_children()
        if len(children) == 2 and str(children[0]) == "Just":
            return _atom_to_python(children[1])
        return [_atom_to_python(child) for child in children]
    if str(atom) == "Nothing":
        return None
    raise NoReduceError  # a variable or a name without a value: MeTTa leaves the call unevaluated


def _value_to_atom(value: object) -> Atom:
    """The atom of a Python value: a sequence is an expression, a level is a symbol."""
    hyperon = import_hyperon()
    if isinstance(value, list | tuple):
        return hyperon.E(*map(_value_to_atom, value))
    if isinstance(value, CompressionLevel):
        return hyperon.S(value.name.capitalize())
    return _value_to_grounded_atom(value)


def _value_to_grounded_atom(value: object) -> Atom:
    """An atom that holds the Python value itself, with the name of its type."""
    return import_hyperon().ValueAtom(value, _metta_type_name(value))


def _metta_type_name(value: object) -> str | None:
    """The name of an object's type in MeTTa; None for types that MeTTa has itself."""
    if isinstance(value, str | bool | int | float | list | tuple):
        return None
    if isinstance(value, _PERSONALITIES):
        return "AgentPersonality"
    return "KnowledgeBase" if isinstance(value, RAGSystem) else type(value).__name__


def format_atom(atom: Atom) -> str:
    """An atom as text for printing; a string without its quotes."""
    from hyperon.atoms import AtomType, GroundedAtom

    is_text = isinstance(atom, GroundedAtom) and atom.get_grounded_type() == AtomType.STRING
    return str(_atom_to_python(atom) if is_text else atom)


def import_hyperon() -> Any:  # noqa: ANN401  (the module has no types)
    """The package `hyperon`; MissingExtra if it is not installed."""
    try:
        import hyperon
    except ImportError as error:
        raise MissingExtra("hyperon", "metta") from error
    return hyperon

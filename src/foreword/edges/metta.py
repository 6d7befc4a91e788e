"""The predicates of a conversation in MeTTa, over the same functions that Python calls.

    metta = MeTTa()
    register(metta, engine, session)
    metta.run('!(inject-context "When can I pick up my cake?" &state &knowledge 2048)')

    python -m foreword.edges.metta examples/prompt.metta

Strings and numbers are MeTTa's own and lists are expressions, so that `car-atom` and `map-atom` work on them;
everything else travels as the Python object it is, whose fields `py-dot` reads. A vector is one such object:
as an expression of hundreds of numbers it would take seconds. What goes wrong is an `Error` that says what
to do. Needs the extra `metta`.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreword.compose.compress import CompressionLevel
from foreword.compose.system_prompt import Conversational, Custom, Expert, Helpful, UserPreferences
from foreword.config import load
from foreword.dialogue import Turn
from foreword.edges.metta_predicates import DECLARED, Conversation
from foreword.engine import ContextEngine
from foreword.errors import ForewordError, MissingExtra
from foreword.knowledge_base import Document, KnowledgeBase
from foreword.rag import RAGConfig, RAGSystem
from foreword.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hyperon import MeTTa
    from hyperon.atoms import Atom

_DECLARATION = re.compile(r"^\(: (\S+) (\(->.*\))\)$", re.MULTILINE)
_UNCHECKED = re.compile(r"\((?:List|Maybe) (?:\([^()]*\)|\w+)\)|\bChunk\b")
_NUMBER = re.compile(r"\b(?:Int|Float)\b")
_PERSONALITIES = (Helpful, Expert, Conversational, Custom)
_LEVELS = "".join(f"(: {level.name.capitalize()} CompressionLevel)\n" for level in CompressionLevel)
_ONE_VALUE = frozenset({"embed-query"})
"""Whose answer stays one value, although it is a list."""


def register(
    metta: MeTTa,
    engine: ContextEngine,
    session: Session,
    config: RAGConfig = RAGConfig(),  # noqa: B008  (frozen)
) -> None:
    """Make the predicates known, and `&state`, `&knowledge`, `&preferences` and `&personality`.

    A program that is parsed later sees the conversation as it stands then.
    """
    hyperon = _hyperon()
    conversation = Conversation(engine, session, RAGSystem(engine, session.workspace, config))
    for name, declared in _DECLARATION.findall(DECLARED):
        kind = metta.parse_single(_NUMBER.sub("Number", _UNCHECKED.sub("%Undefined%", declared)))
        work = getattr(conversation, name.replace("-", "_"))
        run = partial(_executed, name, declared, work)
        metta.register_atom(name, hyperon.OperationAtom(name, run, kind, unwrap=False))
    system = session.wording.system
    for name, value in {
        "&state": lambda: session.state,
        "&knowledge": lambda: conversation.knowledge,
        "&preferences": lambda: system.user_preferences or UserPreferences(),
        "&personality": lambda: system.agent_personality,
    }.items():
        metta.register_token(name, partial(_parsed, value))
    metta.run(_LEVELS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a MeTTa program on a conversation and print what it gives; 1 when any of that is an error."""
    asked = _arguments(arguments)
    try:
        hyperon, program = _hyperon(), asked.script.read_text(encoding="utf-8")
        with _opened(asked) as (engine, session):
            metta = hyperon.MeTTa()
            register(metta, engine, session)
            results = metta.run(program, flat=True)
            shown = [_shown(result) for result in results]
    except (ForewordError, OSError, UnicodeDecodeError, RuntimeError) as error:
        print(f"metta: {error}", file=sys.stderr)  # noqa: T201  (there is nobody else to tell)
        return 1
    print("\n".join(shown))  # noqa: T201  (what was asked for)
    return 1 if any(line.startswith("(Error ") for line in shown) else 0


# Atoms and values ----------------------------------------------------------------------------------------


def _executed(name: str, declared: str, work: Callable[..., Any], *atoms: Atom) -> list[Atom]:
    """One call: the atoms as values, the answer as an atom; what we refuse is an error of MeTTa's own."""
    try:
        answer = work(*map(_value, atoms))
    except ForewordError as error:
        problem = str(error)
    except (AttributeError, TypeError, ValueError) as error:
        problem = f"{name} is {declared}; give it such values ({error})"
    else:
        return [_grounded(answer) if name in _ONE_VALUE else _atom(answer)]
    hyperon = _hyperon()
    call = hyperon.E(hyperon.S(name), *atoms)
    return [hyperon.E(hyperon.S("Error"), call, hyperon.ValueAtom(problem))]


def _parsed(value: Callable[[], object], token: str) -> Atom:
    """A value by its token, as it is when a program is read."""
    del token
    return _grounded(value())


def _value(atom: Atom) -> Any:  # noqa: ANN401  (whatever the program hands over)
    """The Python value of an atom: an expression is a list, `(Just x)` is x, `Nothing` is None."""
    from hyperon.atoms import ExpressionAtom, GroundedAtom, NoReduceError

    if isinstance(atom, GroundedAtom):
        return atom.get_object().content
    if isinstance(atom, ExpressionAtom):
        children = atom.get_children()
        if len(children) == 2 and str(children[0]) == "Just":
            return _value(children[1])
        return [_value(child) for child in children]
    if str(atom) == "Nothing":
        return None
    raise NoReduceError  # a variable or a name without a value: the call stays as it is written


def _atom(value: object) -> Atom:
    """The atom of a Python value: a sequence is an expression, a level is a symbol."""
    hyperon = _hyperon()
    if isinstance(value, list | tuple):
        return hyperon.E(*map(_atom, value))
    if isinstance(value, CompressionLevel):
        return hyperon.S(value.name.capitalize())
    return _grounded(value)


def _grounded(value: object) -> Atom:
    """The value as it is, under the name of its type."""
    return _hyperon().ValueAtom(value, _type_name(value))


def _type_name(value: object) -> str | None:
    """What MeTTa calls the type of an object; nothing for what it knows itself."""
    if isinstance(value, str | bool | int | float | list | tuple):
        return None
    if isinstance(value, _PERSONALITIES):
        return "AgentPersonality"
    return "KnowledgeBase" if isinstance(value, RAGSystem) else type(value).__name__


def _shown(atom: Atom) -> str:
    """An atom as it is printed; a string without its quotes."""
    from hyperon.atoms import AtomType, GroundedAtom

    is_text = isinstance(atom, GroundedAtom) and atom.get_grounded_type() == AtomType.STRING
    return str(_value(atom) if is_text else atom)


def _hyperon() -> Any:  # noqa: ANN401  (the module has no types)
    try:
        import hyperon
    except ImportError as error:
        raise MissingExtra("hyperon", "metta") from error
    return hyperon


# A program from the command line -------------------------------------------------------------------------


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m foreword.edges.metta",
        description="Run a MeTTa program on a conversation: one that is kept, or a small sample.",
    )
    parser.add_argument("script", type=Path)
    parser.add_argument("--home", type=Path, help="the data folder; without one, a sample is used")
    parser.add_argument("--workspace", default="bakery")
    parser.add_argument("--session", default="sample")
    return parser.parse_args(given)


@contextmanager
def _opened(asked: argparse.Namespace) -> Iterator[tuple[ContextEngine, Session]]:
    """The conversation that was asked for; the sample, in a folder that goes again, when none was."""
    with tempfile.TemporaryDirectory(prefix="foreword-metta-") as folder:
        home = asked.home or Path(folder)
        settings = load({**os.environ, "FOREWORD_HOME": str(home)})
        with ContextEngine(settings=settings) as engine:
            session = Session(engine, asked.workspace, asked.session)
            if asked.home is None:
                _fill(engine, session)
            yield engine, session


def _fill(engine: ContextEngine, session: Session) -> None:
    """Four turns about a cake, and what the bakery has written down."""
    session.add_all(
        [
            Turn("Hello, I am Mara Lind. My order is PB-112: a plum cake for Friday.", "user"),
            Turn("Thank you, Mara. PB-112 is noted for Friday, 20 November.", "assistant"),
            Turn("Please leave out the nuts. You can write to mara@example.org.", "user"),
            Turn("No nuts, then; Jonas Weber bakes it himself.", "assistant"),
        ]
    )
    hours = "Cakes can be picked up from ten o'clock on the day they are ordered for.\n"
    allergies = "A cake without nuts is baked first, in a tin of its own.\n"
    KnowledgeBase(engine, session.workspace).index_documents(
        [Document("Picking up", hours), Document("Allergies", allergies)]
    )
    engine.embed_pending(session.workspace)


if __name__ == "__main__":
    sys.exit(main())

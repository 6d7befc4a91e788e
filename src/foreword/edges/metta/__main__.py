"""`python -m foreword.edges.metta SCRIPT`: runs a MeTTa program on a stored conversation, or on a sample."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from foreword.config import load_settings
from foreword.edges.metta.grounding import format_atom, import_hyperon, register
from foreword.engine.context_engine import ContextEngine
from foreword.errors import ForewordError
from foreword.indexing.knowledge_base import Document, KnowledgeBase
from foreword.recipes.dialogue.session import Session
from foreword.types import Turn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a MeTTa program on a conversation and print its results; returns 1 if one of them is an error."""
    options = _parse_options(arguments)
    try:
        hyperon, program = import_hyperon(), options.script.read_text(encoding="utf-8")
        with _open_conversation(options) as (engine, session):
            metta = hyperon.MeTTa()
            register(metta, engine, session)
            results = metta.run(program, flat=True)
            lines = [format_atom(result) for result in results]
    except (ForewordError, OSError, UnicodeDecodeError, RuntimeError) as error:
        print(f"metta: {error}", file=sys.stderr)  # noqa: T201  (there is nobody else to tell)
        return 1
    print("\n".join(lines))  # noqa: T201  (what was asked for)
    return 1 if any(line.startswith("(Error ") for line in lines) else 0


def _parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m foreword.edges.metta",
        description="Run a MeTTa program on a conversation: one that is kept, or a small sample.",
    )
    parser.add_argument("script", type=Path)
    parser.add_argument("--home", type=Path, help="the data folder; without one, a sample is used")
    parser.add_argument("--workspace", default="bakery")
    parser.add_argument("--session", default="sample")
    return parser.parse_args(arguments)


@contextmanager
def _open_conversation(options: argparse.Namespace) -> Iterator[tuple[ContextEngine, Session]]:
    """The conversation in the options; without a home, the sample in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="foreword-metta-") as folder:
        home = options.home or Path(folder)
        settings = load_settings({**os.environ, "FOREWORD_HOME": str(home)})
        with ContextEngine(settings=settings) as engine:
            session = Session(engine, options.workspace, options.session)
            if options.home is None:
                _add_sample_conversation(engine, session)
            yield engine, session


def _add_sample_conversation(engine: ContextEngine, session: Session) -> None:
    """Add four turns about a cake, and a document of the bakery."""
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

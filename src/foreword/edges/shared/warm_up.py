"""Loading the models before the first question comes."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from foreword.log import get_logger
from foreword.types import Item

if TYPE_CHECKING:
    from foreword.engine.context_engine import ContextEngine

_log = get_logger("foreword.service")
_WORKSPACE = "foreword/warm-up"
_QUESTION = "Which words come first?"


def warm_up_engine(engine: ContextEngine) -> None:
    """Load the encoder and all else that the first question needs; a failure is only logged."""
    try:
        engine.tokenizer.count(_QUESTION)
        engine.preview_context(_QUESTION, _WORKSPACE)
        if engine.reader is not None:  # the question above reads nothing, since its workspace is empty
            engine.reader.scores(_QUESTION, ["user, today: These come first."])
        if (tokens := engine.kit.token_space) is not None:  # nor does it compare anything
            tokens.compare(_QUESTION, tokens.encode_items([Item("These.", "")]))
    except Exception as error:  # noqa: BLE001  (a part that fails will say so again; words still find)
        _log.warning("warming up failed", problem=str(error))
    exempt_loaded_objects_from_gc()


def exempt_loaded_objects_from_gc() -> None:
    """Let garbage collections not look again at what is loaded now, since it stays; they delay answers."""
    gc.collect()
    gc.freeze()

"""What an engine asks of an operation before it carries it out, whatever the engine."""

from __future__ import annotations

from typing import Any

from foreword.errors import ValidationError
from foreword.store import base, browsing, exchange
from foreword.types import Findings


def keeps_words(operation: base.Operation[Any]) -> bool:
    """Whether an operation stores words that somebody said or wrote."""
    kinds = base.Put | base.PutReceipt | base.PutFile | base.PutRelations | base.Amend
    return isinstance(operation, kinds)


def creates_workspace(operation: base.Operation[Any]) -> bool:
    """Whether an operation creates its workspace if there is none."""
    return isinstance(operation, base.Put | base.PutReceipt | base.PutFile)


def result_in_empty_workspace(operation: base.Operation[Any]) -> Any:  # noqa: ANN401, C901  (each has its own)
    """What an operation returns in a workspace that holds nothing."""
    match operation:
        case base.Get():
            return (None,) * len(operation.ids)
        case base.Search():
            return Findings({}, {probe.space: () for probe in operation.probes})
        case base.GetRelated():
            return dict.fromkeys(operation.ids, ())
        case base.GetVectors() | base.GetTokenCodes() | base.ListFiles():
            return {}
        case exchange.ReadOutbox():
            return exchange.Outbox()
        case exchange.GetAttached():
            return exchange.Attached()
        case base.Count():
            return base.Counts()
        case base.GetCountAndLast():
            return 0, None
        case base.PutVectors() | base.PutTokenCodes() | base.MarkShown() | base.ClearShown():
            return 0
        case exchange.ClearOutbox():
            return 0
        case base.GetShown():
            return frozenset()
        case base.GetReceipt() | base.Amend() | exchange.PutAttached() | exchange.RebuildVectors():
            return None
        case base.PutRelations():
            raise ValidationError(f"the workspace {operation.workspace!r} holds nothing to relate")
    return browsing.result_in_empty_workspace(operation)  # a tuple, for the rest

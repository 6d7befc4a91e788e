"""What every operation returns in a workspace that holds nothing, for engines that have nothing to ask."""

from __future__ import annotations

from typing import Any

from foreword.errors import ValidationError
from foreword.store import base
from foreword.types import Findings


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
        case base.ReadOutbox():
            return base.Outbox()
        case base.GetAttached():
            return base.Attached()
        case base.Count():
            return base.Counts()
        case base.GetCountAndLast():
            return 0, None
        case base.PutVectors() | base.PutTokenCodes() | base.MarkShown() | base.ClearShown():
            return 0
        case base.ClearOutbox():
            return 0
        case base.GetShown():
            return frozenset()
        case base.GetReceipt() | base.Amend() | base.PutAttached():
            return None
        case base.PutRelations():
            raise ValidationError(f"the workspace {operation.workspace!r} holds nothing to relate")
    return ()  # everything else returns a tuple

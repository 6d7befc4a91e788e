"""The handling of operations that is the same in every engine; it knows no SQL."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from foreword.errors import ValidationError
from foreword.options import check_workspace
from foreword.store import base, browsing, exchange
from foreword.store.rows import MAX_TEXT_CHARACTERS
from foreword.types import Findings
from foreword.types.deadlines import current_deadline, earliest_deadline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foreword.types import Receipt


def run_by_workspace(
    operations: Sequence[base.Operation[Any]],
    run: Callable[[str, list[base.Operation[Any]]], list[Any]],
) -> list[Any]:
    """The results of operations, in order; `run` gets all operations on one workspace at once."""
    results: list[Any] = [None] * len(operations)
    places: dict[str, list[int]] = {}
    for place, operation in enumerate(operations):
        places.setdefault(check_workspace(operation.workspace), []).append(place)
    for workspace, group in places.items():
        group_results = run(workspace, [_limit_to_deadline(operations[place]) for place in group])
        for place, result in zip(group, group_results, strict=True):
            results[place] = result
    return results


def _limit_to_deadline(operation: base.Operation[Any]) -> base.Operation[Any]:
    """The operation; a search ends when its caller's deadline passes, if that is earlier than its own."""
    if not isinstance(operation, base.Search):
        return operation
    return replace(operation, expires=earliest_deadline(operation.expires, current_deadline()))


def stores_spoken_or_written_words(operation: base.Operation[Any]) -> bool:
    """Whether an operation stores words that somebody said or wrote."""
    kinds = base.Put | base.PutReceipt | base.PutFile | base.PutRelations | base.Amend
    return isinstance(operation, kinds)


def creates_workspace(operation: base.Operation[Any]) -> bool:
    """Whether an operation creates its workspace if there is none."""
    return isinstance(operation, base.Put | base.PutReceipt | base.PutFile)


def result_in_empty_workspace(operation: base.Operation[Any]) -> Any:  # noqa: ANN401, C901  (each has its own)
    """The result of an operation in an empty workspace."""
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


def amended_columns(op: base.Amend) -> dict[str, Any]:
    """The columns of an item that an amendment changes, with their new values."""
    changes = {
        "confidence": op.confidence,
        "importance": op.importance,
        "superseded_by": op.superseded_by,
        "metadata": None if op.metadata is None else json.dumps(dict(op.metadata), sort_keys=True),
    }
    return {column: value for column, value in changes.items() if value is not None}


def remove_long_or_deleted_text(receipt: Receipt, are_stored: Callable[[set[str]], bool]) -> Receipt:
    """The receipt without its text if that is too long, and without view and text if an item was deleted."""
    if len(receipt.text) > MAX_TEXT_CHARACTERS:
        receipt = replace(receipt, text="")
    if (receipt.view or receipt.text) and not are_stored({entry.item_id for entry in receipt.entries}):
        receipt = replace(receipt, view=None, text="")  # they would still have the words of the deleted item
    return receipt

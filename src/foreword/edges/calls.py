"""What both servers ask of an engine by id, and the one error it has no name for: nothing has that id."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from foreword.capture.item_checks import check_metadata
from foreword.capture.redact import redact_json
from foreword.errors import ValidationError
from foreword.options import share
from foreword.store.base import Amend

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from foreword.engine.context_engine import ContextEngine
    from foreword.types import Item, Receipt


class UnknownId(ValidationError):
    """Nothing in the workspace has that id."""

    type = "not_found"


def item(engine: ContextEngine, workspace: str, item_id: str) -> Item:
    """The item with that id, or an error."""
    found = engine.store.get(workspace, item_id)[0]
    if found is None:
        raise UnknownId(f"no item of {workspace!r} has the id {item_id!r}; search for it first")
    return found


def receipt(engine: ContextEngine, workspace: str, receipt_id: str) -> Receipt:
    """The receipt with that id, or whose id begins so, or the newest; or an error."""
    found = engine.explain(workspace, receipt_id)
    if found is None:
        asked = (
            f"receipt of {workspace!r} begins with {receipt_id!r}"
            if receipt_id
            else f"receipt of {workspace!r}"
        )
        raise UnknownId(f"there is no {asked}; build a context first (old receipts are let go)")
    return found


def amend(
    engine: ContextEngine,
    workspace: str,
    item_id: str,
    *,
    confidence: float | None = None,
    importance: float | None = None,
    metadata: Mapping[str, Any] | None = None,
    superseded_by: str | None = None,
) -> Item:
    """Change what is known about an item, never its text; what is None stays as it is. No secret is kept."""
    for name, value in (("confidence", confidence), ("importance", importance)):
        if value is not None:
            share(name, value)
    if metadata is not None:
        check_metadata(metadata)
        metadata = redact_json(dict(metadata))
    item(engine, workspace, item_id)
    if superseded_by == item_id:
        raise ValidationError(f"{item_id!r} cannot supersede itself; name the item that replaces it")
    if superseded_by is not None and item(engine, workspace, superseded_by).superseded_by == item_id:
        raise ValidationError(f"{superseded_by!r} is superseded by {item_id!r} already; not both ways")
    change = Amend(workspace, item_id, confidence, importance, superseded_by, metadata)
    changed = cast("Item | None", engine.store.batch([change])[0])
    return changed if changed is not None else item(engine, workspace, item_id)

"""Items and receipts by their ids, for several edges; UnknownId if nothing has an id."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from foreword.capture.item_checks import check_metadata
from foreword.capture.redact import redact_json
from foreword.errors import UnknownId, ValidationError
from foreword.options import check_fraction
from foreword.store.base import Amend
from foreword.types import Filters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from foreword.engine.context_engine import ContextEngine
    from foreword.types import Item, Receipt


def get_item(engine: ContextEngine, workspace: str, item_id: str) -> Item:
    """The item with this id; UnknownId if there is none."""
    item = engine.store.get(workspace, item_id)[0]
    if item is None:
        raise UnknownId(f"no item of {workspace!r} has the id {item_id!r}; search for it first")
    return item


def find_receipt_by_id_prefix(engine: ContextEngine, workspace: str, receipt_id: str) -> Receipt:
    """The receipt whose id begins with this, or the newest if it is empty; UnknownId if there is none."""
    receipt = engine.explain(workspace, receipt_id)
    if receipt is None:
        which = f" has an id that begins with {receipt_id!r}" if receipt_id else " is kept"
        advice = "build a context first (old receipts are let go)"
        raise UnknownId(f"no receipt of {workspace!r}{which}; {advice}")
    return receipt


def find_ids_to_forget(
    engine: ContextEngine, workspace: str, ids: Sequence[str], session: str | None, source: str | None
) -> tuple[str, ...]:
    """The ids of the items that `engine.forget` would remove if it were called with the same arguments."""
    engine.store_waiting_events(drop_unreadable=False)
    found = {item.id: None for item in engine.store.get(workspace, *ids) if item is not None}
    if session is not None or source is not None:
        fitting = Filters(session=session, source=source)
        found |= {item.id: None for item in engine.store.scan(workspace, fitting)}
    return tuple(found)


def amend_item(
    engine: ContextEngine,
    workspace: str,
    item_id: str,
    *,
    confidence: float | None = None,
    importance: float | None = None,
    metadata: Mapping[str, Any] | None = None,
    superseded_by: str | None = None,
) -> Item:
    """Change an item's fields but never its text; those that are None stay. Secrets are removed.

    Returns the changed item. UnknownId or ValidationError if that is not possible.
    """
    for name, value in (("confidence", confidence), ("importance", importance)):
        if value is not None:
            check_fraction(name, value)
    if metadata is not None:
        check_metadata(metadata)
        metadata = redact_json(dict(metadata))
    get_item(engine, workspace, item_id)
    if superseded_by == item_id:
        raise ValidationError(f"{item_id!r} cannot supersede itself; name the item that replaces it")
    if superseded_by is not None and get_item(engine, workspace, superseded_by).superseded_by == item_id:
        raise ValidationError(f"{superseded_by!r} is superseded by {item_id!r} already; not both ways")
    change = Amend(workspace, item_id, confidence, importance, superseded_by, metadata)
    changed = cast("Item | None", engine.store.batch([change])[0])
    return changed if changed is not None else get_item(engine, workspace, item_id)

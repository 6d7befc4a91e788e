"""The context before each message of the user, by thread, so that it is the same after a restart.

The text is stored as the view of the context's receipt, in the workspace that it comes from. It is deleted as
soon as anything in that workspace is forgotten, and its message then gets another context. The contexts of
the threads used last are also cached in memory.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from foreword.errors import ForewordError
from foreword.log import get_logger
from foreword.store.base import GetReceipt, MarkShown, PutReceipt
from foreword.types import text_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from foreword.store.base import Store
    from foreword.types import Receipt

_log = get_logger("foreword.langgraph")

MAX_THREADS = 1_000
"""For how many threads at most contexts are cached in memory."""

_ID_CHARACTERS = 24


@dataclass(frozen=True, slots=True)
class MessageContext:
    """The context before one message of the user: the text, its tokens, the ids of its items and receipt.

    `captured` says that the message itself is stored already. `gone` says that the text of the context has
    been deleted.
    """

    text: str = ""
    ids: tuple[str, ...] = ()
    receipt_id: str = ""
    captured: bool = False
    tokens: int = 0
    gone: bool = False

    @classmethod
    def from_receipt(cls, receipt: Receipt) -> MessageContext:
        """The context in a receipt's view; one that is `gone` if the receipt has no view any more."""
        view = receipt.view or {}
        if not isinstance(view.get("text"), str):
            return cls(receipt_id=receipt.id, gone=True)
        return cls(
            text=view["text"],
            ids=tuple(view.get("ids", ())),
            receipt_id=receipt.id,
            captured=bool(view.get("captured")),
            tokens=int(view.get("tokens", 0)),
        )

    @property
    def view_to_store_in_receipt(self) -> dict[str, Any]:
        """The view that its receipt stores."""
        return {"text": self.text, "ids": list(self.ids), "captured": self.captured, "tokens": self.tokens}


class ThreadContexts:
    """The contexts of threads, by workspace, thread and the key of the message."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._contexts_by_thread: OrderedDict[tuple[str, str], dict[str, MessageContext]] = OrderedDict()
        self._lock = threading.Lock()

    def get_cached(self, workspace: str, thread: str) -> dict[str, MessageContext]:
        """The cached contexts of a thread, by the message's key, the oldest first."""
        with self._lock:
            return dict(self._contexts_by_thread.get((workspace, thread), {}))

    def load(self, workspace: str, thread: str, keys: Iterable[str]) -> dict[str, MessageContext]:
        """The contexts of those messages that have one, from the cache or from their receipts."""
        cached = self.get_cached(workspace, thread)
        wanted = list(keys)
        unknown = [key for key in wanted if key not in cached] if thread else []
        receipts = (
            self._store.batch([GetReceipt(workspace, make_receipt_id(thread, key)) for key in unknown])
            if unknown
            else []
        )
        stored = {
            key: MessageContext.from_receipt(receipt)
            for key, receipt in zip(unknown, receipts, strict=True)
            if receipt is not None
        }
        return {key: known for key in wanted if (known := cached.get(key) or stored.get(key))}

    def cache(self, workspace: str, thread: str, contexts: Mapping[str, MessageContext]) -> None:
        """Cache the contexts of a thread; those of the threads used least recently are dropped."""
        with self._lock:
            self._contexts_by_thread[workspace, thread] = dict(contexts)
            self._contexts_by_thread.move_to_end((workspace, thread))
            while len(self._contexts_by_thread) > MAX_THREADS:
                self._contexts_by_thread.popitem(last=False)

    def record(self, receipt: Receipt, key: str, context: MessageContext) -> MessageContext:
        """Store a new context and its receipt, and mark its items as shown; returns it with the receipt's id.

        The receipt's id is derived from the message, so that any process finds it again.
        """
        thread = receipt.session or ""
        name = make_receipt_id(thread, key) if thread else receipt.id
        context = replace(context, receipt_id=name)
        shown = [MarkShown(receipt.workspace, thread, context.ids, receipt.created_at)] if thread else []
        self._write_or_warn(
            [
                *shown,
                PutReceipt(
                    receipt.workspace, replace(receipt, id=name, view=context.view_to_store_in_receipt)
                ),
            ]
        )
        return context

    def record_message_stored(self, workspace: str, context: MessageContext) -> None:
        """Record, beside a message's context, that the message is stored."""
        receipt = self._store.receipt(workspace, context.receipt_id) if context.receipt_id else None
        if receipt is not None and receipt.view is not None:
            self._write_or_warn(
                [PutReceipt(workspace, replace(receipt, view=context.view_to_store_in_receipt))]
            )

    def _write_or_warn(self, operations: Sequence[Any]) -> None:
        try:
            self._store.batch(operations)
        except ForewordError as error:
            _log.warning("a thread's context is not kept for a restart", problem=str(error))


def make_receipt_id(thread: str, key: str) -> str:
    """The id of the receipt for a message's context, derived from thread and message."""
    return "graph-" + text_hash(f"{thread}\0{key}").partition(":")[2][:_ID_CHARACTERS]

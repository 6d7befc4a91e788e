"""What was put before each message of the user, thread by thread, so that it is the same after a restart.

The text is kept as the view of the context's receipt, in the workspace that it comes from: it is gone as soon
as anything in that workspace is forgotten, and a message whose text is gone gets another context. The
contexts of the threads used last are kept in memory too.
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
"""At most how many threads' contexts are kept in memory."""

_ID_CHARACTERS = 24


@dataclass(frozen=True, slots=True)
class MessageContext:
    """What was put before one message of the user: the text, its tokens, the ids of items and receipt.

    `captured` says that the message itself is remembered already. One that is `gone` was there once, and its
    text is not known any more.
    """

    text: str = ""
    ids: tuple[str, ...] = ()
    receipt_id: str = ""
    captured: bool = False
    tokens: int = 0
    gone: bool = False

    @classmethod
    def from_receipt(cls, receipt: Receipt) -> MessageContext:
        """The context that a receipt keeps; one that is gone if the receipt has lost it."""
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
    def view(self) -> dict[str, Any]:
        """What its receipt keeps of it."""
        return {"text": self.text, "ids": list(self.ids), "captured": self.captured, "tokens": self.tokens}


class ThreadContexts:
    """The contexts of threads, by the keys of their messages; no workspace sees those of another."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held: OrderedDict[tuple[str, str], dict[str, MessageContext]] = OrderedDict()
        self._lock = threading.Lock()

    def get_known(self, workspace: str, thread: str) -> dict[str, MessageContext]:
        """What this process knows of a thread, by message, the oldest first."""
        with self._lock:
            return dict(self._held.get((workspace, thread), {}))

    def load(self, workspace: str, thread: str, keys: Iterable[str]) -> dict[str, MessageContext]:
        """The contexts of these messages, as far as there are any: from memory, or from their receipts."""
        cached = self.get_known(workspace, thread)
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
        """Keep the contexts of a thread in memory; those of the threads used least recently go."""
        with self._lock:
            self._held[workspace, thread] = dict(contexts)
            self._held.move_to_end((workspace, thread))
            while len(self._held) > MAX_THREADS:
                self._held.popitem(last=False)

    def record(self, receipt: Receipt, key: str, context: MessageContext) -> MessageContext:
        """Keep a new context and its receipt; its items count as shown to the thread. Returns it with its id.

        The message decides the receipt's id, so that any process finds it again.
        """
        thread = receipt.session or ""
        name = make_receipt_id(thread, key) if thread else receipt.id
        context = replace(context, receipt_id=name)
        shown = [MarkShown(receipt.workspace, thread, context.ids, receipt.created_at)] if thread else []
        self._write([*shown, PutReceipt(receipt.workspace, replace(receipt, id=name, view=context.view))])
        return context

    def mark_captured(self, workspace: str, context: MessageContext) -> None:
        """Keep that a message is remembered, beside its context."""
        receipt = self._store.receipt(workspace, context.receipt_id) if context.receipt_id else None
        if receipt is not None and receipt.view is not None:
            self._write([PutReceipt(workspace, replace(receipt, view=context.view))])

    def _write(self, operations: Sequence[Any]) -> None:
        try:
            self._store.batch(operations)
        except ForewordError as error:
            _log.warning("a thread's context is not kept for a restart", problem=str(error))


def make_receipt_id(thread: str, key: str) -> str:
    """The id of the receipt of a message's context."""
    return "graph-" + text_hash(f"{thread}\0{key}").partition(":")[2][:_ID_CHARACTERS]

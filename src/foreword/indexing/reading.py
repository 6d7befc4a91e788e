"""A file becomes what is kept of it: read, cut, without secrets, its tokens counted, as the spaces see it.

Knows one file at a time, and no store, so that several processes can read at once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from foreword.capture.folder import walk
from foreword.capture.folder.current import cut, stamp
from foreword.capture.purge import are_clean
from foreword.capture.statement import sound_item, without_secrets
from foreword.engine.views import views
from foreword.errors import ValidationError
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.capture.folder.walk import SourceFile
    from foreword.capture.folder.worth import Skipped
    from foreword.text.tokens import Tokenizer
    from foreword.types import Item, Views

_log = get_logger("foreword.indexing.indexer")


@dataclass(frozen=True, slots=True)
class FileRead:
    """What a file holds: the hash of its bytes, its items, and what the spaces see of them.

    Without a hash it was left out; `skipped` counts why, and how many of its parts were. Without items it
    holds nothing worth keeping; where they are None, it holds what it held before.
    """

    hash: str
    items: tuple[Item, ...] | None = ()
    views: tuple[Views, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reading:
    """How the files of a folder are read.

    `shown` is what stands before a file's path where it is told; `root` is the folder, where that is not the
    workspace's own. Items say how their file looked, so that one can see later whether they still hold.
    """

    workspace: str
    shown: str
    tokenizer: Tokenizer
    root: str = ""

    def read(self, file: SourceFile, known: str = "") -> FileRead:
        """What a file holds; no more than that when its hash is still the one that is known."""
        skipped: Counter[str] = Counter()
        content = walk.read(file, skipped=cast("Skipped", skipped))
        if content is None:
            return FileRead("", skipped=skipped)
        if content.hash == known:
            return FileRead(known, None)
        made = cut(file, content.data, self.shown + file.path, self.workspace, skipped)
        if skipped and not made.items:
            return FileRead("", skipped=skipped)
        mark = stamp(file, content.hash, self.root)
        kept = self.sound(made.items, skipped, mark, verbatim=made.verbatim)
        return FileRead(content.hash, kept, tuple(map(views, kept)), skipped)

    def sound(
        self,
        items: Sequence[Item],
        skipped: Counter[str],
        mark: Mapping[str, str] = MappingProxyType({}),
        *,
        verbatim: bool = False,
    ) -> tuple[Item, ...]:
        """Items as they may be kept: checked, counted, marked, without secrets; none with nothing left.

        `verbatim` says that their texts stand word for word in a text without secrets.
        """
        sound: list[Item] = []
        clean = are_clean(items, texts=not verbatim)
        for item in items:
            try:
                kept = sound_item(item) if clean else without_secrets(sound_item(item))
            except ValidationError as error:
                skipped["unfit"] += 1
                _log.warning("a part of a file is not kept", about=item.about, problem=str(error))
                continue
            tokens = self.tokenizer.count(kept.text)
            sound.append(replace(kept, tokens=tokens, metadata={**kept.metadata, **mark}))
        return tuple(sound)

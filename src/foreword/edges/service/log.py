"""The log of the service: a file for its owner alone, rotated, without the secrets that a line may hold."""

from __future__ import annotations

import logging
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_BYTES, _FILES = 1_000_000, 3


class Redacted(logging.Filter):
    """Takes secrets out of every line before it is written; a line that cannot be cleaned is not written."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass, as plain text without secrets."""
        try:
            from foreword.capture.redact import redact

            record.msg = redact(record.getMessage())
            if record.exc_info:
                record.exc_text = redact(logging.Formatter().formatException(record.exc_info))
        except Exception as error:  # noqa: BLE001  (better no line than one with a secret)
            record.msg = f"(a line that could not be cleaned of secrets: {type(error).__name__})"
            record.exc_info = record.exc_text = None
        record.args = None
        return True


def write_log(path: Path, level: str) -> None:
    """Write what Foreword logs from `info` on, and what its libraries warn of, to a file."""
    handler = RotatingFileHandler(path, maxBytes=_BYTES, backupCount=_FILES, encoding="utf-8")
    path.chmod(0o600)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.addFilter(Redacted())
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    chosen = logging.getLevelNamesMapping().get(level.upper(), logging.INFO)
    logging.getLogger("foreword").setLevel(min(logging.INFO, chosen))

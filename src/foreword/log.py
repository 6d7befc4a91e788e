"""Structured log events, handed to the standard library's loggers.

A library must not print: the application decides through `logging` where events go, and from which level on.
Without any configuration, Python writes warnings to standard error and nothing to standard output. Secrets
are removed from every event, since the message of an error may quote what a user said.
"""

from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from structlog.stdlib import BoundLogger


class Logger:
    """Events of one part of Foreword. structlog itself, slow to import, is loaded with the first event."""

    def __init__(self, name: str) -> None:
        self._name = name

    def warning(self, event: str, **facts: object) -> None:
        """Log that something went wrong and was worked around."""
        _structlog_logger_without_secrets(self._name).warning(event, **facts)

    def info(self, event: str, **facts: object) -> None:
        """Log that something happened that belongs in an audit."""
        _structlog_logger_without_secrets(self._name).info(event, **facts)


def get_logger(name: str) -> Logger:
    """A logger whose events read `something happened key=value`."""
    return Logger(name)


@functools.cache
def _structlog_logger_without_secrets(name: str) -> BoundLogger:
    """A structlog logger that hands its events, without secrets, to the standard logger of this name."""
    import structlog

    from foreword.capture.redact import redact

    render_facts = structlog.processors.LogfmtRenderer(drop_missing=True)

    def render_line(logger: object, method: str, event: MutableMapping[str, Any]) -> str:
        name = event.pop("event")
        return redact(f"{name} {render_facts(logger, method, event)}".rstrip())

    return cast(
        "BoundLogger",
        structlog.wrap_logger(
            logging.getLogger(name),
            processors=[structlog.stdlib.filter_by_level, render_line],
            wrapper_class=structlog.stdlib.BoundLogger,
        ),
    )

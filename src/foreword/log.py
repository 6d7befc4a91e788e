"""Structured log events, handed to the standard library's loggers.

A library must not print: where the events go, and from which level on, is for the application to say through
`logging`. Unconfigured, Python writes warnings to standard error and nothing to standard output.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, cast

import structlog

if TYPE_CHECKING:
    from collections.abc import MutableMapping


_facts = structlog.processors.LogfmtRenderer(drop_missing=True)


def _line(logger: object, method: str, event: MutableMapping[str, Any]) -> str:
    happened = event.pop("event")
    return f"{happened} {_facts(logger, method, event)}".rstrip()


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """A logger whose events read `something happened key=value`."""
    return cast(
        structlog.stdlib.BoundLogger,
        structlog.wrap_logger(
            logging.getLogger(name),
            processors=[
                structlog.stdlib.filter_by_level,
                structlog.processors.format_exc_info,
                _line,
            ],
            wrapper_class=structlog.stdlib.BoundLogger,
            cache_logger_on_first_use=True,
        ),
    )

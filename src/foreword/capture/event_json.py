"""Read the JSON of an event as an agent sent it.

Uses the standard library alone, as a hook without a service reads its event here before it is written.
"""

from __future__ import annotations

import json
from typing import Any


def parse_event_json(payload: bytes) -> Any:  # noqa: ANN401  (any JSON)
    """The JSON of an event; raises ValueError or RecursionError if it is none.

    Bytes that are not UTF-8, as the output of a tool may have, become replacement characters.
    """
    return json.loads(payload.decode("utf-8-sig", errors="replace"))

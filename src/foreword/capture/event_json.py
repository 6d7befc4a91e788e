"""Read the JSON of an event as an agent sent it, and remove its secrets.

Uses the standard library alone, as a hook without a service reads its event here before it is written. The
folder of a project names its workspace, so that two folders must not become one: the name of a folder that
exists stays as it is, since it is on the disk already, and the user's own commands use it, too. Any other
text in its place is searched for secrets, and gets a digest if it has one.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from foreword.capture.redact import redact, redact_json

FOLDER_FIELDS = ("cwd", "working_directory", "workspace")
"""The fields in which agents name the folder of their project; the first that is there counts."""


def parse_event_json(payload: bytes) -> Any:  # noqa: ANN401  (any JSON)
    """The JSON of an event; raises ValueError or RecursionError if it is none.

    Bytes that are not UTF-8, as the output of a tool may have, become replacement characters.
    """
    return json.loads(payload.decode("utf-8-sig", errors="replace"))


def redact_event_json(body: Any, found: dict[str, str] | None = None) -> Any:  # noqa: ANN401  (any JSON)
    """The JSON of an event without its secrets, which are added to `found`, each with its kind."""
    if not isinstance(body, dict):
        return redact_json(body, found)
    folders = {name: body[name] for name in FOLDER_FIELDS if isinstance(body.get(name), str)}
    rest = {name: part for name, part in body.items() if name not in folders}
    return {
        **{name: _redact_unless_folder(path, found) for name, path in folders.items()},
        **redact_json(rest, found),
    }


def _redact_unless_folder(path: str, found: dict[str, str] | None) -> str:
    """The path of a folder that exists, as it is; of any other text, what is left without its secrets."""
    if os.path.isabs(path) and os.path.isdir(path):  # noqa: PTH112, PTH117  (hooks do without pathlib)
        return path
    clean = redact(path, found)
    if clean == path:
        return path
    return f"{clean}-{hashlib.blake2b(path.encode(errors='replace'), digest_size=3).hexdigest()}"

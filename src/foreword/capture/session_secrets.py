"""The secrets that a session has shown, so that they are recognised again wherever the session repeats them.

"The admin password is …" shows a secret by its words; "I logged in with …" does not. So what was redacted
once is redacted in all that follows in the session: prompts, messages, commands, outputs. The values are in
the memory of this process and nowhere else, so a process that starts anew has to see them again.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from foreword.capture.event_json import redact_event_json
from foreword.capture.secrets import shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MAX_SESSIONS, _MAX_VALUES = 64, 256
_MAX_CHARACTERS = 4_096
_MIN_MIXED, _MIN_PLAIN = 6, 12
"""How long a value is at least to mean nothing else: with digits or signs among its letters, and without."""

_MIN_INSIDE_WORD = 12
"""A shorter value is looked for as a word alone: it may be part of another word by chance."""

_PUNCTUATION = ".,;:!?)]}\"'`"


class SessionSecrets:
    """The secrets of the latest sessions, by value, in memory. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kinds_by_session: OrderedDict[str, OrderedDict[str, str]] = OrderedDict()

    def redact_event(self, body: Mapping[str, Any], session: str, labels: frozenset[str]) -> dict[str, Any]:
        """An event's JSON without its secrets and without those that its session has shown before.

        The fields `labels` say where the event comes from; they are not searched for what was shown before.
        """
        found: dict[str, str] = {}
        clean = redact_event_json(body, found)
        kinds = self._remember_secrets(session, found)
        if not kinds:
            return dict(clean)
        return {
            name: part if name in labels else _replace_known_secrets_in_json(part, kinds)
            for name, part in clean.items()
        }

    def _remember_secrets(self, session: str, found: Mapping[str, str]) -> dict[str, str]:
        """Add what was found to the secrets of a session, and return all of them with their kinds."""
        new = {value: kind for secret, kind in found.items() for value in _forms_of_secret(secret)}
        with self._lock:
            if not new and session not in self._kinds_by_session:
                return {}
            known = self._kinds_by_session.setdefault(session, OrderedDict())
            self._kinds_by_session.move_to_end(session)
            for value, kind in new.items():
                known[value] = kind
                known.move_to_end(value)
            while len(known) > _MAX_VALUES:
                known.popitem(last=False)
            if len(self._kinds_by_session) > _MAX_SESSIONS:
                self._kinds_by_session.popitem(last=False)
            return dict(known)


def _forms_of_secret(secret: str) -> Iterator[str]:
    """The forms in which a secret may come again, if it is distinctive: bare, in an address, line by line."""
    lines = (
        [secret] if "\n" not in secret else [line.strip() for line in secret.split("\n") if " " not in line]
    )
    for line in lines:
        for value in {line, line.strip(_PUNCTUATION)}:
            if _is_distinctive(value):
                yield from {value, quote(value, safe="")}


def _is_distinctive(value: str) -> bool:
    """Whether a value is long and mixed enough that the same characters elsewhere are no chance."""
    if len(value) > _MAX_CHARACTERS or value.startswith("[redacted:"):
        return False
    return len(value) >= (_MIN_MIXED if shape.may_be_password(value) else _MIN_PLAIN)


def _replace_known_secrets_in_json(value: Any, kinds: Mapping[str, str]) -> Any:  # noqa: ANN401  (any JSON)
    """The JSON value with a mark in place of each of these secrets, in keys too."""
    match value:
        case str():
            return _replace_known_secrets_in_text(value, kinds)
        case list():
            return [_replace_known_secrets_in_json(part, kinds) for part in value]
        case dict():
            return {
                _replace_known_secrets_in_text(name, kinds): _replace_known_secrets_in_json(part, kinds)
                for name, part in value.items()
            }
        case _:
            return value


def _replace_known_secrets_in_text(text: str, kinds: Mapping[str, str]) -> str:
    """The text with a mark in place of each of these secrets, the longest first."""
    here = sorted((value for value in kinds if value in text), key=len, reverse=True)
    if not here:
        return text
    pattern = "|".join(
        re.escape(value) if len(value) >= _MIN_INSIDE_WORD else rf"(?<!\w){re.escape(value)}(?!\w)"
        for value in here
    )
    return re.sub(pattern, lambda match: f"[redacted:{kinds[match.group()]}]", text)

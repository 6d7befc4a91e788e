"""A real service with a small responder, run as a process: what an event says it should do, it does.

It stores every event as a turn, at the event's own time, so that the same event told twice is stored once. An
event that names a file as its `gate` is worked on when that file exists.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from foreword.edges.service import process
from foreword.edges.service.__main__ import build_application
from foreword.edges.service.responder import Reply
from foreword.edges.shared import spool_files
from foreword.errors import StoreFull
from foreword.recipes.coding.companion import CompanionSaying

WORKSPACE = "shop"
GATE_SECONDS = 120.0


class Double:
    """Stores events, and answers those that have something to say."""

    def __init__(self, engine):
        self.engine = engine

    def answer(self, payload, at, deadline_ms):
        event = json.loads(payload)
        ends = time.monotonic() + GATE_SECONDS
        while "gate" in event and not Path(event["gate"]).exists():
            if time.monotonic() > ends:
                raise TimeoutError("nobody opened the gate")
            time.sleep(0.01)
        if event.get("fail"):
            raise RuntimeError(event["fail"])
        if "prompt" not in event:
            return Reply()
        return Reply(json.dumps({"heard": event["prompt"]}).encode(), CompanionSaying(event["prompt"]))

    def redact_payload(self, payload):
        return spool_files.redact_payload(payload)

    def capture(self, payload, at):
        event = json.loads(payload)
        if event.get("unkept"):
            raise StoreFull("no space left on the disk; free some")
        if "prompt" in event:
            self.engine.remember(
                event["prompt"], WORKSPACE, kind="turn", session=event["session_id"], created_at=at
            )

    def note_delivered(self, reply):
        self._note("delivered", reply)

    def note_undelivered(self, reply):
        self._note("undelivered", reply)

    def refresh_team_copies(self):
        """It has no team."""

    def close(self):
        """It has nothing open."""

    def _note(self, what, reply):
        with (self.engine.settings.home / what).open("a") as file:
            file.write(f"{reply.saying.text}\n")


if __name__ == "__main__":
    options = [word for word in sys.argv[1:] if word not in ("-P", "-m", "foreword.edges.service")]
    process.HOUSEKEEPING_SECONDS = 0.2
    spool_files.RESERVE = {4096: 4}
    process._STOP_SECONDS = 60.0  # the machine may be busy
    http = build_application if "--port" in options else None
    sys.exit(process.run_service(process.read_service_options(options), Double, http))

"""A real service with a small responder, run as a process: what an event says it should do, it does.

It stores every event as a turn, at the event's own time, so that the same event told twice is stored once.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace

from foreword.edges.service import process

WORKSPACE = "shop"


class Double:
    """Stores events, and answers those that have something to say."""

    def __init__(self, engine):
        self.engine = engine

    def respond(self, payload, at, deadline_ms):
        event = json.loads(payload)
        time.sleep(event.get("slow", 0))
        if event.get("fail"):
            raise RuntimeError(event["fail"])
        self.capture(payload, at)
        if "long" in event:
            return json.dumps({"additionalContext": "x" * event["long"]}).encode()
        return json.dumps({"heard": event["prompt"]}).encode() if "prompt" in event else b""

    def capture(self, payload, at):
        event = json.loads(payload)
        if "prompt" in event:
            self.engine.remember(
                event["prompt"], WORKSPACE, kind="turn", session=event["session_id"], created_at=at
            )

    def close(self):
        """Nothing is left to do: it stores before it answers."""


if __name__ == "__main__":
    said = [word for word in sys.argv[1:] if word not in ("-P", "-m", "foreword.edges.service")]
    process.LOOK_EVERY = 0.2
    plan = replace(process.read_plan(said), http="--port" in said)
    sys.exit(process.main(plan, responder_factory=Double))

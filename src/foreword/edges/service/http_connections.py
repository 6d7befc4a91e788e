"""HTTP connections under a limit: if too many are idle, the oldest idle one is closed.

Anyone on the machine can connect to a loopback port. A process that opens connections and sends nothing must
not keep the owner's requests from being answered.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

MAX_CONNECTIONS = 200
_MAX_IDLE = 150


class IdleLimitingProtocol(H11Protocol):
    """A connection that closes the oldest idle one when it comes and too many are idle."""

    came_at = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept this connection, and close the oldest idle one if too many are idle."""
        self.came_at = time.monotonic()
        others = [cast("IdleLimitingProtocol", other) for other in self.connections]
        idle = [other for other in others if other.is_idle]
        if len(idle) >= _MAX_IDLE:
            oldest = min(idle, key=lambda other: other.came_at)
            self.connections.discard(oldest)
            oldest.transport.abort()
        super().connection_made(transport)

    @property
    def is_idle(self) -> bool:
        """Whether no request of this connection is being answered."""
        return self.cycle is None or bool(self.cycle.response_complete)

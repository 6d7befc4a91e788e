"""HTTP on loopback: the ASGI application, its endpoints, who may ask, and what crosses the wire."""

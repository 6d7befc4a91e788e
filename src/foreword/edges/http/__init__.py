"""HTTP on loopback: the ASGI application, its endpoints, its guard, the models of requests and answers."""

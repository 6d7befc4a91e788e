"""Act six: turn candidates into the text of a context. Pure functions: no clock, no store, no network."""

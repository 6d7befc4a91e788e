"""Act six: candidates become context. Pure functions: no clock, no store, no network."""

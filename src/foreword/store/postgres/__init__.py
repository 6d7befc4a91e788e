"""The PostgreSQL engine: one memory for many machines, with the answers of the embedded store."""

"""The engine, and what it wires together: the embedder, and views of items for the word-like spaces."""

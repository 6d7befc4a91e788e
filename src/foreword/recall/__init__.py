"""Act four: a question finds candidates: retrieve, fuse, rank, step behind, spread."""

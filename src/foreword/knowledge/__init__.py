"""Act five: what experience adds. Sessions become summaries, and what recurs across them becomes topics."""

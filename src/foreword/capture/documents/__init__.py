"""Documents become items, and chunks."""

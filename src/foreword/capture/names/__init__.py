"""Who and what a text names."""

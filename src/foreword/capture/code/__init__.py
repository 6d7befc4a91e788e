"""Source files become items."""

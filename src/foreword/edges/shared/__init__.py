"""What several edges use: calls by id, and what a hook does without an answer."""

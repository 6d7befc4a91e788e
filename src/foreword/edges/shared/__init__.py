"""What several edges use: calls by id, context for messages, and what a hook does without an answer."""

"""What experience adds: summaries of sessions and dialogues, topics, experiences, values, what holds now."""

"""Act five: what is drawn from items: summaries, topics, experiences, values, decisions, facts."""

"""Act three: items get coordinates. A space is a named way of comparing a question with items."""

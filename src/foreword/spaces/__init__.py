"""Act three: items get coordinates. A space is one way of comparing a question with items."""

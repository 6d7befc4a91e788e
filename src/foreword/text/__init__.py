"""Tools for text of any kind: words, sentences, dates, tokens, cleaning, and the frame around a context."""

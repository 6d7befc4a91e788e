"""Tools for text of any kind: words, tokens, cleaning, the frame around what is injected, questions."""

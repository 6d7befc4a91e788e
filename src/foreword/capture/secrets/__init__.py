"""Find secrets in a text: the rules as tables, and the code that applies them."""

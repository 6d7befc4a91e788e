"""Where secrets stand in a text: rules as tables, and the code that reads texts by them."""

"""Find the people, organisations, places and other things that a text names."""

"""Cut source files into items."""

"""The command line: a module for each family of commands, and `main`, which gathers them."""

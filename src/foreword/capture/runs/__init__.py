"""Read the results of commands that test or build."""

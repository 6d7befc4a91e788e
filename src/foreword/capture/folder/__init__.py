"""Read the files and the history of a folder."""

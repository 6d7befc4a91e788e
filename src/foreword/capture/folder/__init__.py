"""The files and the history of a folder."""

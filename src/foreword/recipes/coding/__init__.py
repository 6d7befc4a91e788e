"""The recipes of a coding agent: before a prompt, before a tool, at the beginning of a session."""

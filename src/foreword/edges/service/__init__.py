"""The resident service behind the hooks: its process, its folder, its socket, and what waits for it."""

"""The resident service behind the hooks: its process, its folder, its socket, its answers, its spool."""

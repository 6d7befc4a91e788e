"""The resident service that answers hooks: its process, run folder, socket, responder and spool."""

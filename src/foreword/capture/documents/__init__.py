"""Cut documents into chunks and items."""

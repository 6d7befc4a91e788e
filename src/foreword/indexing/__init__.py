"""A folder or a document becomes memory, and stays in step with it."""

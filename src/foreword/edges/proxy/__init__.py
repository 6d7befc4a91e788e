"""A proxy before a model's API: applications change their base URL and get memory, documents and receipts."""

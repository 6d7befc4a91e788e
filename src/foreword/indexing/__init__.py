"""Stores folders and documents as items, and keeps the items in step with them."""

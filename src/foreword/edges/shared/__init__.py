"""Helpers that several edges share: calls by id, the spool, the fallback of hooks, receipts in sentences."""

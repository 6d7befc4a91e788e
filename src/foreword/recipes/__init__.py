"""Recipes: which sections, how tokens are divided, how each is worded. Lists, not logic."""

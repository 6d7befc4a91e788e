"""Recipes: for each kind of context, the list of its stages, with what only that kind needs."""

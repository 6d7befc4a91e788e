"""The recipes that ask several sources at once: `assembled` and `premortem`."""

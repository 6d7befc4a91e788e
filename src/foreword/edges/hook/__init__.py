"""What a hook of an agent leads to: the answer to its event, and what is done when there is none."""

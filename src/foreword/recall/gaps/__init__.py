"""Whether an agent lacks context, and how well a text would fill the gap.

`detect` finds gaps in a `state`; its `classifier` knows from `vocabulary` how requests sound. `pieces` splits
a state into texts that may fill a gap, and `relevance` rates them. `types` has the values and contracts.
"""

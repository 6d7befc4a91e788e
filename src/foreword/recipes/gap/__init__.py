"""The recipe `gap`: notices that an agent lacks context, and injects what is missing.

`detect` finds gaps in a `state`; its `request_judge` knows from `vocabulary` how requests sound. `pieces`
splits a state into texts that may fill a gap, and `relevance` rates them. `types` has the values and
contracts, `stages` and `injection` fill the gap.
"""

"""HTTP for a team: many members, each with tokens of their own, on one memory.

`members` knows who may do what, `gate` checks tokens and rates, `audit` records who asked for what, `hooks`
answers events that laptops send, and `api` puts all of them around the endpoints.
"""

"""HTTP for a team: many members, each with tokens of their own, on one memory.

`members` knows who may do what, `gate` lets requests in and counts them, `audit` writes down who asked for
what, `hooks` answers events that laptops pass on, and `api` puts them around the endpoints.
"""

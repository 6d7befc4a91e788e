"""Act seven: context reaches the agent. Edges translate; they hold no logic of their own.

Each package or module here is one edge, and no edge imports another. What several need is in `shared`, in
`message_lists` and in `hook_client` (which also runs by itself); these import no edge. Edges are combined in
`cli` and in `service/__main__.py`.
"""

"""Act seven: context reaches the agent. Edges translate; they hold no logic of their own.

A package for each way in: `hook`, `service`, `http`, `mcp`, `langgraph`, `metta`, `cli`; and `install`, which
shows agents the way. Each of the others, such as `message_lists`, is a module. `hook_client` stands alone.
"""

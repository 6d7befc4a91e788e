"""Act seven: context reaches the agent. Edges translate; they hold no logic of their own."""

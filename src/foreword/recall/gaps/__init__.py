"""Whether an agent lacks context, and what could fill the gap."""

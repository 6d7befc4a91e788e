"""The recipe `gap`: an agent lacks context, and gets it."""

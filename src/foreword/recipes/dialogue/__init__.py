"""The recipe of a conversation: a whole prompt, the session it is made from, the documents it may quote."""

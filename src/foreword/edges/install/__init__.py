"""Foreword in an agent's own settings: installing, examining and removing it.

`agents` lists each agent's files and what they should hold; `settings_text` changes one place of a text;
`changes` finds our parts of a file, plans a change and applies it; `examine` checks whether an installation
still works. Nothing but our own parts is touched, and every change can be shown before it is applied.
"""

"""Foreword in an agent's own settings: installed, examined and taken out again.

`agents` says which files each agent has and what they should hold; `settings_text` changes one place of a
text; `changes` knows our parts of a file, plans a change and makes it; `examine` looks if it still works.
Nothing of anybody else's is touched, and every change can be seen before it is made.
"""

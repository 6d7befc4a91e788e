"""Foreword in an agent's own settings: installed, examined and taken out again.

`agents` says which files each agent has and what they should hold; `targets` and `settings_text` find, add
and remove our parts of a text; `changes` plans a change and makes it; `examine` looks whether it still works.
Nothing of anybody else's is touched, and every change can be seen before it is made.
"""

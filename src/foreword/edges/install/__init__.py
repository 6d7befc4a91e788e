"""Settle Foreword into an agent's own settings, and out of them again.

An agent is a module that names its files and what each should hold (`targets`), and what is left to its
user (`advice`). Nothing of anybody else's is touched, and every change can be seen before it is made.
"""

from __future__ import annotations

from foreword.edges.install.commands import Place
from foreword.edges.install.examine import AGENTS as _MODULES
from foreword.edges.install.examine import examine

AGENTS = {module.NAME: module for module in _MODULES}

__all__ = ["AGENTS", "Place", "examine"]

"""One task of a part of the bench, in this process.

python -m foreword_measure.speed PART TASK FOLDER SIZE…
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from foreword_measure.speed.parts import send

if __name__ == "__main__":
    part, task, folder, *sizes = sys.argv[1:]
    module = import_module(f"foreword_measure.speed.{part}")
    send(result=module.TASKS[task](Path(folder), *map(int, sizes)))

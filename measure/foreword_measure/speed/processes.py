"""A part of the bench in a process of its own: what it says on the way, and what it found.

A child writes lines of JSON: `progress` while it works, `result` at the end. It knows nothing of its parent.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreword.errors import ForewordError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from foreword_measure.speed.measure import Progress


def run(module: str, task: str, folder: Path, *sizes: int, label: str, progress: Progress) -> dict[str, Any]:
    """Start a child, pass its progress on under a label, and give what it found."""
    command = [sys.executable, "-P", "-m", module, task, str(folder), *map(str, sizes)]
    result: dict[str, Any] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:  # noqa: S603  (ourselves)
        try:
            for line in child.stdout or ():
                said = json.loads(line)
                result = said.get("result", result)
                if "progress" in said:
                    progress(label, *said["progress"])
        except BaseException:
            child.kill()  # or it would fill a folder that is about to be removed
            raise
    if child.returncode or not result:
        raise ForewordError(
            f"{label} failed: its process ended with {child.returncode}; what it wrote above says why"
        )
    return result


def say(**line: object) -> None:
    """Tell the parent something, at once."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def answer(tasks: Mapping[str, Callable[..., dict[str, Any]]], arguments: list[str]) -> None:
    """Do the task that the command line names, and say what came of it."""
    task, folder, *sizes = arguments
    say(result=tasks[task](Path(folder), *map(int, sizes)))

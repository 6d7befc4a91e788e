"""The file of a set of dialogues, `dialogues.jsonl`: whether it has what is asked for, and its lines.

What a line means is for those who measure by it; what cannot be read is refused here, by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.errors import ValidationError

if TYPE_CHECKING:
    from pathlib import Path

FILE = "dialogues.jsonl"


def have(folder: Path, field: str) -> bool:
    """Whether a folder holds dialogues that have such a field; the first of them tells."""
    try:
        with (folder / FILE).open(encoding="utf-8") as file:
            return f'"{field}"' in file.readline()
    except (OSError, UnicodeDecodeError):
        return False


def lines(folder: Path, limit: int | None = None) -> list[tuple[str, str]]:
    """The lines, or the first so many, each after where it stands, as errors tell it."""
    if limit is not None and limit < 1:
        raise ValidationError(f"limit must be 1 or more, not {limit}")
    path = folder / FILE
    try:
        every = enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
    except UnicodeDecodeError as error:
        raise ValidationError(f"{path} is not UTF-8 text: {error.reason}; convert it first") from None
    except OSError as error:
        raise ValidationError(f"cannot read {path}: {error.strerror}") from error
    return [(f"{path}, line {number}: ", line) for number, line in every if line.strip()][:limit]

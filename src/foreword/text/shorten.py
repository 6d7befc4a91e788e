"""Shorten a text to a number of characters or words: to its beginning, or to its two ends."""

from __future__ import annotations

from foreword.text.clean import join_lines


def shorten_line(text: str, max_characters: int) -> str:
    """The text on one line of at most `max_characters`, with an ellipsis if it was cut."""
    line = join_lines(text)
    return line if len(line) <= max_characters else f"{line[: max(1, max_characters - 1)].rstrip()}…"


def shorten_between_words(text: str, max_characters: int) -> str:
    """The text on one line of at most `max_characters`, cut between words, with an ellipsis if it was cut."""
    line = join_lines(text)
    if len(line) <= max_characters:
        return line
    cut = line[: max_characters - 1]
    return f"{cut.rpartition(' ')[0] or cut}…"


def keep_first_words(text: str, max_words: int) -> str:
    """A text of at most this many words; one that was cut ends in an ellipsis."""
    every = text.split()
    if len(every) <= max_words:
        return text
    return " ".join([*every[: max_words - 1], "…"]) if max_words > 0 else ""


def replace_middle_by_ellipsis(text: str, max_characters: int) -> str:
    """The text, or its two ends with an ellipsis between them; never more than `max_characters`."""
    if len(text) <= max_characters:
        return text
    half = (max_characters - 3) // 2
    return f"{text[:half]} … {text[-half:]}" if half > 0 else text[: max(0, max_characters)]


def keep_ends_and_note_gap(text: str, max_characters: int) -> str:
    """The text, shortened to about this many characters: its beginning, a note of the gap, and its end."""
    if len(text) <= max_characters:
        return text
    head, tail = max_characters * 2 // 3, max_characters // 3
    missing = f"[… {len(text) - head - tail:,} characters left out …]"
    return f"{text[:head].rstrip()} {missing} {text[-tail:].lstrip()}"


def cut_at_line_end(text: str, max_characters: int) -> str:
    """The lines of a text that fit into `max_characters`; of a longer first line, its beginning."""
    return (
        text
        if len(text) <= max_characters
        else text[: text.rfind("\n", 0, max_characters) + 1 or max_characters]
    )


def cut_at_word_end(line: str, max_characters: int) -> str:
    """The words of a line that fit into `max_characters`."""
    return (
        line
        if len(line) <= max_characters
        else line[: line.rfind(" ", 0, max_characters + 1) + 1 or max_characters].rstrip()
    )

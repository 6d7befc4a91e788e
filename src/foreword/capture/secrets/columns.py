"""Find passwords in tables (CSV, Markdown, INSERT of SQL), in a column whose head names a secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.capture.secrets import shape
from foreword.capture.secrets.patterns import pattern
from foreword.capture.secrets.tables import Secret

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.capture.secrets.tables import PreparedText

_HEADS = frozenset(
    (
        *("password", "passwords", "passwort", "kennwort", "passwd", "pwd", "senha", "wachtwoord"),
        *("token", "tokens", "secret", "secrets", "passphrase", "passcode", "clave", "parola", "heslo"),
    )
)
_SHORT_HEADS = frozenset(("pass", "pw", "mdp", "apikey", "credentials"))  # may head other things, too
_HEADS_BEYOND_ASCII = ("contraseña", "hasło", "пароль", "密码")
_EDGE = pattern(r"[ \t\"'`*]{0,8}(?:[,;|\t\r\n]|\Z)")
_HEAD = pattern(r"[^\W\d_][\w.()/-]{0,40}(?: [\w.()/-]{1,20}){0,2}")
_SEPARATORS = ",;\t|"
_MAX_HEAD_CHARACTERS = 400
_MAX_ROWS = 500
_RULE = pattern(r"[\s|:+-]*")
_INSERT = pattern(
    r"insert\s{1,8}(?:or\s{1,8}\w{1,16}\s{1,8}|ignore\s{1,8})?into\s{1,8}[\w.\"'`\[\]]{1,128}\s{0,8}"
    r"\((?P<heads>[^()]{1,2000})\)\s{0,8}values\s{0,8}"
)
_INSERTED_ROW = pattern(
    r"[\s,]{0,8}\((?P<cells>(?:'(?:[^'\\]|\\.|'')*+'|\"[^\"]*+\"|\([^()]*+\)|[^'\"()])*+)\)"
)
_INSERTED_CELL = pattern(r"(?:'(?:[^'\\]|\\.|'')*+'|\"[^\"]*+\"|\([^()]*+\)|[^'\"(),])++")
_SECRET_HEAD = pattern(r"pass(?:word|wd|phrase|code|wort)?|pwd|secret|token|api_?key|senha|contrasena")


def find_column_secrets(prepared: PreparedText) -> Iterator[Secret]:
    """The values that look like a password in columns whose head names a secret."""
    text, lower = prepared.text, prepared.lower
    if "insert" in prepared.words:
        yield from _find_inserted_secrets(text, lower)
    for word in (
        *sorted((_HEADS | _SHORT_HEADS) & prepared.words),
        *(() if lower.isascii() else _HEADS_BEYOND_ASCII),
    ):
        at = lower.find(word)
        while at >= 0:
            rows_end = at + len(word)
            if _EDGE.match(lower, rows_end):
                found, rows_end = _find_passwords_below_column_heading(text, lower, word, at)
                yield from found
            at = lower.find(word, max(rows_end, at + len(word)))


def _find_passwords_below_column_heading(
    text: str, lower: str, word: str, at: int
) -> tuple[list[Secret], int]:
    """The passwords below a word, if it is the head of a column, and the end of the rows."""
    start, end = lower.rfind("\n", 0, at) + 1, lower.find("\n", at)
    if end < 0 or end - start > _MAX_HEAD_CHARACTERS:
        return [], at
    line = lower[start:end]
    above = lower[max(lower.rfind("\n", 0, max(0, start - 1)) + 1, start - _MAX_HEAD_CHARACTERS) : start]
    for separator in filter(line.__contains__, _SEPARATORS):
        # Confluence doubles the bars of heads.
        cells = line.split("||" if separator == "|" and line.startswith("||") else separator)
        heads = [cell.strip(" \"'`*\r") for cell in cells]
        column = next((number for number, head in enumerate(heads) if _ends_with_word(head, word)), None)
        # A line under another row of the table is a row, too.
        if column is not None and above.count(separator) != len(heads) - 1 and _are_column_heads(heads):
            found, rows_end = _find_in_rows(text, end + 1, separator, column, len(heads))
            if word in _SHORT_HEADS:
                found = [secret for secret in found if _is_surely_secret(text[secret.start : secret.end])]
            return found, rows_end
    return [], at


def _are_column_heads(cells: list[str]) -> bool:
    """Whether the cells of a line can be the heads of columns: words, two or more, and not a line of code."""
    named = [cell for cell in cells if cell]
    return len(named) > 1 and all(map(_HEAD.fullmatch, named))


def _ends_with_word(head: str, word: str) -> bool:
    """Whether the head of a column is this word, or ends with it: `db_password`, "new password"."""
    return head.endswith(word) and not head[: -len(word)][-1:].isalpha()


def _find_in_rows(
    text: str, start: int, separator: str, column: int, columns: int
) -> tuple[list[Secret], int]:
    """The passwords in one column of the rows from `start` on, and the start of the first line after them."""
    found: list[Secret] = []
    for _ in range(_MAX_ROWS):
        end = text.find("\n", start)
        end = end if end >= 0 else len(text)
        row = text[start:end]
        is_rule = bool(row) and _RULE.fullmatch(row) is not None
        cells = row.split(separator)
        if len(cells) != columns and not is_rule:
            break
        if not is_rule:
            at = start + sum(len(cell) + 1 for cell in cells[:column])
            found += _find_in_cell(cells[column], at)
        start = end + 1
    return found, start


def _is_surely_secret(value: str) -> bool:
    """Whether a value is a secret even if the head of its column may mean something else."""
    return shape.is_surely_password(value) and not shape.is_code_name(value)


def _find_in_cell(cell: str, at: int) -> list[Secret]:
    """The value of a cell that begins at `at`, if it looks like a password; else nothing."""
    value = cell.strip(" \"'`\r")
    if len(value) < 6 or " " in value or not shape.may_be_password(value) or shape.is_placeholder(value):
        return []
    at += cell.find(value)
    return [Secret("password", at, at + len(value))]


def _find_inserted_secrets(text: str, lower: str) -> Iterator[Secret]:
    """The passwords among the values of statements `INSERT INTO table (columns) VALUES (values), …`."""
    for insert in _INSERT.finditer(lower):
        heads = insert["heads"].split(",")
        columns = {number for number, head in enumerate(heads) if _SECRET_HEAD.search(head)}
        row = _INSERTED_ROW.match(text, insert.end()) if columns else None
        while row:
            cells = list(_INSERTED_CELL.finditer(text, row.start("cells"), row.end("cells")))
            if len(cells) == len(heads):
                for number in columns:
                    yield from _find_in_cell(cells[number][0], cells[number].start())
            row = _INSERTED_ROW.match(text, row.end())

"""Recognise the language of a file by its name or, if that is not enough, by its content.

Knows only the names of languages; `grammars` parses them. An unknown language has the name "".
"""

from __future__ import annotations

import re

from foreword.text.words import key_by_word

DOCUMENTS = frozenset({"markdown", "rst", "html", "pdf", "text"})
"""The languages that `cut_document` reads by headings and paragraphs; `cut_code` reads all others."""

_BY_SUFFIX = key_by_word(
    {
        "python": "py pyi pyw",
        "javascript": "js mjs cjs jsx",
        "typescript": "ts mts cts",
        "tsx": "tsx",
        "go": "go",
        "rust": "rs",
        "java": "java",
        "c": "c h",
        "cpp": "cc cpp cxx c++ hh hpp hxx h++ ipp inl cu cuh",
        "csharp": "cs csx",
        "ruby": "rb rake gemspec ru",
        "php": "php phtml",
        "bash": "sh bash zsh bats",
        "markdown": "md markdown mdown mdx mkd",
        "rst": "rst rest",
        "html": "html htm xhtml",
        "pdf": "pdf",
        "text": "txt text",
    }
)
_BY_NAME = key_by_word(
    {
        "ruby": "gemfile rakefile vagrantfile",
        "bash": ".bashrc .bash_profile .profile .zshrc",
        "text": "readme changelog changes news contributing authors todo",
    }
)
_BY_INTERPRETER = key_by_word(
    {
        "python": "python pypy",
        "javascript": "node bun",
        "typescript": "deno",
        "ruby": "ruby",
        "php": "php",
        "bash": "sh bash dash ksh zsh",
    }
)
_INTERPRETER = re.compile(rb"#!\s*\S*?([a-z]+)[\d.]*(?:[ \t]+(?:-S[ \t]+)?([a-z]+)[\d.]*)?[ \t\r\n]")
_CPLUSPLUS = re.compile(
    rb"^[ \t]*(?:class\s+(?:[A-Z_0-9]+\s+)?\w[\w:]*(?:\s+final)?\s*[:{;]|template\s*<|#\s*include\s*<\w+>|"
    rb"(?:inline\s+)?namespace(?:\s+[\w:]+)?\s*\{|using\s+(?:namespace\s+)?[\w:]+\s*[=;]|"
    rb"(?:public|private|protected)\s*:)",
    re.MULTILINE,
)
_MAX_FIRST_LINE = 200

MAX_SNIFFED_BYTES = 200_000
"""At most this many bytes of a file are searched if its name does not determine its language: a header may
begin with pages of comment before the first line that shows whether it is C or C++."""


def language_of(path: str, data: bytes = b"") -> str:
    """The language of a file by its path, or by its content; "" if it is unknown."""
    name = path.rpartition("/")[2].lower()
    stem, dot, suffix = name.rpartition(".")
    language = _BY_NAME.get(name) or (_BY_SUFFIX.get(suffix, "") if dot and stem else "")
    if suffix == "h" and _CPLUSPLUS.search(data, 0, MAX_SNIFFED_BYTES):
        return "cpp"
    return language or ("" if "." in name.lstrip(".") else _language_by_shebang(data))


def _language_by_shebang(data: bytes) -> str:
    """The language of a script, by the interpreter in its first line; "" if there is none."""
    found = _INTERPRETER.match(data[:_MAX_FIRST_LINE] + b"\n")
    if not found:
        return ""
    program, argument = (part.decode() if part else "" for part in found.groups())
    return _BY_INTERPRETER.get(argument if program == "env" else program, "")

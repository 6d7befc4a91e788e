"""Which language a file is written in, by its name and, where that does not tell, by what it holds.

Knows names only: how a language is read, `grammars` says. What has no name here is text of some kind, and "".
"""

from __future__ import annotations

import re

DOCUMENTS = frozenset({"markdown", "rst", "html", "pdf", "text"})
"""What is read by headings and paragraphs (`documents.chunks`); everything else is `code.units`."""

_SUFFIXES = {
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
_BY_SUFFIX = {suffix: name for name, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}
_BY_NAME = {
    "gemfile": "ruby",
    "rakefile": "ruby",
    "vagrantfile": "ruby",
    ".bashrc": "bash",
    ".bash_profile": "bash",
    ".profile": "bash",
    ".zshrc": "bash",
    "readme": "text",
    "changelog": "text",
    "changes": "text",
    "news": "text",
    "contributing": "text",
    "authors": "text",
    "todo": "text",
}
_INTERPRETERS = {
    "python": "python",
    "pypy": "python",
    "node": "javascript",
    "deno": "typescript",
    "bun": "javascript",
    "ruby": "ruby",
    "php": "php",
    "sh": "bash",
    "bash": "bash",
    "dash": "bash",
    "ksh": "bash",
    "zsh": "bash",
}
_INTERPRETER = re.compile(rb"#!\s*\S*?([a-z]+)[\d.]*(?:[ \t]+(?:-S[ \t]+)?([a-z]+)[\d.]*)?[ \t\r\n]")
_CPLUSPLUS = re.compile(
    rb"^[ \t]*(?:class\s+(?:[A-Z_0-9]+\s+)?\w[\w:]*(?:\s+final)?\s*[:{;]|template\s*<|#\s*include\s*<\w+>|"
    rb"(?:inline\s+)?namespace(?:\s+[\w:]+)?\s*\{|using\s+(?:namespace\s+)?[\w:]+\s*[=;]|"
    rb"(?:public|private|protected)\s*:)",
    re.MULTILINE,
)

_LONGEST_FIRST_LINE = 200

SNIFFED = 200_000
"""How much of a file is looked at when its name does not tell its language: a header may begin with pages of
comment, and what tells C++ from C come after them."""


def language_of(path: str, data: bytes = b"") -> str:
    """The language that a path, or what the file holds, tells; "" for any other text."""
    name = path.rpartition("/")[2].lower()
    stem, dot, suffix = name.rpartition(".")
    language = _BY_NAME.get(name) or (_BY_SUFFIX.get(suffix, "") if dot and stem else "")
    if suffix == "h" and _CPLUSPLUS.search(data, 0, SNIFFED):
        return "cpp"
    return language or ("" if "." in name.lstrip(".") else _interpreted(data))


def _interpreted(head: bytes) -> str:
    """The language of a script, by its first line."""
    found = _INTERPRETER.match(head[:_LONGEST_FIRST_LINE] + b"\n")
    if not found:
        return ""
    program, argument = (part.decode() if part else "" for part in found.groups())
    return _INTERPRETERS.get(argument if program == "env" else program, "")

"""Whether a file is worth reading, by its name and by its bytes; where not, why not.

Knows what people do not mean when they say "my project": what was built, bundled, locked or copied in, what
is not text, what is too large, and what may hold a secret. Touches no disk.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from foreword.capture.code.languages import DOCUMENTS
from foreword.capture.folder.decode import marked
from foreword.errors import ValidationError

Reason = Literal[
    "ignored",
    "binary",
    "generated",
    "minified",
    "huge",
    "link",
    "link out",
    "private",
    "unreadable",
    "repository",
]
"""Why a file is left out. `link` leads to another file of the folder, which is read there; `repository` is
another project inside this one."""

Skipped = Counter[Reason]


@dataclass(frozen=True, slots=True)
class Limits:
    """What is too large: in bytes, for a PDF in bytes, and in characters on a line of code."""

    size: int = 1_000_000
    pdf_size: int = 20_000_000
    line: int = 5_000

    def of(self, language: str) -> int:
        """The most bytes that a file of a language may have."""
        return self.pdf_size if language == "pdf" else self.size

    def __post_init__(self) -> None:
        if min(self.size, self.pdf_size, self.line) < 1:
            raise ValidationError("limits must be 1 or more")


_BUILT_FOLDERS = frozenset(
    {
        *("node_modules", "bower_components", "jspm_packages", "vendor", "vendors", "site-packages", "Pods"),
        *("third_party", "thirdparty", "3rdparty", "dist", "htmlcov", "DerivedData", ".terraform", ".gradle"),
        *("__pycache__", ".venv", "venv", ".tox", ".nox", ".eggs", ".mypy_cache", ".ruff_cache"),
        *(".pytest_cache", ".hypothesis", ".next", ".nuxt"),
    }
)
_BUILT_NAMES = re.compile(
    r"""(?ix) ^(?:
        (?:package-lock|npm-shrinkwrap)\.json | pnpm-lock\.yaml | go\.sum | .+\.lockb?
      | .+[.-]min\.(?:js|css|mjs) | .+\.(?:js|css|mjs|ts)\.map | .+\.bundle\.js
      | .+_pb2(?:_grpc)?\.pyi? | .+\.pb\.(?:go|cc|h) | .+\.g(?:enerated)?\.(?:cs|dart|ts|go)
      | .+\.designer\.cs
    )$"""
)
_PRIVATE_NAMES = re.compile(
    r"""(?ix) ^(?:
        \.env(?:\.(?!example$|sample$|template$|dist$).+)? | .+\.(?:pem|key|p12|pfx|jks|keystore|kdbx|asc|gpg)
      | id_(?:rsa|dsa|ecdsa|ed25519).* | \.netrc | \.pgpass | \.htpasswd | credentials | \.git-credentials
    )$"""
)
_GENERATED = re.compile(
    rb"""(?x)
        @generated\b | \bDO\ NOT\ (?:EDIT|MODIFY)\b
      | ^\W*(?:Code\ g|File\ g|G|Auto-?g|Automatically\ g)enerated\ (?:by|from)\b
      | (?i:\bthis\ file\ (?:is|was|has\ been)\ (?:auto(?:matically)?[ -]?)?generated\b)
    """,
    re.MULTILINE,
)
_GENERATED_IN = 1_500
_BINARY_IN = 8_192
_CONTROL = re.compile(rb"[\x01-\x06\x0e-\x1a\x1c-\x1f\x7f]")
_MOST_CONTROL = 0.02
_MEAN_LINE = 300


def by_name(name: str) -> Reason | None:
    """Why a file is left out by its name alone."""
    *folders, last = name.split("/")
    if not last:
        return "repository"
    if _PRIVATE_NAMES.match(last):
        return "private"
    if _BUILT_NAMES.match(last) or any(map(is_built, folders)):
        return "generated"
    return None


def is_built(folder: str) -> bool:
    """Whether tools filled a folder, by the last part of its path."""
    return folder.rpartition("/")[2] in _BUILT_FOLDERS


def by_content(data: bytes, language: str, limits: Limits) -> Reason | None:
    """Why a file is left out by what it holds."""
    if language == "pdf":
        return None
    if _is_binary(data):
        return "binary"
    if language in DOCUMENTS:
        return None
    if _GENERATED.search(data, 0, _GENERATED_IN):
        return "generated"
    return "minified" if _is_minified(data, limits) else None


def _is_binary(data: bytes) -> bool:
    """Whether bytes are no text: a NUL without a mark that explains it, or many control characters."""
    if marked(data):
        return False
    head = data[:_BINARY_IN]
    if b"\0" in data:
        return True
    return len(_CONTROL.findall(head)) > _MOST_CONTROL * len(head)


def _is_minified(data: bytes, limits: Limits) -> bool:
    """Whether lines are longer than anybody writes."""
    lines = data.count(b"\n") + 1
    if len(data) > _GENERATED_IN and len(data) / lines > _MEAN_LINE:
        return True
    return len(data) > limits.line and max(map(len, data.split(b"\n"))) > limits.line

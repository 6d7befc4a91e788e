"""Find names by their shape alone: addresses, files, versions, tickets, names in code.

Every quantifier is possessive or bounded, so that a megabyte of hostile text takes no longer than a megabyte
of prose.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from foreword.capture.names.word_lists import ORGANISATION_ENDINGS, ORGANISATIONS, THINGS
from foreword.text.words import STOPWORDS, fold_case

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from foreword.types import EntityType


@dataclass(frozen=True, slots=True)
class Mention:
    """A part of a text that names something; `attributes` follow from the name, such as a gender."""

    text: str
    entity_type: EntityType
    start: int
    end: int
    attributes: Mapping[str, str] = field(default_factory=dict)


_EXTENSIONS_TEXT = (
    "bash bat c cc cfg conf cpp crt cs css csv db diff doc docx env gif go gradle gz h hpp htm html ini "
    "ipynb java jl jpeg jpg js json jsonl jsx key kt less lock log lua md mjs mp3 mp4 odt parquet patch pdf "
    "pem php pl png ppt pptx properties proto ps1 py pyi r rb rs rst sass scss service sh sql svg swift tar "
    "tex tf toml ts tsv tsx txt vue wav xls xlsx xml yaml yml zip zsh"
)
_EXTENSIONS = frozenset(_EXTENSIONS_TEXT.split())
_DOMAINS = frozenset(
    {
        *("ai", "app", "at", "br", "ch", "cn", "co", "com", "de", "dev", "edu", "es", "eu", "fr", "gov"),
        *("in", "info", "io", "jp", "net", "nl", "org", "uk", "us"),
    }
)
_NOT_TICKETS = frozenset(
    {"AES", "ASCII", "COVID", "GPT", "HTTP", "IPV", "ISO", "MD", "MPEG", "PEP", "RFC", "RSA", "SARS", "SHA"}
    | {"TLS", "USB", "UTF"}
)
_NAMES_IN_MIXED_CASE = ("Mc", "Mac", "De", "Di", "Du", "La", "Le", "Van", "Von", "Fitz", "St")
_BARE_FILES = "Dockerfile|Makefile|Jenkinsfile|Procfile|Gemfile|Rakefile|Vagrantfile"

# Every shape begins outside a word with one of a few characters. This is checked first, to be fast on prose.
_SHAPES = re.compile(
    rf"""(?<!\w)(?=[\w`\#/\\.~])(?:
        (?P<url>\b(?:https?|ftp|wss?)://[^\s<>"'`]++ | \bwww\.[^\s<>"'`]++)
      | (?P<email>(?<![\w.+-])[\w.+-]{{1,64}}+@[\w-]{{1,63}}+(?:\.[\w-]{{1,63}}+)++)
      | (?P<path>(?<![\w./\\~@-])(?:[A-Za-z]:(?=[\\/])|~)?[\\/.]{{0,3}}+(?:[\w.@+-]++[\\/])++[\w.@+-]*+)
      | (?P<rooted>(?<![\w./\\~-])/[\w.-]++)
      | (?P<backticked>`[^`\n]{{1,80}}+`)
      | (?P<ticket>\bCVE-\d{{4}}-\d{{4,7}}\b | \b[A-Z][A-Z0-9]{{1,9}}-\d{{1,7}}\b
            | (?<![\w&/\#])\#\d{{1,7}}\b)
      | (?P<version>\bv\d{{1,4}}(?:\.\d{{1,6}}){{0,3}}(?:[-+][a-z0-9.]{{1,20}}[a-z0-9])?\b
            | (?<![\w.$€£-])\d{{1,4}}\.\d{{1,4}}\.\d{{1,6}}(?:[-+][a-z0-9.]{{1,20}}[a-z0-9])?(?![\w.]?\w))
      | (?P<decimal>(?<![\w.,$€£-])\d{{1,3}}\.\d{{1,3}}(?![\w.,]?\d|\s?[%€$£]|\w))
      | (?P<hidden>(?<![\w.])\.[a-z][a-z-]{{2,20}}\b(?!\())
      | (?P<bare>\b(?:{_BARE_FILES})\b)
      | (?P<dotted>(?<![\w.@/\\-])[A-Za-z_][\w-]{{0,80}}+(?:\.[\w-]{{1,60}}+){{1,6}}+(?:/[^\s<>"'`]*+)?)
      | (?P<code>(?<![\w.])[A-Za-z_]\w{{0,80}}+(?=\(\))
            | \b[A-Za-z0-9]{{1,60}}_\w{{1,80}}+ | (?<!\w)__?[a-z]\w{{1,60}}+
            | \b[a-z]{{1,40}}[A-Z]\w{{1,80}}+ | \b[A-Z][a-z0-9]{{1,40}}[A-Z]\w{{0,80}}+)
      | (?P<hash>\b(?=[0-9]{{0,39}}[a-f])(?=[a-f]{{0,39}}[0-9])[0-9a-f]{{7,40}}\b)
      )
    """,
    re.VERBOSE,
)
_IN_CODE = re.compile(r"_|[a-z][A-Z]|^[a-z]{2,40}\.[a-z]{2,40}\.[A-Za-z]")
_TRAILING = ".,;:!?)]}>'\"*"
_HIDDEN_FILES = frozenset(
    {".bashrc", ".dockerignore", ".editorconfig", ".env", ".eslintrc", ".gitattributes", ".gitignore"}
    | {".github", ".htaccess", ".npmrc", ".prettierrc", ".profile", ".vimrc", ".vscode", ".zshrc"}
)
UNITS = re.compile(
    r"\s?(?:percent|per cent|million|billion|thousand|hours?|minutes?|seconds?|days?|weeks?|months?|years?"
    r"|times|points?|stars?|miles?|k?m|kg|cm|mm|gb|mb|kb|tb|ghz|mhz|ms|usd|eur|dollars?|euros?|degrees?"
    r"|lit(?:re|er)s?|am|pm)\b",
    re.IGNORECASE,
)
_BEFORE_VERSION = re.compile(r"([A-Za-z][\w.+#-]{0,40})[ ]$")
_VERSION_WORDS = ("version", "versions", "release", "releases", "ver")
_CHARACTERS_BEFORE = 44


def find_mentions_by_shape(text: str) -> Iterator[Mention]:
    """The mentions in a text that have a shape of their own, in order, none inside another."""
    seen_version = False
    for match in _SHAPES.finditer(text):
        shape, value, start = match.lastgroup or "", match.group(), match.start()
        if shape == "backticked":
            value, start = value[1:-1], start + 1
        value = value.rstrip(_TRAILING) if shape in ("url", "path", "dotted", "rooted") else value
        kind = _type_of_shape(shape, value)
        if shape == "decimal":
            kind = "version" if _is_version(text, match, seen_version=seen_version) else None
        seen_version = seen_version or kind == "version"
        if kind is not None and value:
            yield Mention(value, kind, start, start + len(value))


def _type_of_shape(shape: str, value: str) -> EntityType | None:
    """The type of a matched shape; None if it only looks like one."""
    if shape in ("url", "email", "version"):
        return shape  # type: ignore[return-value]
    if shape == "ticket":
        return None if value.partition("-")[0] in _NOT_TICKETS else "ticket"
    if shape in ("bare", "hidden"):
        return "file" if shape == "bare" or value in _HIDDEN_FILES else None
    if shape in ("path", "rooted"):
        return "file" if _is_path(value) else _type_of_dotted(value)
    if shape == "dotted":
        return _type_of_dotted(value)
    if shape == "backticked":
        return _type_of_backticked(value)
    return "code" if shape == "hash" or _is_name_in_code(value) else None


def _is_path(value: str) -> bool:
    """Whether words between slashes are a path: one with a root, or one that ends in a file; not `and/or`."""
    last = value.replace("\\", "/").rpartition("/")[2]
    if last.rpartition(".")[2].lower() in _EXTENSIONS and "." in last:
        return True
    rooted = value.startswith(("/", "~", "./", "../")) or value[1:2] == ":"
    return (rooted and any(map(str.isalpha, value))) or bool(re.match(r"(?:src|lib|tests?|docs?)/", value))


def _type_of_dotted(value: str) -> EntityType | None:
    """The type of words joined by dots: a known product, a file, a host or code; None for others."""
    host, _, rest = value.partition("/")
    last = host.rpartition(".")[2]
    if fold_case(value) in THINGS:
        return "thing"
    if last.lower() in _EXTENSIONS and not rest:
        return "file"
    if host.islower() and last in _DOMAINS:
        return "url"
    return "code" if not rest and _IN_CODE.search(host) else None


def _type_of_backticked(value: str) -> EntityType | None:
    """The type of a text between backticks: that of its shape, else code; None if it is blank."""
    match = _SHAPES.fullmatch(value)
    kind = _type_of_shape(match.lastgroup or "", value) if match and match.lastgroup != "backticked" else None
    return kind or ("code" if value.strip() else None)


def _is_name_in_code(value: str) -> bool:
    """Whether a word with odd capitals or signs is a name in code, not a listed product or organisation."""
    folded = fold_case(value)
    if any(folded in known for known in (THINGS, ORGANISATIONS, ORGANISATION_ENDINGS, STOPWORDS)):
        return False
    return not (value.startswith(_NAMES_IN_MIXED_CASE) and value.isalpha() and value[-1].islower())


def _is_version(text: str, match: re.Match[str], *, seen_version: bool) -> bool:
    """Whether a decimal is a version: it follows a name, `version` or another version, and has no unit."""
    if UNITS.match(text, match.end()):
        return False
    before = _BEFORE_VERSION.search(text, max(0, match.start() - _CHARACTERS_BEFORE), match.start())
    word = before.group(1) if before else ""
    after_name = fold_case(word) in THINGS or (word[:1].isupper() and fold_case(word) not in STOPWORDS)
    goes_on = seen_version and word in ("to", "than", "from", "and", "or")
    return after_name or goes_on or word.lower() in _VERSION_WORDS

"""Take secrets out of text before anything of it is written down.

Knows how the keys of many providers look, what a password assigned to a name looks like in code, settings,
JSON, command lines and addresses, and the `<private>` mark with which a user keeps something to themselves.
Each secret becomes `[redacted:KIND]`; a private span becomes nothing. Everything else stays as it was, to the
byte. Redact before cutting: half a key may no longer look like one.

Stands alone, on the standard library: a hook that must put a payload aside loads this file by its path.
Patterns are compiled when a text first holds what they begin with, and cost time in proportion to the text.
"""

from __future__ import annotations

import binascii
import os
import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Secret(NamedTuple):
    """Where a secret stands in a text, and what kind it is."""

    kind: str
    start: int
    end: int


class Format(NamedTuple):
    """A secret that is known by its look: a row of `secret_formats.txt`, where the columns are explained."""

    kind: str
    beginning: str
    pattern: str
    characters_before: int
    is_apart: bool


def read_formats(table: str) -> list[Format]:
    """The formats in a table, one for each beginning in a row; raises ValueError for a row that is none."""
    formats: list[Format] = []
    for number, line in enumerate(table.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        columns = re.split(" {2,}", line.strip())
        if not 3 <= len(columns) <= 4:
            raise ValueError(f"line {number} of the secret formats has {len(columns)} columns, not 3 or 4")
        kind, beginnings, pattern, before = (*columns, "0")[:4]
        pattern = pattern.replace("{uuid}", r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
        formats += [
            Format(kind, beginning.rstrip("…"), pattern, int(before), beginning.endswith("…"))
            for beginning in beginnings.split(" ")
        ]
    return formats


# Without pathlib, which a hook need not load.
with open(os.path.join(os.path.dirname(__file__), "secret_formats.txt"), encoding="utf-8") as _table:  # noqa: PTH118, PTH120, PTH123
    _FORMATS = read_formats(_table.read())
_NO_BEGINNING = "-"

# Where keys can stand: a small part of most texts, and the only one that is searched for their beginnings.
_DENSE = re.compile(r"[A-Za-z0-9_+/=%.~$:-]{16,}+")
_DIGIT = re.compile(r"[0-9]")
_PRIVATE = re.compile(
    # With blanks inside the brackets only the bare word counts: "a < private b > c" marks nothing.
    r"<\s{0,3}(?P<closing>/?)\s{0,3}private(?:(?<=[</]private)\s[^<>]{0,1000}?|\s{0,3})(?P<empty>/?)(?:>|\Z)",
    re.IGNORECASE,
)
_KEY_HEAD = re.compile(r"-----BEGIN (?:[A-Z0-9]{2,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_FOOT = re.compile(r"-----END [A-Z0-9 ]{0,64}PRIVATE KEY(?: BLOCK)?-----")
_BETWEEN = r"(?:\\[nr]|[^\w+/=]){0,24}(?:\d{1,6}[^\w+/=]{1,4})?"  # also the quotes of code, or a line number
_KEY_TORN = re.compile(
    r"(?a)(?:\s{0,4}Proc-Type:.{0,80}\s{1,4}DEK-Info:.{0,80})?"
    rf"(?:{_BETWEEN}[A-Za-z0-9+/=]{{20,200}})*(?:{_BETWEEN}[A-Za-z0-9+/=]{{1,200}}\Z)?"
)
_KEY_BODY = re.compile(r"[A-Za-z0-9+/]{30}")

_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_REST_OF_WORD = re.compile(r"[A-Za-z0-9_-]*+")
_ESCAPE = re.compile(r"(?a)(?:\\[nrt]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]{0,8}[A-Za-z])\Z")

_NAMES = ("pass", "pwd", "secret", "token", "key", "credential", "auth")
_NAME = re.compile(
    r"(?a)(?P<word>pass(?:word|wd|phrase|code)?|pwd|secret|token|key|credentials?|authorization|auth)"
    r"(?P<tail>[\w-]{0,32}+)\\{0,4}[\"'`]?\]?"
    r"(?:,?\s{1,12}[\"']?value[\"']?)?"  # {"name": "PASSWORD", "value": …
    r"(?:\s{0,4}(?::\s{0,4}[a-z_][\w.\[\]|, ]{0,40}?\s(?==))?"  # password: str = …
    r"(?:[=!]?={1,2}|:=|=>|:|\bis:?\s)\s{0,8}|(?P<gap>>|\s{1,4}))"
)
_TAIL = re.compile(
    r"s?(?:[_-]?(?:key|value|base|raw|text|b64|base64|hex|prod|production|dev|test|staging|live|main|default|old|new"
    r"|\d{1,3}))*"
)
_KEY_OF_SOMETHING = re.compile(
    r"(?:api|access|private|secret|auth|encrypt|encryption|master|signing|account|service|shared|client|hmac|jwt"
    r"|storage|admin|deploy|app|session|webhook|license|subscription)[_-]?\Z"
)
_PUBLIC = re.compile(r"pub[a-z]*[_-]?\Z")
_HARMLESS = re.compile(
    r"sha|md5|hash|digest|sum|integrity|etag|commit|rev|uuid|guid|print|cert|pub|sig|id\b|data|h1\b|\bv\b|url|path"
    r"|file|name|type|format|size|len|str\b",
    re.IGNORECASE | re.ASCII,
)
_NAME_BEFORE = re.compile(r"(?a)(?:(?P<mark>\[redacted:[a-z-]+\])|(?P<name>[\w-]*))[\"'`\]\s\\]{0,6}\Z")
_SCHEME = re.compile(r"(?:[bB]earer|[bB]asic|[tT]oken|[aA]pi[kK]ey)\s+")
_OPENING = re.compile(r"[bBrRuUfF]{0,2}(\\{0,4}[\"'`])")
_MIN_CHARACTERS = len("<private")  # what is shorter holds no secret
_MAX_VALUE_CHARACTERS = 100  # how much of a long value is looked at
_QUOTED = {quote: re.compile(rf"(?:[^{quote}\\\n]|\\.){{0,4096}}+(?={quote})") for quote in "\"'`"}
_BARE = re.compile(r"[^\s\"'`,;<>(){}\[\]\\|&]{6,1024}")
_ANY_ASSIGNMENT = re.compile(
    r"(?a)[=:]\s{0,4}\\{0,4}[\"'`]?(?!0x|//|_Z)([A-Za-z0-9+/_~.-]{28,256}={0,2})(?![\w+/=(\[.-])"
)
_CHANGES = re.compile(r"(?<=[A-Za-z])[0-9]|(?<=[0-9])[A-Za-z]|(?<=[a-z])[A-Z]")
_COMPUTED = re.compile(
    r"(?a)\A\$\(?\w+\)?\Z|\A<.*>\Z|\A\{[\w.!:]*\}\Z|\A%[sdr]\Z|\$\{|\{\{|%\(\w+\)|\\[dws][+*{]|\\x[0-9a-f]{2}-"
    r"|0-9a-z|a-z0-9|a-zA-Z|\[redacted:"
)
_PLACEHOLDER_WORDS = (
    *("xxx", "***", "...", "your", "example", "changeme", "change-me", "change_me", "placeholder", "dummy"),
    *("environ", "getenv", "process.env"),
)
_PLACEHOLDER = re.compile(
    r"(?a)sample|insert|replace|todo|fixme|(?:sha|md|utf|base|aes|rsa|ipv)-?\d"
    r"|(?:required|optional|string|missing|invalid|incorrect|hidden|x-oauth-basic)\Z"
    r"|(?:user|my)?(?:pass(?:word|wd)?|pwd|pw|secret|token)\d{0,3}\Z"
)
_WORD_SHAPE = r"(?:[A-Z]?[a-z]+|[A-Z]+)(?:[A-Z][a-z]{2,})*"
_WORDY = re.compile(rf"(?a)[^A-Za-z0-9]*(?:(?:{_WORD_SHAPE}\d{{0,4}}|\d+[a-z]?)(?:[^A-Za-z0-9]+|\Z))+")
_CODE_NAME = re.compile(r"(?=.*(?:\.|key|token|secret|pass|type))[a-z_][a-z0-9_.]*", re.IGNORECASE | re.ASCII)


def redact(text: str) -> str:
    """The text without its secrets and without what was marked private; a second time changes nothing."""
    if len(text) < _MIN_CHARACTERS:
        return text
    return _mark_secrets(remove_private_spans(text))


def redact_file_text(text: str) -> str:
    """A file's text without the secrets in it, on as many lines as before; the same object if it has none.

    A file is searched as a whole, since half a key may no longer look like one. What was marked private
    stays: a mark that is not closed ends with the item it stands in, not with the file.
    """
    return _mark_secrets(text, keep_lines=True)


def _mark_secrets(text: str, *, keep_lines: bool = False) -> str:
    """The text with a mark in place of each secret and, if lines are kept, the secret's line breaks."""
    pieces, at = [], 0
    for secret in find_secrets(text):
        breaks = "\n" * text.count("\n", secret.start, secret.end) if keep_lines else ""
        pieces += [text[at : secret.start], f"[redacted:{secret.kind}]", breaks]
        at = secret.end
    return "".join([*pieces, text[at:]]) if pieces else text


def find_secrets(text: str) -> list[Secret]:
    """The secrets in a text, in order and apart from each other; what is marked private is not looked at."""
    found = [*_find_known_formats(text), *_find_assigned_secrets(text), *_find_random_values(text)]
    found = [secret for secret in found if not _overlaps_redaction_mark(text, secret)]
    found += _find_private_keys(text)
    found.sort(key=lambda secret: secret.start)
    merged: list[Secret] = []
    for secret in found:
        # The rest of a word is taken for a part of it, so that nothing new begins after it.
        rest = _REST_OF_WORD.match(text, secret.end)
        end = rest.end() if rest else secret.end
        if merged and secret.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, end))
        else:
            merged.append(secret._replace(end=end))
    return merged


def has_private_mark(text: str) -> bool:
    """Whether a text marks anything as private, or may."""
    return _PRIVATE.search(text) is not None


def redact_json(value: Any) -> Any:  # noqa: ANN401 - JSON is whatever it is
    """The same value without secrets, in keys too; a key that names a secret speaks for its value."""
    root = [value]
    pending: list[tuple[Any, Any, str]] = [(root, 0, "")]
    while pending:
        holder, place, name = pending.pop()
        inner = holder[place]
        if isinstance(inner, (str, int)) and not isinstance(inner, bool):
            holder[place] = _redact_named_value(name, inner)
        elif isinstance(inner, dict):
            copy: dict[Any, Any] = {}
            holder[place] = copy
            for key, member in inner.items():
                place_of_member = _make_key_unique(redact(key), copy) if isinstance(key, str) else key
                copy[place_of_member] = member
                pending.append((copy, place_of_member, redact(_name_of_json_member(inner, key))))
        elif isinstance(inner, (list, tuple)):
            holder[place] = items = list(inner)
            pending += [(items, index, name) for index in range(len(items))]
    return root[0]


def _name_of_json_member(members: dict[Any, Any], key: Any) -> str:  # noqa: ANN401
    """The name under which a member stands, also where it is written `{"name": …, "value": …}`."""
    label = members.get("name", members.get("key")) if key in ("value", "Value") else key
    return label if isinstance(label, str) else ""


def _make_key_unique(key: str, members: dict[Any, Any]) -> str:
    """The key, told apart from one that reads the same now."""
    free, number = key, 2
    while free in members:
        free, number = f"{key} {number}", number + 1
    return free


def _redact_named_value(name: str, value: str | int) -> str | int:
    """A value without secrets; a mark in its place if its name says that it is one and it looks like one."""
    clean = redact(value) if isinstance(value, str) else value
    text = clean if isinstance(clean, str) else str(clean) if abs(clean) < 10**40 else ""
    head = text[:_MAX_VALUE_CHARACTERS]
    for match in _find_secret_name_matches(f"{name}="):
        if _is_name_of_secret(match.string, match) and _is_like_secret(head, match, quoted=True):
            return f"[redacted:{_kind_of_named_secret(match)}]"
    return clean


@cache
def _compile_ascii(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def remove_private_spans(text: str) -> str:
    """The text without private spans, nested ones included; one that is not closed ends with the text."""
    kept: list[str] = []
    at = depth = 0
    for tag in _PRIVATE.finditer(text):
        if depth == 0 and not tag["closing"]:
            kept.append(text[at : tag.start()])
            at = tag.end()
        if tag["closing"]:
            at = tag.end() if depth == 1 else at
            depth = max(0, depth - 1)
        elif not tag["empty"]:
            depth += 1
    if depth == 0:
        kept.append(text[at:])
    text = "".join(kept)
    remade = next((tag for tag in _PRIVATE.finditer(text) if not tag["closing"]), None)
    return text[: remade.start()] if remade else text  # two halves of a mark have met, and not by chance


def _find_known_formats(text: str) -> Iterator[Secret]:
    """What looks like the keys that providers hand out."""
    dense = dict.fromkeys(_DENSE.findall(text))
    runs = " ".join([run for run in dense if not run.islower() or _DIGIT.search(run)])
    for form in _FORMATS:
        if form.beginning == _NO_BEGINNING:
            if _compile_ascii(form.pattern).search(runs):
                spans = (match.span() for match in _compile_ascii(form.pattern).finditer(text))
                yield from (
                    Secret(form.kind, start, end) for start, end in spans if _can_start_word(text, start)
                )
        elif form.is_apart or form.beginning in runs:
            yield from _find_one_format(text, form)


def _find_one_format(text: str, form: Format) -> Iterator[Secret]:
    """The secrets in a text that have one format."""
    at = text.find(form.beginning)
    while at >= 0:
        start, after = at - form.characters_before, at + len(form.beginning)
        if _can_start_word(text, start) and (match := _compile_ascii(form.pattern).match(text, after)):
            start, end = match.span(1) if match.re.groups else (start, match.end())
            if _CHECKS.get(form.kind, _has_varied_characters)(text[start:end]):
                yield Secret(form.kind, start, end)
                after = end
        at = text.find(form.beginning, after)


def _overlaps_redaction_mark(text: str, secret: Secret) -> bool:
    """Whether a part of it has been redacted before."""
    mark = text.rfind("[redacted:", max(0, secret.start - 32), secret.end)
    return mark >= secret.start or (mark >= 0 and "]" not in text[mark : secret.start])


def _can_start_word(text: str, index: int) -> bool:
    """Whether a word could begin here: it does not go on from before, unless what is before is an escape."""
    if index <= 0 or text[index] not in _WORD or text[index - 1] not in _WORD:
        return index >= 0
    return bool(_ESCAPE.search(text, max(0, index - 14), index))


def _find_private_keys(text: str) -> Iterator[Secret]:
    at = text.find("-----BEGIN ")
    while at >= 0:
        head = _KEY_HEAD.match(text, at)
        end = _find_private_key_end(text, head.end()) if head else at
        if end > at and _KEY_BODY.search(text, at, end):
            yield Secret("private-key", at, end)
        at = text.find("-----BEGIN ", max(end, at + 11))


def _find_private_key_end(text: str, head_end: int) -> int:
    """Where a key ends: after its foot or, if that was cut off, after the last line that looks like it."""
    dashes = text.find("-----", head_end, head_end + 20_000)
    foot = _KEY_FOOT.match(text, dashes) if dashes >= 0 else None
    last = foot or _KEY_TORN.match(text, head_end)
    return last.end() if last else head_end


def _find_assigned_secrets(text: str) -> Iterator[Secret]:
    """What is given to a name that says it is a secret."""
    for name in _find_secret_name_matches(text):
        start, end = _find_value_span(text, name) if _is_name_of_secret(text, name) else (0, 0)
        head = text[start : min(end, start + _MAX_VALUE_CHARACTERS)]
        if head and _is_like_secret(head, name, quoted=text[start - 1] in "\"'`"):
            yield Secret(_kind_of_named_secret(name), start, end)


def _find_secret_name_matches(text: str) -> Iterator[re.Match[str]]:
    """Where words stand that may name a secret: `password`, `token`, `api_key`."""
    lower = text.replace("İ", "i").lower()  # the one letter that becomes two
    for word in _NAMES:
        at = lower.find(word)
        while at >= 0:
            match = _NAME.match(lower, at)
            if match:
                yield match
            at = lower.find(word, at + len(word))


def _kind_of_named_secret(name_match: re.Match[str]) -> str:
    return "password" if name_match["word"].startswith(("pass", "pwd")) else "secret"


def _is_name_of_secret(text: str, name_match: re.Match[str]) -> bool:
    """Whether the name could be a secret's and, where only a gap follows, is a flag or an element."""
    at = name_match.start()
    goes_on = at and text[at - 1].isalpha() and not text[at].isupper()
    if goes_on and name_match["word"] in ("pass", "passcode"):
        return False
    if _overlaps_redaction_mark(text, Secret("", at, at)):
        return False
    if name_match["gap"] is None:
        return True
    start = at
    while start > max(0, at - 40) and (text[start - 1] in _WORD or text[start - 1] == "-"):
        start -= 1
    return text[start - 1 : start] == "<" if name_match["gap"] == ">" else text[start : start + 2] == "--"


def _find_value_span(text: str, name_match: re.Match[str]) -> tuple[int, int]:
    """Where the value stands that a name is given: between quotes, or up to a blank or a sign; or nowhere."""
    start = name_match.end()
    opening = _OPENING.match(text, start)
    start = opening.end() if opening else start
    scheme = _SCHEME.match(text, start)
    start = scheme.end() if scheme else start
    end = _find_quotation_end(text, start, opening[1]) if opening else start
    if end > start:
        return start, end
    bare = _BARE.match(text, start)
    if not bare or text[bare.end() : bare.end() + 1] in ("(", "[", "{"):
        return 0, 0  # a call, or something else that is computed
    if name_match["gap"] == ">" and text[bare.end() : bare.end() + 2] != "</":
        return 0, 0
    return start, start + len(bare[0].rstrip(".:"))


def _find_quotation_end(text: str, start: int, quote: str) -> int:
    """Where the quotation ends that holds this place; here, if it does not end."""
    if len(quote) == 1:
        inside = _QUOTED[quote].match(text, start)
        return inside.end() if inside else start
    return max(start, text.find(quote, start, start + 4096))


def _find_random_values(text: str) -> Iterator[Secret]:
    """What is given to any name and looks like chance itself, sums and identifiers aside."""
    for match in _ANY_ASSIGNMENT.finditer(text):
        value = match[1]
        if value.islower() or value.isupper() or len(set(value)) < 16 or _randomness(value) < 0.28:
            continue
        before = _NAME_BEFORE.search(text, max(0, match.start() - 48), match.start())
        if before and not before["mark"] and not _HARMLESS.search(before["name"]):
            yield Secret("secret", *match.span(1))


def _randomness(value: str) -> float:
    """How often, of all neighbours, letter meets digit or a small letter a capital: chance does both."""
    value = value[:_MAX_VALUE_CHARACTERS]
    return len(_CHANGES.findall(value)) / max(1, len(value) - 1)


def _is_like_secret(value: str, name_match: re.Match[str], *, quoted: bool) -> bool:
    """Whether a value could be the secret its name speaks of, and not a stand-in, a word or an expression."""
    has_blanks = any(map(str.isspace, value)) and name_match["word"] != "passphrase"
    if len(value) < 6 or has_blanks or _is_placeholder(value):
        return False
    if name_match["word"] == "pwd" and value.startswith(("/", "~")):
        return False  # the working directory
    if not quoted and _CODE_NAME.fullmatch(value) and _randomness(value) < 0.25:
        return False
    if not _TAIL.fullmatch(name_match["tail"]) or not _is_specific_secret_name(name_match):
        return (
            not name_match["gap"]
            and len(value) >= 20
            and _randomness(value) > 0.3
            and not _HARMLESS.search(name_match["tail"])
        )
    if _kind_of_named_secret(name_match) == "password":
        return _is_like_password(value, quoted=quoted)
    return _is_like_key(value)


def _is_specific_secret_name(name_match: re.Match[str]) -> bool:
    """Whether the word says enough by itself: a key must be a key to something."""
    before = name_match.string[max(0, name_match.start() - 16) : name_match.start()]
    if name_match["word"] in ("key", "auth"):
        return _KEY_OF_SOMETHING.search(before) is not None
    return not _PUBLIC.search(before)


def _is_like_password(value: str, *, quoted: bool) -> bool:
    letter = any(map(str.isalpha, value))
    digit = any(map(str.isdigit, value))
    symbol = not set("!@#$%^&*?~+=|").isdisjoint(value)
    if letter and not digit and not symbol:
        return quoted or (len(value) >= 10 and not _WORDY.fullmatch(value))
    return letter or (quoted and digit)


def _is_like_key(value: str) -> bool:
    mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return len(value) >= (8 if mixed else 20) and not _WORDY.fullmatch(value)


def _is_placeholder(value: str) -> bool:
    """Whether a value is computed, or a word for a secret that is to be put there."""
    lower = value.lower()
    word = any(word in lower for word in _PLACEHOLDER_WORDS) or _PLACEHOLDER.match(lower)
    return bool((word and _randomness(value) < 0.2) or _COMPUTED.search(value))


def _has_varied_characters(value: str) -> bool:
    return len(set(value)) > 6


def _is_base64_login(value: str) -> bool:
    try:
        login = binascii.a2b_base64(value + "=" * (-len(value) % 4)).decode()
    except ValueError:
        return False
    return ":" in login and login.isprintable()


_CHECKS: dict[str, Callable[[str], bool]] = {
    "basic": _is_base64_login,
    "bearer": _is_like_key,
    "login": lambda value: _is_like_password(value, quoted=False) and not _is_placeholder(value),
    "url-token": _is_like_key,
    "url-password": lambda value: not _is_placeholder(value) and len(value) > 3,
}

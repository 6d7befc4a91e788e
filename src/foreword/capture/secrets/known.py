"""Find secrets by their format (`formats.txt`) or by the words before them (`contexts.txt`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.capture.secrets import shape
from foreword.capture.secrets.patterns import pattern
from foreword.capture.secrets.tables import (
    Secret,
    compile_pattern,
    load_table,
    read_formats,
    read_keyword_contexts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from foreword.capture.secrets.tables import KeywordContext, PreparedText, SecretFormat

_FORMATS = read_formats(load_table("formats.txt"))
_CONTEXTS_BY_KEYWORD: dict[str, list[KeywordContext]] = {}
for _context in read_keyword_contexts(load_table("contexts.txt")):
    _CONTEXTS_BY_KEYWORD.setdefault(_context.keyword, []).append(_context)
_KEYWORDS_BY_WORD: dict[str, list[str]] = {"": []}
for _keyword, (_context, *_) in _CONTEXTS_BY_KEYWORD.items():
    _KEYWORDS_BY_WORD.setdefault(min(_context.words, default=""), []).append(_keyword)
_NO_BEGINNING = "-"

_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_ESCAPE = pattern(r"(?a)(?:\\[nrt]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]{0,8}[A-Za-z])\Z")
_NEIGHBOUR = pattern(r"(?a)(?<![\w/+])[A-Za-z0-9/+]{40}(?![\w/+=])")
_NEIGHBOUR_CHARACTERS = 240
_MIN_DIFFERENT_BYTES = 8
_NUMBER = pattern(r"(?a)\w+")


def find_secrets_by_format(prepared: PreparedText) -> Iterator[Secret]:
    """The secrets in a text that have the format of a provider's keys."""
    text, runs = prepared.text, prepared.runs
    for form in _FORMATS:
        if form.beginning == _NO_BEGINNING:
            if compile_pattern(form.pattern).search(runs):
                spans = (match.span() for match in compile_pattern(form.pattern).finditer(text))
                yield from (
                    Secret(form.kind, start, end) for start, end in spans if can_start_word(text, start)
                )
        elif form.is_apart or (runs and form.beginning in runs):
            yield from _find_by_format(text, form)


def _find_by_format(text: str, form: SecretFormat) -> Iterator[Secret]:
    """The secrets in a text that have this format."""
    at = text.find(form.beginning)
    while at >= 0:
        start, after = at - form.characters_before, at + len(form.beginning)
        if can_start_word(text, start) and (match := compile_pattern(form.pattern).match(text, after)):
            start, end = match.span(1) if match.re.groups else (start, match.end())
            if _FORMAT_CHECKS.get(form.kind, shape.has_varied_characters)(text[start:end]):
                yield Secret(form.kind, start, end)
                yield from _find_aws_secrets_nearby(text, form.kind, start, end)
                after = end
        at = text.find(form.beginning, after)


def _find_aws_secrets_nearby(text: str, kind: str, start: int, end: int) -> Iterator[Secret]:
    """The secret keys near an AWS key id, whatever they are called; nothing for other kinds."""
    if kind != "aws":
        return
    begin, stop = max(0, start - _NEIGHBOUR_CHARACTERS), min(len(text), end + _NEIGHBOUR_CHARACTERS)
    for match in _NEIGHBOUR.finditer(text, begin, stop):
        value = match[0]
        if not value.islower() and not value.isupper() and shape.randomness(value) > 0.2:
            yield Secret(kind, *match.span())


def can_start_word(text: str, index: int) -> bool:
    """Whether a word can begin at this index: it does not continue a word, except after an escape."""
    if index <= 0 or text[index] not in _WORD or text[index - 1] not in _WORD:
        return index >= 0
    return bool(_ESCAPE.search(text, max(0, index - 14), index))


def find_secrets_after_keywords(prepared: PreparedText) -> Iterator[Secret]:
    """The values in places where only a secret can be, for example after an option such as `--token`."""
    text, lower, words = prepared.text, prepared.lower, prepared.words
    candidates = [
        keyword for word in sorted(_KEYWORDS_BY_WORD.keys() & words) for keyword in _KEYWORDS_BY_WORD[word]
    ]
    for keyword in (*_KEYWORDS_BY_WORD[""], *candidates):
        contexts = _CONTEXTS_BY_KEYWORD[keyword]
        if not words.issuperset(contexts[0].words):
            continue
        at = lower.find(keyword)
        while at >= 0:
            after = at + len(keyword)
            if keyword[0] == "_" or can_start_word(text, at):
                for context in contexts:
                    yield from _find_in_context(text, context, after)
            at = lower.find(keyword, after)


def _find_in_context(text: str, context: KeywordContext, at: int) -> Iterator[Secret]:
    """The secret after a keyword, if the text there has the pattern of this context."""
    match = compile_pattern(context.pattern).match(text, at)
    if not match or not match.lastindex:
        return
    start, end = match.span(match.lastindex)
    value = text[start:end]
    if (
        not value.startswith("-")
        and not shape.is_placeholder(value)
        and _CONTEXT_CHECKS[context.check](value)
    ):
        yield Secret(context.kind, start, end)


_FORMAT_CHECKS: dict[str, Callable[[str], bool]] = {
    "basic": shape.is_base64_login,
    "bearer": lambda value: shape.is_like_key(value) or (value.isalnum() and not value.isalpha()),
    "login": lambda value: shape.is_like_password(value, quoted=False) and not shape.is_placeholder(value),
    "url-token": shape.is_like_key,
    "url-password": lambda value: not shape.is_placeholder(value) and len(value) > 3,
}

_CONTEXT_CHECKS: dict[str, Callable[[str], bool]] = {
    "word": lambda value: len(value) >= 6,
    "mixed": shape.may_be_password,
    "strong": lambda value: shape.is_surely_password(value) or shape.is_numbered_words(value),
    "key": shape.is_like_key,
    "made-up": shape.is_key_or_numbered_words,
    "random": lambda value: shape.is_like_key(value) and shape.randomness(value) > 0.2,
    "phrase": shape.is_passphrase,
    "made": lambda value: shape.may_be_password(value) or shape.is_passphrase(value),
    "bytes": lambda value: len(set(_NUMBER.findall(value))) > _MIN_DIFFERENT_BYTES,
    "pin": lambda value: not value.startswith(("19", "20")) or len(value) != 4,
    "codes": lambda value: any(map(str.isdigit, value)),
}

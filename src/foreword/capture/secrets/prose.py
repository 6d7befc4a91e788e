"""Passwords that people tell in sentences: "My password for the VPN is …", in many languages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.capture.secrets import shape
from foreword.capture.secrets.named import FOREIGN_PATTERN, list_stems
from foreword.capture.secrets.tables import WORDS, Secret

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.capture.secrets.tables import Reading


def _any_word(role: str) -> str:
    """A pattern for any of the words with a role, the longest first."""
    words = sorted(set(WORDS[role]), key=len, reverse=True)
    return "|".join(re.escape(word).replace(r"\ ", r"[ \t]{1,3}") for word in words)


_NAME = (
    r"(?P<word>pass(?:[ -]?(?:word|wort|wd|phrase|code|key|ord|e))?|pwd|"
    r"(?:api|access|auth|secret)?[ _-]?(?:token|secret|key)|"
    rf"{FOREIGN_PATTERN})(?:s|'s|’s|en|es)?(?![^\W\d_])"
)
_LINK = (
    r"(?:[ \t]{1,3}[^\W_][\w'’/-]{0,23}){0,7}?"
    rf"(?:[ \t]{{1,3}}(?:{_any_word('is')})(?:[ \t]{{0,2}}:)?[ \t\n]{{1,3}}"
    r"|[ \t]{0,2}[:→][ \t]{0,4}|[ \t]{1,3}[–—-][ \t]{1,3})"
)
# What is told has a digit or a sign, or stands in quotes: so words on the way to it are not taken for it.
_TOLD = re.compile(
    rf"{_NAME}[»)]?(?:{_LINK}|(?P<gap>[ \t]{{1,3}}))(?P<quote>[\"'`«“„]?)"
    r"(?P<value>(?:(?=\S{0,127}[0-9!@#$%^&*~+=])|(?<=[\"'`«“„]))[^\s\"'`<>«»“”]{6,128})(?P<after>[\"'`»”“]?)"
)
_TOLD_BEFORE = re.compile(
    rf"(?:^|[\s\"'`«“(])(?P<value>[^\s\"'`«»“”()]{{6,128}})[\"'`»”]?,?[ \t]{{1,3}}(?:{_any_word('before')})"
    r"[ \t]{1,3}(?:[^\s.:;=!?,\"'`()<>]{1,20}[ \t]{1,3}){0,2}\Z"
)
_NEXT_SETTING = re.compile(r"(?a)[;,&](?=[\w.$-]{1,40}[=:])")
_MAY_TELL = re.compile(r"[^\n0-9!@#$%^&*~+\"'`«“„]{0,120}[0-9!@#$%^&*~+\"'`«“„]")
# Words and numbers joined by signs: what people make up who were told not to take a word.
_JOINED_WORDS = re.compile(r"(?=[^\d]*\d)[^\W_]{2,}(?:[-/+][^\W_]{2,}){2,}")
_OWN_CODE = re.compile(
    rf"\b(?:{_any_word('own')})(?:[ \t]{{1,3}}[^\W\d_]{{2,20}}){{0,2}}?[ \t]{{1,3}}(?:{_any_word('code')})"
    rf"(?:{_LINK}|[ \t]{{1,3}})(?P<value>[^\s\"'`<>«»“”]{{8,64}})"
)
_VERBS = ("pass", "passe")
_LATIN = re.compile(r"[a-zà-ɏ]")
_SIGN = re.compile(r"[0-9!@#$%^&*~+]")
_NOUN_BEFORE = re.compile(r"\b(?:the|my|our|your|his|her|its|admin|root|user|wifi|db|new|old)[ \t]{1,3}\Z")
_KEY_BEFORE = re.compile(
    r"(?:api|access|secret|private|auth|licen[cs]e|master|signing|account|shared)[ \t_-]{1,3}\Z"
)
_PRINTABLE = re.compile(r"[!-~]{6,128}")
_END_OF_SENTENCE = re.compile(r"[.!?。！？।][\s」』]|\n")
_PUNCTUATION = ".,;:)]}\"'`"
_FAR_CHARACTERS = 64


def find_told_passwords(reading: Reading) -> Iterator[Secret]:
    """What a sentence tells as a password, a token or a key."""
    text, lower = reading.text, reading.lower
    for stem in list_stems(reading):
        at = lower.find(stem)
        while at >= 0:
            if _LATIN.match(stem):
                yield from _find_told_after(text, lower, at)
                yield from _find_told_before(text, lower, at)
            else:
                yield from _find_in_sentence(text, at + len(stem))
            at = lower.find(stem, at + len(stem))
    if any(word in lower for word in WORDS["code"]):
        yield from _find_own_codes(text, lower)


def _find_own_codes(text: str, lower: str) -> Iterator[Secret]:
    """What somebody tells as a code or a card of their own: "my card …"."""
    for told in _OWN_CODE.finditer(lower):
        start, end = told.span("value")
        value = text[start:end].rstrip(_PUNCTUATION)
        if _JOINED_WORDS.fullmatch(value) and not shape.is_placeholder(value):
            yield Secret("password", start, start + len(value))


def _find_told_after(text: str, lower: str, at: int) -> Iterator[Secret]:
    """What is told behind the word: "the password is …"."""
    if (at and (lower[at - 1].isalnum() or lower[at - 1] in "_-.")) or not _MAY_TELL.match(lower, at):
        return
    told = _TOLD.match(lower, at)
    if not told:
        return
    start, end = told.span("value")
    value = _NEXT_SETTING.split(text[start:end].rstrip(_PUNCTUATION), maxsplit=1)[0]
    quoted = bool(told["quote"] and told["after"])
    if shape.is_expression(value) or text[start + len(value) : start + len(value) + 1] in ("(", "["):
        return
    gap = told["gap"] is not None
    if told["word"] == "pass" and ":" not in told[0] and not _NOUN_BEFORE.search(lower, max(0, at - 12), at):
        gap = True
    if gap and told["word"] == "key" and not _KEY_BEFORE.search(lower, max(0, at - 12), at):
        return
    if _is_told(value, told["word"], quoted=quoted, gap=gap):
        kind = "secret" if told["word"].endswith(("token", "secret", "key")) else "password"
        yield Secret(kind, start, start + len(value))


def _is_told(value: str, word: str, *, quoted: bool, gap: bool) -> bool:
    """Whether what stands behind the word is told as a secret."""
    if shape.is_placeholder(value) or shape.is_code_name(value):
        return False
    if word.endswith(("token", "secret", "key")):
        return len(value) >= (16 if gap else 10) and shape.is_like_key(value) and shape.is_strong(value)
    if gap:
        return word not in _VERBS and (shape.is_strong(value) or _JOINED_WORDS.fullmatch(value) is not None)
    if quoted and value.isalpha():
        return word not in _VERBS and not shape.is_type_or_state(value)
    return len(value) >= 6 and shape.is_mixed(value)


def _find_told_before(text: str, lower: str, at: int) -> Iterator[Secret]:
    """What is told before the word: "… is my password"."""
    if not lower.startswith("pass", at) or text[at - 1 : at] not in (" ", "\t"):
        return
    begin = max(0, at - 100)
    if not _SIGN.search(lower, begin, at):
        return
    told = _TOLD_BEFORE.search(lower[begin:at])
    if told is None:
        return
    start, end = begin + told.start("value"), begin + told.end("value")
    if shape.is_strong(text[start:end]):
        yield Secret("password", start, end)


def _find_in_sentence(text: str, at: int) -> Iterator[Secret]:
    """The first password-like word behind a word of another script, in the same sentence."""
    stop = _END_OF_SENTENCE.search(text, at, at + _FAR_CHARACTERS)
    end = stop.start() if stop else min(len(text), at + _FAR_CHARACTERS)
    for word in _PRINTABLE.finditer(text, at, min(len(text), end + 128)):
        if word.start() >= end:
            return
        lead = len(word[0]) - len(word[0].lstrip("\"'`([{:="))
        value = word[0][lead:].rstrip(_PUNCTUATION)
        if len(value) >= 6 and shape.is_mixed(value) and not shape.is_placeholder(value):
            yield Secret("password", word.start() + lead, word.start() + lead + len(value))
            return

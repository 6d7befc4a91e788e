"""Find passwords that people write in sentences: "My password for the VPN is …", in many languages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.capture.secrets import shape
from foreword.capture.secrets.named import FOREIGN_PATTERN, is_pass_label_of_test
from foreword.capture.secrets.patterns import pattern
from foreword.capture.secrets.tables import WORDS, Secret

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from foreword.capture.secrets.tables import PreparedText


def _pattern_for_role(role: str) -> str:
    """A pattern for any of the words that have this role in `words.txt`, the longest first."""
    words = sorted(set(WORDS[role]), key=len, reverse=True)
    return "|".join(re.escape(word).replace(r"\ ", r"[ \t]{1,3}") for word in words)


_NAME = (
    r"(?P<word>pass(?:[ -]?(?:word|wort|wd|phrase|code|key|ord|e))?|pwd|"
    r"(?:api|access|auth|secret)?[ _-]?(?:token|secret|key)|"
    rf"{FOREIGN_PATTERN})(?:s|'s|’s|en|es|et|nya)?(?![^\W\d_])"
)
_LINK = (
    r"(?:[ \t]{1,3}[^\W_][\w'’/-]{0,23}){0,7}?(?:,[ \t][^\n,.]{1,30},)?"
    rf"(?:[ \t]{{1,3}}(?:{_pattern_for_role('is')})(?:[ \t]{{0,2}}:)?[ \t\n]{{1,3}}"
    r"|[ \t]{0,2}[:→][*_]{0,3}[ \t]{0,4}|[ \t]{1,3}[–—-][ \t]{1,3}"
    rf"|(?P<aside>(?:,[ \t]{{1,3}}|[ \t]{{1,3}}\()(?:{_pattern_for_role('aside')})|,)[ \t]{{1,3}})"
)
# The value has a digit or a sign, or is in quotes, so that the words before it are not taken for it.
_VALUE_AFTER = pattern(
    rf"{_NAME}[»)*_]{{0,3}}(?:{_LINK}|(?P<gap>[ \t]{{1,3}}))(?P<quote>[\"'`“„(]|«[ \u00a0\u202f]?|)"
    r"(?P<value>(?:(?=\S{0,127}[0-9!@#$%^&*~+=])|(?<=[\"'`«“„]))[^\s\"'`<>«»“”]{6,128})"
    r"(?P<after>[\"'`»”“]|[ \u00a0\u202f]»|)"
)
_VALUE_BEFORE = pattern(
    rf"(?:^|[\s\"'`«“(])(?P<value>[^\s\"'`«»“”()]{{6,128}})[\"'`»”]?,?[ \t]{{1,3}}(?:[–—-][ \t]{{1,3}})?"
    rf"(?:{_pattern_for_role('before')})"
    r"[ \t]{1,3}(?:[^\s.:;=!?,\"'`()<>]{1,20}[ \t]{1,3}){0,2}\Z"
)
_NEXT_SETTING = pattern(r"(?a)[;,&](?=[\w.$-]{1,40}[=:])")
_MAY_HAVE_VALUE = pattern(r"[^\n0-9!@#$%^&*~+\"'`«“„]{0,120}[0-9!@#$%^&*~+\"'`«“„]")
# Words and numbers joined by signs, as people make up who may not use a plain word.
_JOINED_WORDS = pattern(r"(?=[^\d]*\d)[^\W_]{2,}(?:[-/+][^\W_]{2,}){2,}")
_OWN_CODE = pattern(
    rf"\b(?:{_pattern_for_role('own')})(?:[ \t]{{1,3}}[^\W\d_]{{2,20}}){{0,2}}?[ \t]{{1,3}}"
    rf"(?:{_pattern_for_role('code')})"
    rf"(?:{_LINK}|[ \t]{{1,3}})(?P<value>[^\s\"'`<>«»“”]{{8,64}})"
)
_OWN_WORDS = frozenset(filter(str.isascii, WORDS["own"]))
_OWN_BEYOND_ASCII = tuple(word for word in WORDS["own"] if not word.isascii())
_VERBS = ("pass", "passe")
_LATIN = pattern(r"[a-zà-ɏ]")
_SIGN = pattern(r"[0-9!@#$%^&*~+]")
_NOUN_BEFORE = pattern(
    r"\b(?:the|my|our|your|his|her|its|la|le|il|el|mi|tu|su|das|admin|root|user|wifi|db|new|old|mots?[ \t]de)"
    r"[ \t]{1,3}\Z"
)
_KEY_BEFORE = pattern(
    r"(?:api|access|secret|private|auth|licen[cs]e|master|signing|account|shared|app(?:lication)?|client|integration"
    r"|encryption|project|service|server|deploy|storage|webhook|admin)[ \t_-]{1,3}\Z"
)
_PRINTABLE = pattern(r"[!-~]{6,128}")
_END_OF_SENTENCE = pattern(r"[.!?。！？।][\s」』]|\n")
_PUNCTUATION = ".,;:)]}\"'`"
_FAR_CHARACTERS = 64


def find_passwords_in_prose(prepared: PreparedText, stems: Sequence[str]) -> Iterator[Secret]:
    """The passwords, tokens and keys that the sentences of a text reveal, after words with these stems."""
    text, lower = prepared.text, prepared.lower
    for stem in stems:
        at = lower.find(stem)
        while at >= 0:
            if _LATIN.match(stem):
                yield from _find_value_after_password_word(text, lower, at)
                yield from _find_value_before_password_word(text, lower, at)
            else:
                yield from _find_in_rest_of_sentence(text, at + len(stem))
            at = lower.find(stem, at + len(stem))
    is_own = not _OWN_WORDS.isdisjoint(prepared.words) or any(word in lower for word in _OWN_BEYOND_ASCII)
    if is_own and any(word in lower for word in WORDS["code"]):
        yield from _find_codes_people_call_theirs(text, lower)


def _find_codes_people_call_theirs(text: str, lower: str) -> Iterator[Secret]:
    """The codes that people call their own: "my card …"."""
    for match in _OWN_CODE.finditer(lower):
        start, end = match.span("value")
        value = text[start:end].rstrip(_PUNCTUATION)
        if _JOINED_WORDS.fullmatch(value) and not shape.is_placeholder(value):
            yield Secret("password", start, start + len(value))


def _find_value_after_password_word(text: str, lower: str, at: int) -> Iterator[Secret]:
    """The value after a word such as `password` at `at`: "the password is …"."""
    if is_pass_label_of_test(text, at):
        return
    if (at and not _word_can_begin_at(lower, at)) or not _MAY_HAVE_VALUE.match(lower, at):
        return
    match = _VALUE_AFTER.match(lower, at)
    if not match:
        return
    start, end = match.span("value")
    value = _NEXT_SETTING.split(text[start:end].rstrip(_PUNCTUATION), maxsplit=1)[0]
    quoted = bool(match["quote"] and match["after"])
    if shape.is_expression(value) or text[start + len(value) : start + len(value) + 1] in ("(", "["):
        return
    verb = (
        match["word"] in _VERBS
        and ":" not in match[0]
        and not _NOUN_BEFORE.search(lower, max(0, at - 12), at)
    )
    gap = bool(match["gap"] or match["aside"]) or (verb and match["word"] == "pass")
    if gap and match["word"] == "key" and not _KEY_BEFORE.search(lower, max(0, at - 12), at):
        return
    if _is_secret_after_word(value, match["word"], quoted=quoted, gap=gap, verb=verb):
        kind = "secret" if match["word"].endswith(("token", "secret", "key")) else "password"
        yield Secret(kind, start, start + len(value))


def _word_can_begin_at(lower: str, at: int) -> bool:
    """Whether a word of a sentence begins at `at`, alone or joined to another: "das WLAN-Passwort"."""
    before = lower[at - 1]
    if before == "-":
        return lower[max(0, at - 2) : at - 1].isalpha()
    return not before.isalnum() and before not in "_."


def _is_secret_after_word(value: str, word: str, *, quoted: bool, gap: bool, verb: bool) -> bool:
    """Whether the value that follows a word such as `password` is a secret.

    With `gap`, only blanks are between the two; with `verb`, the word may also mean "to pass".
    """
    if shape.is_placeholder(value) or shape.is_code_name(value):
        return False
    if word.endswith(("token", "secret", "key")):
        is_one = shape.is_like_key if gap or word == "key" else shape.is_key_or_numbered_words
        is_long = len(value) >= (12 if gap else 8)
        return is_long and value[0].isalnum() and is_one(value) and shape.is_surely_password(value)
    if gap:
        sure = shape.may_be_password(value) if quoted else shape.is_surely_password(value)
        return not verb and (sure or _JOINED_WORDS.fullmatch(value) is not None)
    if quoted and value.isalpha():
        return not verb and not shape.is_type_or_state(value)
    return len(value) >= 6 and shape.may_be_password(value)


def _find_value_before_password_word(text: str, lower: str, at: int) -> Iterator[Secret]:
    """The value before the word `password` at `at`: "… is my password"."""
    if not lower.startswith("pass", at) or text[at - 1 : at] not in (" ", "\t"):
        return
    begin = max(0, at - 100)
    if not _SIGN.search(lower, begin, at):
        return
    match = _VALUE_BEFORE.search(lower[begin:at])
    if match is None:
        return
    start, end = begin + match.start("value"), begin + match.end("value")
    value = text[start:end]
    if "\\" not in value and shape.is_surely_password(value.strip("*_")):  # no line break, no emphasis
        yield Secret("password", start, end)


def _find_in_rest_of_sentence(text: str, at: int) -> Iterator[Secret]:
    """The first value like a password in the rest of a sentence, after a word in another script."""
    stop = _END_OF_SENTENCE.search(text, at, at + _FAR_CHARACTERS)
    end = stop.start() if stop else min(len(text), at + _FAR_CHARACTERS)
    for word in _PRINTABLE.finditer(text, at, min(len(text), end + 128)):
        if word.start() >= end:
            return
        lead = len(word[0]) - len(word[0].lstrip("\"'`([{:="))
        value = word[0][lead:].rstrip(_PUNCTUATION)
        if len(value) >= 6 and shape.may_be_password(value) and not shape.is_placeholder(value):
            yield Secret("password", word.start() + lead, word.start() + lead + len(value))
            return

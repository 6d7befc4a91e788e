"""Judge values by their look alone: a password, a random key, a word, a name in code, or a placeholder."""

from __future__ import annotations

import binascii
import re

from foreword.capture.secrets.patterns import pattern
from foreword.capture.secrets.tables import WORDS

MAX_VALUE_CHARACTERS = 100
"""At most this many characters of a value are examined."""

_CHANGES = pattern(r"(?<=[A-Za-z])[0-9]|(?<=[0-9])[A-Za-z]|(?<=[a-z])[A-Z]")
_COMPUTED = pattern(
    r"(?a)\A\$\(?\w+\)?\Z|\A\d\*[a-z]|\A%\w+%\Z|\A<.*>\Z|\A\{[\w.!:]*\}\Z|\A%[sdr]\Z|\$\{|\$\(|\{\{|%\(\w+\)|\\[dws][+*{]"
    r"|\\x[0-9a-f]{2}(?:-|\\x)|0-9a-z|a-z0-9|a-zA-Z|\[redacted:|\A![A-Za-z]+\Z|\A\$[A-Za-z_]\w*-?\Z|\A\$\w+[/.:]|\A@\w+\Z|\A[\w.]+(?:\(\)|\[\w*\])"
)
_PLACEHOLDER_WORDS = (
    *("***", "...", "…", "your", "example", "changeme", "change-me", "change_me", "placeholder", "dummy"),
    *(
        "environ",
        "getenv",
        "process.env",
        "redacted",
        "<",
        "___",
        "doesnotexist",
        "nonexist",
        "wrong",
        "badpass",
        "1password",
        "bad_pass",
        "invalid",
    ),
)
_PLACEHOLDER = pattern(
    r"(?a)sample|insert|replace|todo|fixme|(?:sha|md|utf|base|aes|rsa|ipv)-?\d"
    r"|(?:required|optional|string|missing|invalid|incorrect|hidden|x-oauth-basic)\Z"
    r"|(?:user|my|the|test|some|new|old|db|api|access|auth)?[_-]?"
    r"(?:pass(?:word|wd|phrase|code)?|pwd|pw|secret|token|key|credentials?)\d{0,3}\Z|[a-z_]{1,24}password\Z"
)
_XXX = pattern(r"xxx|XXX")
_WORD_SHAPE = r"(?:[A-Z]?[a-z]+|[A-Z]+)(?:[A-Z][a-z]{2,})*"
_WORDY = pattern(rf"(?a)[^A-Za-z0-9]*(?:(?:{_WORD_SHAPE}\d{{0,4}}|\d+[a-z]?)(?:[^A-Za-z0-9]+|\Z))+")

_TECHNICAL = (
    r"(?:sha|md|utf|aes|rsa|ipv|base|pkcs|rs|es|hs|ps|ed|int|uint|float|http|tls|ssl|oauth|python|py|x|b|v|p|s|k"
    r"|crc|rfc|error|code|cve|pep|issue|bug|port|room|line|page|gpt|test|user|item|node|host|server|windows|id|gp|ec|u|i|l|h|t|r|d|c|n|w|z|ap|sp|dh|iso|cp|latin|amd|arm|win|phase|step|level|version|php|es|vp)"
    r"-?\d{1,5}[a-z]{0,2}"
)
_NAME_PIECE = pattern(rf"(?:{_TECHNICAL}|[A-Za-z]+\d?)\Z", re.IGNORECASE)
_PIECES = pattern(r"[A-Z]?[a-z]+\d*(?:[a-z]+\d*)*|[A-Z]+\d*(?![a-z])|[A-Z]\d*|\d+")
_NAME = pattern(r"(?a)[A-Za-z_][\w.]*")
_CODE_WORD = pattern(
    r"key|token|secret|pass|pwd|type|cred|auth|self|config|setting|option|param|field|input|value|string|request"
    r"|response|prompt",
    re.IGNORECASE,
)
_STATES = frozenset(WORDS["state"])
_NAMES_OF_PASSWORDS = frozenset(WORDS["password"])
_NOT_A_PASSWORD = pattern(
    r"(?ai)v?\d+(?:[.:/-]\d+)*[a-z%]{0,5}\Z|\d+(?:st|nd|rd|th|bits?|bytes?|chars?|days?|hours?|mins?|x\d+)\b"
    r"|(?:bug|issue|ticket|closes|fixes|pr|gh)#\d+\Z|[a-z]{2,8}-\d{1,2}\Z|(?-i:[A-Z]{2,8})-\d{1,5}\Z|[\w./~-]+\.(?:py|js|ts|tsx|jsx|md|txt|json|ya?ml|toml|ini|cfg|conf|html?|css|go|rs|rb|java|c|h"
    r"|cpp|sh|sql|env|log|xml|csv|pdf|png|jpe?g|pem|key|crt|com|org|net|io|dev|app|de|fr|es|uk)\b|[a-z]+://|[.~]?/"
    r"|[\w.+-]+@[\w-]+\.[\w.-]+\Z|[#@]|\w+\(|\d{4}-\d{2}-\d{2}|" + _TECHNICAL + r"\Z"
)
_EXPRESSION = pattern(
    r"(?a)\A[A-Za-z_]+=|\A[*_]{1,3}[\w:.,-]+[*_]{0,3}\Z|\A[\w-]+\|[\w|-]+\Z|\A[\\-]|[(\[]"
    r"|&(?:[lg]t|quot|amp|apos|nbsp|#\w{1,5})(?:;|\Z)"
)
_BETWEEN_WORDS = pattern(r"[ -]")
_SMALL_WORDS = frozenset(WORDS["small"])
_SYMBOLS = frozenset("!@#$%^&*?~+=|")
_MIN_SIGNED_KEY = _MIN_RANDOM_LETTERS = 12
_NUMBERED_WORDS = pattern(
    r"(?a)[A-Z][a-z]+(?:(?:[-_.][A-Za-z][a-z]+)+[-_.#]|(?:[-_.][A-Z][a-z]{2,})+)\d{2,4}"
)
_FOUR_BY_FOUR = pattern(r"(?a)(?:[a-z]{4}-){3}[a-z]{4}")

_JOINED_WORDS_AND_NUMBER = pattern(
    r"(?a)(?:[A-Za-z]{3,}[-_.]){2,5}\d{2,6}|(?:[A-Z][a-z]{2,}[-_.]){1,4}[A-Z][a-z]{2,}[-_.#]?\d{2,4}"
)


def randomness(value: str) -> float:
    """The share of neighbouring characters that change between letter and digit or from small to capital.

    In a random key it is high, in words it is low.
    """
    value = value[:MAX_VALUE_CHARACTERS]
    return len(_CHANGES.findall(value)) / max(1, len(value) - 1)


def consists_of_words(value: str) -> bool:
    """Whether a value consists of words and numbers with signs between them."""
    return _WORDY.fullmatch(value) is not None


def is_placeholder(value: str) -> bool:
    """Whether a value is computed, or a placeholder such as `changeme` or `your-token`."""
    lower = value.lower()
    word = (
        any(word in lower for word in _PLACEHOLDER_WORDS) or _PLACEHOLDER.match(lower) or _XXX.search(value)
    )
    if lower in _NAMES_OF_PASSWORDS:
        return True  # a label in another language
    return bool((word and randomness(value) < 0.2) or _COMPUTED.search(value))


def is_code_name(value: str) -> bool:
    """Whether an unquoted value is a name in code: `self.token`, `secret_key2`, `DefaultKeyType`."""
    if not _NAME.fullmatch(value):
        return False
    pieces = [piece for part in re.split(r"[._]+", value) for piece in _PIECES.findall(part)]
    if not all(_NAME_PIECE.match(piece) for piece in pieces):
        return False
    return "." in value or _CODE_WORD.search(value) is not None


def is_type_or_state(word: str) -> bool:
    """Whether a word after a secret's name is its type or its state: `password string`, `token expired`."""
    pieces = {piece.lower() for piece in _PIECES.findall(word)} | {word.lower()}
    return not pieces.isdisjoint(_STATES) or _CODE_WORD.search(word) is not None


def has_field_name_part(value: str) -> bool:
    """Whether a value has a part such as `key` or `pass`, as names of files and fields have."""
    return _CODE_WORD.search(value) is not None


def is_like_password(value: str, *, quoted: bool) -> bool:
    """Whether a value can be a password: letters with a digit or a sign, or nearly anything in quotes."""
    letter = any(map(str.isalpha, value))
    digit = any(map(str.isdigit, value))
    if letter and not digit and _SYMBOLS.isdisjoint(value if quoted else value.strip("*_~")):
        return quoted or (len(value) >= 10 and not consists_of_words(value))
    return letter or (quoted and digit)


def is_like_key(value: str) -> bool:
    """Whether a value can be a key or a token: long, and not made of words."""
    varied = any(map(str.isdigit, value)) or (
        len(value) >= _MIN_SIGNED_KEY and _has_mixed_case_and_symbol(value)
    )
    mixed = varied and any(map(str.isalpha, value))
    return len(value) >= (8 if mixed else 20) and not consists_of_words(value)


def _has_mixed_case_and_symbol(value: str) -> bool:
    """Whether a value has small letters, capitals and a sign, as those do that a program made up."""
    return not _SYMBOLS.isdisjoint(value) and not value.islower() and not value.isupper()


def is_surely_password(value: str) -> bool:
    """Whether a value is almost certainly a password, whatever is around it."""
    if value.startswith(("*", "_")) or value.rstrip(".:").endswith("**"):
        value = value.strip("*_.:")  # emphasis
    if len(value) < 6 or is_expression(value) or is_placeholder(value) or not may_be_password(value):
        return False
    if len(_CHANGES.findall(value)) >= 2 or not _SYMBOLS.isdisjoint(value[1:-1]):
        return True
    if _NUMBERED_WORDS.fullmatch(value):
        return True
    return re.search(r"\d{3}|\d[!#$%^&*?~+=]", value) is not None


def is_password_with_symbol(value: str) -> bool:
    """Whether a value is almost certainly a password and has a sign, as no name has."""
    return not _SYMBOLS.isdisjoint(value) and is_surely_password(value)


def is_numbered_words(value: str) -> bool:
    """Whether a value is words and a number of two digits or more, joined: `velvet-otter-77`, `Fir_Ash42`."""
    return _JOINED_WORDS_AND_NUMBER.fullmatch(value) is not None


def is_key_or_numbered_words(value: str) -> bool:
    """Whether a value is a key, or words with a number such as people make up who have to name a secret."""
    return is_like_key(value) or (
        (_FOUR_BY_FOUR.fullmatch(value) or is_surely_password(value) or is_numbered_words(value))
        and "\\" not in value
        and not has_field_name_part(value)
    )


def is_expression(value: str) -> bool:
    """Whether a value is code or markup: `name=value`, `*word*`, `a|b`, `call(`."""
    return _EXPRESSION.search(value) is not None


def may_be_password(value: str) -> bool:
    """Whether a value has random letters or others than letters, but is no version, date, file or address."""
    value = value.strip("*_~")  # marks of emphasis
    digit = any(map(str.isdigit, value))
    return (
        (digit or not _SYMBOLS.isdisjoint(value) or _has_random_letters(value))
        and any(map(str.isalpha, value))
        and not _NOT_A_PASSWORD.match(value)
    )


def _has_random_letters(value: str) -> bool:
    """Whether the letters of a value change between small and capital as in no name: `rEvSAupRPJuEgF`."""
    return len(value) >= _MIN_RANDOM_LETTERS and randomness(value) >= 0.25 and not consists_of_words(value)


def is_passphrase(value: str, least: int = 4) -> bool:
    """Whether a value is a passphrase: so many words or more, none such as `the`, which sentences have."""
    words = _BETWEEN_WORDS.split(value)
    return (
        least <= len(set(words)) <= 24
        and all(3 <= len(word) <= 12 and word.isalnum() and word == word.lower() for word in words)
        and _SMALL_WORDS.isdisjoint(words)
    )


def has_varied_characters(value: str) -> bool:
    """Whether a value has more different characters than a placeholder such as `xxxxxx` has."""
    return len(set(value)) > 6


def is_base64_login(value: str) -> bool:
    """Whether a value is a name and a password in base64."""
    try:
        login = binascii.a2b_base64(value + "=" * (-len(value) % 4)).decode()
    except ValueError:
        return False
    return ":" in login and login.isprintable()

"""Find secrets by the name they are assigned to: a `password`, a `token`, an `api_key`.

Reads settings, code, JSON, XML, YAML and command lines. In code an unquoted word is the name of something
else; in settings it is the secret itself. The line around it decides which of the two it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from foreword.capture.secrets import shape
from foreword.capture.secrets.patterns import pattern
from foreword.capture.secrets.tables import BEGINNING_CHARACTERS, WORDS, Secret

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from foreword.capture.secrets.tables import PreparedText

_ENGLISH = ("pass", "pwd", "psw", "secret", "token", "key", "cred", "auth")
_FOREIGN = tuple(
    word
    for word in sorted(set(WORDS["password"]), key=len, reverse=True)
    if not any(part.startswith(_ENGLISH) for part in word.split(" "))
)
_STEMS: dict[str, list[str]] = {}
for _word in filter(str.isascii, _FOREIGN):
    _STEMS.setdefault(_word.split(" ")[0][:BEGINNING_CHARACTERS].rstrip("-'"), []).append(_word)
_STEMS_BEYOND_ASCII = tuple(word for word in _FOREIGN if not word.isascii())


def _pattern_with_endings(word: str) -> str:
    """A pattern for a word with up to six more letters; a word of fewer than four letters has no ending."""
    return re.escape(word) + (r"(?![^\W\d_])" if len(word) < 4 and word.isascii() else r"[^\W\d_]{0,6}")


FOREIGN_PATTERN = "|".join(map(_pattern_with_endings, _FOREIGN))

# A name up to its value. Between them are an assignment, a call, a list of two, or only a gap.
NAME = pattern(
    r"(?P<word>pass(?a:wort|word|wd|phrase|code|ord|e)?|pwd|pswd?|secret|token|key|cred(?:ential)?s?|authorization|auth|"
    rf"{FOREIGN_PATTERN})"
    r"(?P<tail>(?a:[\w-]){0,32}+)\\{0,4}(?P<closing>[\"'`»”]?)(?:\[(?a:\w){0,8}\]|\])?"
    r"(?:(?:[,/]?\s{1,24}[\"']?(?:value|default)[\"']?)|</key>\s{0,40}<string(?=>)|</name>\s{0,40}<value(?=>)|(?<=[\"'])(?=>)"
    r"|:[ \t]{0,4}\n(?:[ \t]{1,12}(?a:\w){1,24}:[^\n]{0,80}\n){1,4}?[ \t]{1,12}(?:default|example)(?=:)"
    r"|>\s{0,40}<value(?=>)|\s(?a:[\w:.-]){1,40}=[\"'][^<>\"'\n]{0,80}[\"'](?=>))?"
    r"(?:(?:[ \t]{5,32}|\s{0,4})(?::\s{0,4}[a-z_&\[*](?a:[\w.\[\]|, &';*]){0,40}?\s(?=:?=)"
    r"|[ \t](?:as[ \t])?(?:n?varchar2?|n?char|text|string|str|bytes?)(?:\(\d{1,5}\))?[ \t](?=:?=))?"
    r"(?:=>|->|<-|[=!]?={1,2}|:=|\?=|[:：＝]|\bis:?\s|\bto\s(?=[\"']))\s{0,24}"
    r"(?:[|>][+-]?\d?[ \t]{0,4}\n\s{1,40})?"
    r"|(?P<call>(?<=[\w\"'])\s?[(,]\s{0,24}(?=[bruf]{0,2}[\"'`]))"
    r"|(?P<gap>>|\s{1,4}))"
)
_TAIL = pattern(
    r"s?(?:[_-]?(?:key|value|base|raw|text|b64|base64|hex|prod|production|dev|test|staging|live|main|default|old|new"
    r"|salt|pepper|confirmation|confirm|again|repeat|phrase|word|\d{1,3}))*"
)
_KEY_OF_SOMETHING = pattern(
    r"(?:api|access|private|secret|auth|encrypt|encryption|master|signing|account|service|shared|client|hmac|jwt"
    r"|storage|admin|deploy|app|application|session|webhook|license|subscription|write|read|ssh|gpg|ssl|tls|cookie"
    r"|host|function|functions|primary|secondary|ingest|ingestion|integration|server|user|personal|data|project"
    r"|routing|consumer|sas|maps|publish|partner|customer|root|security|stripe|openai|anthropic|google|gemini|aws"
    r"|azure|github|gitlab|slack|twilio|sendgrid|mailgun|datadog|sentry|algolia|mapbox|firebase|supabase|cloudflare"
    r"|shopify|paypal|discord|telegram|hubspot|segment|rollbar|okta|twitter|facebook|recaptcha|captcha|tmdb|weather"
    r"|payment|merchant|vault|backup|cipher|crypto|flask|django|rails|laravel)[_.-]?\Z"
)
_OWN_KEY = pattern(r"(?:api|secret|private|access|encryption|master|signing|auth|stripe|openai)[_.-]?\Z")
_PREFIX_OF_PASS = pattern(
    r"(?<![a-z])(?:db|user|usr|mail|smtp|ftp|sql|root|admin|ldap|http|proxy|store|wifi|pg|mysql|redis|ssh|web|app|bind|remote|local"
    r"|imap|pop|login|auth|my|sasl|vnc|sip|mqtt|guest|zip|pdf|trust|svn|git|repo|nick|irc|server|client|master|repl"
    r"|backup|service|svc|default|key|host|vpn|ap|device|smb)\Z"
)
_SIGNING = pattern(r"(?:jwt|session|cookie|signing|hmac|csrf|webhook|nextauth)[_-]?\Z")
_JOINED_WORDS = pattern(r"(?a)[A-Za-z]{3,16}(?:[-.][A-Za-z]{3,16}){1,5}")
_PUBLIC = pattern(r"pub[a-z]*[_-]?\Z")
_HARMLESS = pattern(
    r"sha|md5|hash|digest|sum|integrity|etag|commit|rev|uuid|guid|print|cert|pub|sig|id\b|data|h1\b|\bv\b|url|path"
    r"|file|name|type|format|size|len|str\b|src|href|font|image|img|icon|svg|png|base64|content|nonce|\biv\b|\btag\b",
    re.IGNORECASE | re.ASCII,
)
_NAME_BEFORE = pattern(r"(?a)(?:(?P<mark>\[redacted:[a-z-]+\])|(?P<name>[\w-]*))[\"'`\]\s\\]{0,6}\Z")
_SCHEME = pattern(r"(?:[bB]earer|[bB]asic|[tT]oken|[aA]pi[kK]ey)\s+")
_ANY_SCHEME = pattern(
    r"(?a)[A-Za-z][\w-]{2,24}[ \t]{1,4}(?:\\\n[ \t]{0,12})?(?:\w{1,12}=[\"']?)?(?=[^\s\"']{8})"
)
_CONVERSIONS = (
    r"(?:String::from|(?:SecretString|Secret|SecretBox)::(?:from|new)|SecretStr|(?:new )?String|Buffer\.from"
    r"|bytes|bytearray|str|\[\]byte|Some|Encoding\.(?:UTF8|ASCII)\.GetBytes|Optional\.of|(?:dataclasses\.)?field|Field"
    r"|(?:new )?(?:Secure|Guarded|Protected|Secret|Cleartext)\w{0,12}|CString::new|strdup|std::string"
    r"|_T|TEXT|QString|atob|(?:base64\.)?b64decode|bytes\.fromhex|unhexlify)\(\s{0,2}(?:default\s?=\s?)?"
)
_OPENING = pattern(
    rf"(?:{_CONVERSIONS}|\[\s{{0,4}}|string\(\d{{1,4}}\) )?[bBrRuUfFN@$]{{0,2}}"
    r"(\"{3}|'{3}|\\{0,4}[\"'`]|[«“”])"
)
_CLOSINGS = {"«": "»", "“": "”", "”": "”"}
_QUOTED = {quote: pattern(rf"(?:[^{quote}\\\n]|\\.){{0,4096}}+(?={quote})") for quote in "\"'`"}
_BLOCK = pattern(r"[|>][+-]?\d?[ \t]*\n")
_BARE = pattern(r"[^\s\"'`<>\\|]{1,1024}")
_NEXT_SETTING = pattern(r"(?a)[;,&](?=[\w.$-]{1,40}\s?[=:])|;\Z|,\Z|[)\]}]{1,3}[;,.]?\Z")
_COMPUTED_START = pattern(r"(?a)\$?[A-Za-z_][\w.:>-]*[(\[{]|[({\[]")
_SETTING_BEFORE = pattern(
    r"(?ai)(?:^|\n)[ \t]{0,40}(?:[-*>+#$][ \t]+)?(?:(?:export|set|env|setenv|declare -x|arg|-e|--env)[ \t]+)?"
    r"[\w.\"'/$:\[\]-]{0,60}\Z"
)
_VARIABLE_BEFORE = pattern(r"(?:\A|[\s\"'`\[({;&|])[A-Z0-9_]{0,60}\Z")
_VARIABLE_AFTER = pattern(r"[\s\"'`\])};&|]|\Z")
_HEADER_BEFORE = pattern(r"(?<=[ \t(\[,=])([\"'])(?:[A-Za-z]{1,20}-){1,3}\Z")
_LOGIN_BEFORE = pattern(r"(?i)\b(?:user|login|mail|account)\w{0,12}[\"']?[ \t]{0,2}[:=]")
_PAIR_BEFORE = pattern(r"(?a)[\w/][?][\w.-]{0,20}\Z|[\w %.-]{1,40}=[^=;&\n\"']{0,80}[;&]\s?[\w.-]{0,20}\Z")
_PAIR_AFTER = pattern(r"[;&\"'\s]|\Z")
_COMMAND_AFTER = pattern(r"[ \t]+[a-z./][\w./-]*(?=\s|\Z)")
_SETTING_AFTER = pattern(r"[ \t]*[\"'}]{0,3}[ \t]*(?:[#;][^\n]*)?(?:\r?\n(?!\s*[)\]}])|\Z)")
_OPTION_AFTER = pattern(r"[ \t]*(?:\Z|[\r\n;|&\"'`)\\<]|-)")
_ANY_ASSIGNMENT = pattern(
    r"(?a)[=:]\s{0,4}\\{0,4}[\"'`]?(?!0x|//|_[A-Z])([A-Za-z0-9+/_~.-]{28,256}={0,2})(?![\w+/=(\[.-])"
)
_SQL = pattern(
    r"(?i)\b(?:create|alter|set|with|user|role|login|encrypted|grant|define|setq|defvar|def)\b[^\n]{0,120}\Z"
)


_MIN_LONG_WORD_LETTERS = 16
"""An unquoted word of at least this many letters in settings is a secret, not a type or a state."""


class AssignedValue(NamedTuple):
    """A value that is assigned to a name. `literal`: it is in settings, where no value is computed."""

    text: str
    start: int
    end: int
    quoted: bool
    literal: bool


def find_assigned_secrets(prepared: PreparedText, stems: Sequence[str]) -> Iterator[Secret]:
    """The values that are assigned to a name that has one of these stems, and look like a secret."""
    text = prepared.text
    for name in find_secret_names(prepared.lower, stems):
        value = find_assigned_value(text, name) if can_name_secret(text, name) else None
        if value and may_be_named_secret(value, name):
            yield Secret(secret_kind_for_name(name), value.start, value.end)


def list_secret_stems(prepared: PreparedText) -> list[str]:
    """The beginnings of words such as `password`, in all languages, that a text has."""
    lower = prepared.lower
    beyond = () if lower.isascii() else _STEMS_BEYOND_ASCII
    foreign = [
        stem for begin in sorted(_STEMS.keys() & prepared.list_word_prefixes()) for stem in _STEMS[begin]
    ]
    return [stem for stem in (*_ENGLISH, *foreign, *beyond) if stem in lower]


def find_secret_names(lower: str, stems: Iterable[str]) -> Iterator[re.Match[str]]:
    """The words in a lower-case text that may name a secret: `password`, `token`, `contraseña`."""
    for stem in stems:
        at = lower.find(stem)
        while at >= 0:
            match = NAME.match(lower, at)
            if match:
                yield match
            at = lower.find(stem, at + len(stem))


def secret_kind_for_name(name: re.Match[str]) -> str:
    """The kind that the redaction mark gives a secret with this name: `secret` or `password`."""
    return "secret" if name["word"].startswith(("sec", "tok", "key", "cred", "auth")) else "password"


def can_name_secret(text: str, name: re.Match[str]) -> bool:
    """Whether a secret can follow this name; with only a gap between, in an option, XML or SQL alone."""
    at = name.start()
    goes_on = at and text[at - 1].isalpha() and not text[at].isupper()
    if goes_on and name["word"] == "pass":
        goes_on = not _PREFIX_OF_PASS.search(name.string, max(0, at - 8), at)
    if goes_on and (name["word"] in ("pass", "passe", "passcode") or name["word"] not in _ENGLISH_WORDS):
        return False
    if overlaps_redaction_mark(text, Secret("", at, at)) or is_pass_label_of_test(text, at):
        return False
    if name["call"]:
        return _is_in_call(text, name)
    if name["gap"] is None:
        return True
    start = at
    while start > max(0, at - 40) and (text[start - 1].isalnum() or text[start - 1] in "_-."):
        start -= 1
    if name["gap"] == ">":
        return text[start - 1 : start] in ("<", ">", '"', "'", ":")
    if text[name.end() : name.end() + 1] in ("'", '"'):
        return bool(_SQL.search(text, max(0, at - 160), at)) or text[start : start + 1] == "-"
    return text[start : start + 2] == "--" or (text[start : start + 1] == "-" and start < at)


def is_pass_label_of_test(text: str, at: int) -> bool:
    """Whether the word at `at` is the `PASS:` before the name of a test, with nobody's name before it."""
    if not text.startswith("PASS:", at) or text[at - 1 : at] not in ("", "\n", " "):
        return False
    return not _LOGIN_BEFORE.search(text, max(0, at - 100), at)


def _is_in_call(text: str, name: re.Match[str]) -> bool:
    """Whether the name is that of a called function, or the first argument of one."""
    at, before = name.start(), text[name.start() - 1 : name.start()]
    is_verb = name["word"] == "pass" and not (name["closing"] and before in ("_", "-", "."))
    if is_verb or (before.isalpha() and not text[at].isupper()):
        return False
    if "(" in name["call"]:
        return not name["closing"]
    opening = max(text.rfind(quote, max(0, at - 40), at) for quote in "\"'`")
    return bool(name["closing"]) and opening > 0 and text.endswith(("(", "( "), 0, opening)


_ENGLISH_WORDS = frozenset(
    (
        *("pass", "passe", "passord", "passwort", "password", "passwd", "passphrase", "passcode", "pwd"),
        *("secret", "token", "key", "cred", "creds", "credential", "credentials"),
        *("authorization", "auth"),
    )
)


def find_assigned_value(text: str, name: re.Match[str]) -> AssignedValue | None:
    """The value that is assigned to a name, quoted or up to a blank or a sign; None if there is none."""
    start = name.end()
    opening = _OPENING.match(text, start)
    start = opening.end() if opening else start
    scheme = (_ANY_SCHEME if name["word"] == "authorization" else _SCHEME).match(text, start)
    start = scheme.end() if scheme else start
    end = _find_quotation_end(text, start, opening[1]) if opening else start
    if end > start:
        head = text[start : min(end, start + shape.MAX_VALUE_CHARACTERS)]
        return AssignedValue(head, start, end, quoted=True, literal=True)
    blanks = name[0][len(name[0].rstrip()) :]
    if name["call"] or (name["gap"] is None and "\n" in blanks and not _BLOCK.search(name[0])):
        return None
    return find_unquoted_value(text, name, start)


def find_unquoted_value(text: str, name: re.Match[str], start: int) -> AssignedValue | None:
    """The unquoted value that begins at `start`; None if there is none or it is computed."""
    bare = _BARE.match(text, start)
    if not bare or _COMPUTED_START.match(bare[0]):
        return None
    value = bare[0]
    cut = _NEXT_SETTING.search(value)
    value = (value[: cut.start()] if cut else value).rstrip(".,:")
    for bracket, opposite in (")(", "][", "}{"):
        if opposite not in value:
            value = value.partition(bracket)[0]
    end = start + len(value)
    after = text[end : end + 1]
    if not value or after in ("(", "["):
        return None
    if name["gap"] == ">" and text[end : end + 2] != "</":
        return None
    literal = _is_in_settings(text, name, end)
    return AssignedValue(value[: shape.MAX_VALUE_CHARACTERS], start, end, quoted=False, literal=literal)


def _is_in_settings(text: str, name: re.Match[str], end: int) -> bool:
    """Whether a name and its value, which ends at `end`, are a line of settings or an option of a command."""
    if name["gap"]:
        return _OPTION_AFTER.match(text, end) is not None
    begin = max(0, name.start() - 100)
    if _PAIR_BEFORE.search(text, begin, name.start()) and _PAIR_AFTER.match(text, end):
        return True  # "Server=db;User Id=sa;Password=…", "?page=2&password=…"
    is_variable = name[0].endswith("=") and text[name.start() : name.end()].isupper()
    if (
        is_variable
        and _VARIABLE_BEFORE.search(text, begin, name.start())
        and _VARIABLE_AFTER.match(text, end)
    ):
        return True  # Environment="APP_SECRET=…"
    if ":" in name[0] and (header := _HEADER_BEFORE.search(text, begin, name.start())):
        return text[end : end + 1] == header[1]
    before = _SETTING_BEFORE.search(text, begin, name.start())
    after = _SETTING_AFTER.match(text, end) or (is_variable and _COMMAND_AFTER.match(text, end))
    return before is not None and bool(after)


def _find_quotation_end(text: str, start: int, quote: str) -> int:
    """The end of the quotation that begins at `start`; `start` if it is not closed."""
    if quote in _QUOTED:
        inside = _QUOTED[quote].match(text, start)
        return inside.end() if inside else start
    return max(start, text.find(_CLOSINGS.get(quote, quote), start, start + 4096))


def may_be_named_secret(value: AssignedValue, name: re.Match[str]) -> bool:
    """Whether a value can be the secret that its name announces: no placeholder, word or expression."""
    text = value.text
    has_blanks = any(map(str.isspace, text)) and not shape.is_passphrase(
        text, 3 if name["word"] == "passphrase" and value.quoted else 4
    )
    if len(text) < 6 or has_blanks or shape.is_placeholder(text):
        return False
    if name["word"] == "pwd" and text.startswith(("/", "~")):
        return False  # the working directory
    if _PUBLIC.search(name.string, max(0, name.start() - 16), name.start()):
        return False
    if not value.quoted and _is_code_reference(value, name):
        return False
    if name["call"] and ("\\" in text or not _is_secret_argument(text, name)):
        return False
    if name["word"] == "auth" and not name["tail"] and value.quoted and shape.is_password_with_symbol(text):
        return True
    if not _TAIL.fullmatch(name["tail"]) or not _is_specific_name(name):
        return (
            (name["gap"] is None or (name["gap"] != ">" and not name["tail"]))
            and len(text) >= 20
            and shape.randomness(text) > (0.2 if len(text) >= 24 and value.literal else 0.3)
            and not _HARMLESS.search(name["tail"])
        )
    if secret_kind_for_name(name) == "secret":
        return (
            shape.is_like_key(text)
            or (value.literal and _ends_with_tight_equals_sign(name) and _is_single_word_secret(text, name))
            or ((value.quoted or name["gap"] == ">") and shape.is_password_with_symbol(text))
            or (value.quoted and name["word"] == "secret" and _is_secret_made_of_words(text, name))
            or (
                (value.literal or name["gap"] == ">")
                and _may_be_chosen_by_people(name)
                and shape.is_key_or_numbered_words(text)
            )
        )
    return shape.is_like_password(text, quoted=value.quoted) or _is_password_of_letters(value, name)


def _is_code_reference(value: AssignedValue, name: re.Match[str]) -> bool:
    """Whether an unquoted value is a name in code; never directly after an equals sign in settings."""
    if value.literal and _ends_with_tight_equals_sign(name):
        return False
    return shape.is_code_name(value.text) and shape.randomness(value.text) < 0.25


def _is_secret_argument(text: str, name: re.Match[str]) -> bool:
    """Whether the argument of a call can be the secret that the name announces."""
    is_call = "(" in name["call"] and secret_kind_for_name(name) == "password"
    if is_call:
        return shape.may_be_password(text) and "(" not in text
    return shape.is_surely_password(text) or shape.is_numbered_words(text)


def _ends_with_tight_equals_sign(name: re.Match[str]) -> bool:
    """Whether a name that announces a secret ends with "=" without blanks, as in settings or in a shell."""
    return name[0].endswith("=") and name[0][-2:-1] not in " !=:?"


def _is_password_of_letters(value: AssignedValue, name: re.Match[str]) -> bool:
    """Whether an unquoted word or phrase of letters alone is a password, as its line leaves nothing else."""
    text = value.text
    if value.quoted or not value.literal:
        return False
    if shape.is_passphrase(text):
        return True
    joined = _ends_with_tight_equals_sign(name) and _JOINED_WORDS.fullmatch(text) is not None
    if not (text.isalpha() or joined) or shape.is_type_or_state(text):
        return False
    if joined or name["gap"] == ">" or not shape.consists_of_words(text):
        return True
    return _ends_with_tight_equals_sign(name) or (name[0].endswith((": ", " ")) and text.islower())


def _is_single_word_secret(text: str, name: re.Match[str]) -> bool:
    """Whether a word in settings is a secret: a long one or, after the word "secret", one with digits."""
    if text.isalpha():
        return len(text) >= _MIN_LONG_WORD_LETTERS
    return name["word"] == "secret" and text.isalnum() and shape.may_be_password(text)


def _is_secret_made_of_words(text: str, name: re.Match[str]) -> bool:
    """Whether words are a secret that a program signs with, and not the name of a secret kept elsewhere."""
    signs = _SIGNING.search(name.string, max(0, name.start() - 16), name.start())
    return shape.is_numbered_words(text) or (signs is not None and _JOINED_WORDS.fullmatch(text) is not None)


def _may_be_chosen_by_people(name: re.Match[str]) -> bool:
    """Whether people may make up what has this name: an `api_key`, but not the `key` of a row."""
    return name["word"] != "key" or bool(
        _OWN_KEY.search(name.string, max(0, name.start() - 16), name.start())
    )


def _is_specific_name(name: re.Match[str]) -> bool:
    """Whether the name is specific enough: `api_key` announces a secret, `key` and `public_key` do not."""
    before = name.string[max(0, name.start() - 16) : name.start()]
    if name["word"] == "key" and before.endswith("-") and ":" in name[0]:
        return True  # a header
    if name["word"] in ("key", "auth"):
        return _KEY_OF_SOMETHING.search(before) is not None or (
            name["word"] == "auth" and before.endswith("_")
        )
    return True


def find_random_looking_values(prepared: PreparedText) -> Iterator[Secret]:
    """The values of any name that look random, except checksums, identifiers and the like."""
    text = prepared.text
    for match in _ANY_ASSIGNMENT.finditer(text):
        value = match[1]
        if value.islower() or value.isupper() or len(set(value)) < 16 or shape.randomness(value) < 0.28:
            continue
        before = _NAME_BEFORE.search(text, max(0, match.start() - 48), match.start())
        if before and not before["mark"] and not _HARMLESS.search(before["name"]):
            yield Secret("secret", *match.span(1))


def overlaps_redaction_mark(text: str, secret: Secret) -> bool:
    """Whether a part of this secret is a redaction mark already."""
    mark = text.rfind("[redacted:", max(0, secret.start - 32), secret.end)
    return mark >= secret.start or (mark >= 0 and "]" not in text[mark : secret.start])

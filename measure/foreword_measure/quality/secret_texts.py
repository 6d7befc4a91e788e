"""Random texts with secrets in them, made from the formats of a table; `secret_formats.txt` explains them."""

from __future__ import annotations

import base64
import html
import json
import random
import re
import string
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING
from urllib.parse import quote

from foreword.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST, SECOND = "secret_formats.txt", "secret_formats_second.txt"
ANOTHER = tuple(f"secret_formats_another_{number}.txt" for number in range(1, 8))
"""Sets by another hand, each written before the causes of its misses were mended."""

_LOOKALIKES = "secret_lookalikes.txt"

_ALPHABETS = {
    "a": string.ascii_letters + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "u": string.ascii_uppercase + string.digits,
    "h": string.digits + "abcdef",
    "H": string.digits + "ABCDEF",
    "d": string.digits,
    "w": string.ascii_letters + string.digits + "_-",
    "b": string.ascii_letters + string.digits + "+/",
    "L": string.ascii_letters,
    "2": string.ascii_uppercase + "234567",
}
_SIMPLE = re.compile(r"\{([aluhHdwbL2])(\d+)\}|\{(p8|p|v)\}|\{(pem|head|foot) ([A-Z ]+)\}")
_ENCODED = re.compile(r"\{(base64|url|html|json) ([^{}]*)\}")
_SYLLABLES = (
    "ba",
    "ke",
    "lo",
    "mi",
    "nu",
    "ra",
    "so",
    "ti",
    "vu",
    "za",
    "dor",
    "fen",
    "gal",
    "hir",
    "jop",
    "wex",
)
_LEET = {"a": "4", "e": "3", "i": "1", "o": "0"}
_LINE_BREAKS_OF_KEYS = 14


@dataclass(frozen=True, slots=True)
class SecretFormat:
    """A line of the table: a name, the group (how its secret is recognised), and the template of its text."""

    name: str
    group: str
    template: str


@dataclass(frozen=True, slots=True)
class SecretText:
    """A text, and the secret in it."""

    text: str
    secret: str


def read_secret_formats(name: str) -> list[SecretFormat]:
    """The formats in a table that comes with Foreword; ValidationError if one has no secret."""
    table = resources.files("foreword_measure.quality").joinpath(name).read_text(encoding="utf-8")
    formats = []
    for number, line in enumerate(table.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        group, _, template = line.partition("  ")
        if template.count("⟦") != 1 or template.count("⟧") != 1:
            raise ValidationError(f"{name}, line {number}: one secret must stand between ⟦ and ⟧")
        formats.append(SecretFormat(f"{group} {number}", group, template.strip()))
    return formats


def make_lookalikes() -> list[str]:
    """The texts that have no secret and look as if they had one; always the same."""
    table = resources.files("foreword_measure.quality").joinpath(_LOOKALIKES).read_text(encoding="utf-8")
    chance = random.Random(_LOOKALIKES)  # noqa: S311  (a test, no key)
    return [_fill(line, chance) for line in table.splitlines() if line and not line.startswith("# ")]


def make_secret_text(form: SecretFormat, seed: str) -> SecretText:
    """A random text of this format; always the same for the same seed."""
    chance = random.Random(f"{form.name} {seed}")  # noqa: S311  (a test, no key)
    text = _fill(form.template, chance)
    while match := _ENCODED.search(text):
        text = text[: match.start()] + _ENCODERS[match[1]](match[2]) + text[match.end() :]
    before, _, rest = text.partition("⟦")
    secret, _, after = rest.partition("⟧")
    return SecretText(before + secret + after, secret)


def _fill(template: str, chance: random.Random) -> str:
    """A template with its line breaks, and with random text for what is in braces; nothing is encoded yet."""
    text = template.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\")
    return _SIMPLE.sub(lambda match: _make_part(match, chance), text)


def _make_part(match: re.Match[str], chance: random.Random) -> str:
    """The random text for one placeholder in braces."""
    alphabet, length, word, part, name = match.groups()
    if alphabet:
        return "".join(chance.choices(_ALPHABETS[alphabet], k=int(length)))
    if word:
        return _make_word(chance) if word == "v" else _make_password(chance, plain=word == "p8")
    lines = ["".join(chance.choices(_ALPHABETS["b"], k=64)) for _ in range(_LINE_BREAKS_OF_KEYS)]
    head, foot = f"-----BEGIN {name}-----", f"-----END {name}-----"
    lines = [*([head] if part != "foot" else []), *lines, *([foot] if part != "head" else [])]
    return "\n".join(lines)


def _make_word(chance: random.Random) -> str:
    return "".join(chance.choices(_SYLLABLES, k=chance.randint(3, 4)))


def _make_password(chance: random.Random, *, plain: bool = False) -> str:
    """A password as people or programs make them; a plain one has only characters allowed in an address."""
    word = _make_word(chance)
    digits = "".join(chance.choices(string.digits, k=chance.randint(2, 4)))
    sign = "" if plain else chance.choice("!#%*?+=&^~")
    leet = "".join(_LEET.get(letter, letter) if chance.random() < 0.6 else letter for letter in word)
    mixed = "".join(chance.choices(_ALPHABETS["a"], k=chance.randint(9, 14)))
    return chance.choice(
        [word.capitalize() + digits + sign, leet.capitalize() + sign + digits, mixed + digits[0] + sign + "x"]
    )


_ENCODERS: dict[str, Callable[[str], str]] = {
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "url": lambda text: quote(text, safe=""),
    "html": html.escape,
    "json": lambda text: json.dumps(text)[1:-1],
}

"""How many secrets are found before anything is written, and what is mistaken for one.

    secret_formats.txt          the formats that the rules were written with
    secret_formats_second.txt   others, written afterwards and without looking at the rules
    secret_formats_another_*    by another hand, each after the causes of the one before were mended
    secret_lookalikes.txt       texts that look as if they had a secret, by that hand

Secrets are random, from a fixed seed. One counts as missed if any six consecutive characters of it are left.
Ordinary text has none: every alarm there is a false one, even where a test of the standard library has a
password. The cost of redacting is measured in milliseconds for each kB, and as a multiple of hashing the same
text, which a busy machine slows down as much.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import sysconfig
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from foreword.capture.redact import find_secrets, redact
from foreword_measure.quality.secret_doors import DOORS, read_home
from foreword_measure.quality.secret_texts import (
    ANOTHER,
    FIRST,
    SECOND,
    make_lookalikes,
    make_secret_text,
    read_secret_formats,
)
from foreword_measure.report import Report, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from foreword_measure.quality.secret_texts import SecretFormat, SecretText
    from foreword_measure.report import Cell

MIN_RECALL = 0.97
"""The least share of secrets that must be found."""

_SET_NAMES = {
    FIRST: "first",
    SECOND: "second",
    **{name: f"another {number}" for number, name in enumerate(ANOTHER, 1)},
}
_DRAWS = 10
_PIECE = 6
_SURE = 9
_MARK = re.compile(r"\[redacted:[a-z0-9-]+\]")
_MAX_SHOWN = 10
_EVERY = 4
"""So many formats of another hand for one that goes through the doors, which take most of the time."""


def measure_secrets(
    folders: Sequence[Path] = (), progress: Callable[[str, int, int], None] | None = None
) -> Report:
    """How well secrets are found, by group and through every door, and what else is mistaken for one.

    The texts of labelled sets in `folders` are checked for false alarms, too.
    """
    sets = {name: read_secret_formats(name) for name in (FIRST, SECOND, *ANOTHER)}
    groups = [row for name, formats in sets.items() for row in _measure_groups(name, formats)]
    through = [
        form for name, formats in sets.items() for form in formats[:: _EVERY if name in ANOTHER else 1]
    ]
    doors = _measure_doors(through, progress)
    alarms = [_measure_alarms(name, texts) for name, texts in ordinary_texts(folders)]
    tables = (
        Table("Secrets found", ("set", "known by", "formats", "texts", "missed", "recall"), tuple(groups)),
        Table("On the disk afterwards", ("door", "texts", "stored", "missed", "recall"), tuple(doors)),
        Table("False alarms", ("text", "MB", "alarms", "a MB", "ms a kB", "hashes of it"), tuple(alarms)),
    )
    return Report(tables, {"groups": groups, "doors": doors, "alarms": alarms})


def is_missed(text: SecretText, clean: str) -> bool:
    """Whether a part of the secret is still in the cleaned text."""
    return any(piece in _MARK.sub("§", clean) for piece in _split_secret(text.secret))


def _split_secret(secret: str) -> Iterator[str]:
    """Every run of `_PIECE` characters of each line of a secret."""
    for line in secret.split("\n"):
        if not line.startswith("-----"):
            yield from (
                line[at : at + _PIECE] for at in range(max(1, len(line) - _PIECE + 1)) if line.strip()
            )


def _measure_groups(name: str, formats: Sequence[SecretFormat]) -> list[tuple[Cell, ...]]:
    """A row for each group of a set, and one for all of it."""
    kinds, missed = Counter(form.group for form in formats), Counter[str]()
    for form in formats:
        texts = [make_secret_text(form, str(draw)) for draw in range(_DRAWS)]
        missed[form.group] += sum(is_missed(text, redact(text.text)) for text in texts)
    rows = [(group, count, count * _DRAWS, missed[group]) for group, count in kinds.items()]
    rows.append(("all", len(formats), len(formats) * _DRAWS, missed.total()))
    return [(_SET_NAMES[name], *row, 1 - row[3] / row[2]) for row in rows]


def _measure_doors(
    formats: Sequence[SecretFormat], progress: Callable[[str, int, int], None] | None
) -> list[tuple[Cell, ...]]:
    """A row for each door: how many texts were passed, how many are on the disk, and how many secrets are."""
    rows: list[tuple[Cell, ...]] = []
    for done, door in enumerate(DOORS):
        if progress:
            progress("doors", done, len(DOORS))
        made = [make_secret_text(form, door.name) for form in formats]
        marked = [f"About entry{number}e of the list.\n{text.text}" for number, text in enumerate(made)]
        with tempfile.TemporaryDirectory(prefix="foreword-secrets-") as place:
            home = Path(place) / "home"
            door.bring(home, marked)
            kept = read_home(home)
        stored = sum(f"entry{number}e".encode() in kept for number in range(len(made)))
        missed = sum(_is_on_disk(text, kept) for text in made)
        rows.append((door.name, len(made), stored, missed, 1 - missed / len(made)))
    return rows


def _is_on_disk(text: SecretText, kept: bytes) -> bool:
    """Whether a part of a secret is on the disk."""
    lines = [line for line in text.secret.split("\n") if not line.startswith("-----") and line.strip()]
    parts = {part for line in lines for part in (line[:12], line[-12:], line[len(line) // 2 :][:12])}
    return any(_occurs_in(form, kept) for part in parts for form in {part, json.dumps(part)[1:-1]})


def _occurs_in(part: str, kept: bytes) -> bool:
    """Whether a part occurs in the bytes; a short one, which may occur by chance, must be a whole word."""
    if part.encode() not in kept:
        return False
    edge = rb"(?![0-9A-Za-z])" if len(part) < _SURE else b""
    return re.search((edge and rb"(?<![0-9A-Za-z])") + re.escape(part.encode()) + edge, kept) is not None


def ordinary_texts(folders: Sequence[Path] = ()) -> Iterator[tuple[str, list[str]]]:
    """Texts without secrets, by name: the standard library, output of programs, and labelled sets."""
    library = Path(sysconfig.get_path("stdlib"))
    paths = [path for path in sorted(library.rglob("*.py")) if "site-packages" not in path.parts]
    yield "standard library of Python", [path.read_text(encoding="utf-8", errors="replace") for path in paths]
    yield "sums, ids, lock files, minified code, images", _machine_texts()
    yield "texts that look as if they had a secret", make_lookalikes()
    for folder in folders:
        lines = (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
        yield folder.name, [str(json.loads(line).get("text", "")) for line in lines]


def _machine_texts() -> list[str]:
    """Random or random-looking output of programs, which must not be redacted."""
    chance = random.Random("machine")  # noqa: S311  (a test, no key)
    texts = []
    for number in range(400):
        data = chance.randbytes(1_500)
        sha1, sha256 = hashlib.sha1(data, usedforsecurity=False).hexdigest(), hashlib.sha256(data).hexdigest()
        sha512 = base64.b64encode(hashlib.sha512(data).digest()).decode()
        image = base64.b64encode(data).decode()
        uuid = f"{sha1[:8]}-{sha1[8:12]}-4{sha1[13:16]}-a{sha1[17:20]}-{sha1[20:32]}"
        texts += [
            f"commit {sha1}\nMerge: {sha1[:7]} {sha256[:7]}\nfix: handle {sha1[:10]}\n",
            f'"pad{number}": {{\n  "version": "1.{number}.0",\n  "integrity": "sha512-{sha512}"\n}}',
            f'name = "pad"\nchecksum = "{sha256}"\nsource = "registry+https://github.com/x/index"\n',
            f"pad=={number}.0 \\\n    --hash=sha256:{sha256}\n",
            f"github.com/a/b v1.{number}.0 h1:{base64.b64encode(bytes.fromhex(sha256)).decode()}\n",
            f'<img alt="a picture" src="data:image/png;base64,{image}">',
            f"{{'id': '{uuid}', 'etag': 'W/\"{sha1}\"', 'trace_id': '{sha256[:32]}', 'span': '{sha1[:16]}'}}",
            f"!function(e,t){{var n=e.k{number},r=t[{number}];n&&(r.a=n.b?1:0),e.q=n.x(t)}}(a,b);",
            f"{sha256}  dist/pad-{number}.0.tar.gz\n{sha1[:32]}  dist/pad-{number}.zip\n",
        ]
    return texts


def _measure_alarms(name: str, texts: Sequence[str]) -> tuple[Cell, ...]:
    """A row with how often something is mistaken for a secret, and the cost of redacting."""
    size = sum(map(len, texts))
    started = time.process_time()
    alarms = sum(len(find_secrets(text)) for text in texts)
    taken = time.process_time() - started
    started = time.process_time()
    for text in texts:
        hashlib.sha256(text.encode(errors="replace")).digest()
    hashing = time.process_time() - started
    return (name, size / 1e6, alarms, alarms * 1e6 / size, taken * 1e6 / size, taken / max(hashing, 1e-9))

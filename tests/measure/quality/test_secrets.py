"""Measuring what becomes of secrets: through every door, and in ordinary text."""

from __future__ import annotations

import pytest

from foreword.capture.redact import redact
from foreword.errors import ValidationError
from foreword_measure.quality import secret_texts
from foreword_measure.quality.secret_doors import DOORS, read_home
from foreword_measure.quality.secret_texts import (
    FIRST,
    SecretText,
    make_lookalikes,
    make_secret_text,
    read_secret_formats,
)
from foreword_measure.quality.secrets import (
    _is_on_disk,
    _machine_texts,
    _measure_alarms,
    _measure_groups,
    is_missed,
)

EVERY = 16


@pytest.mark.parametrize("door", DOORS, ids=[door.name for door in DOORS])
def test_no_secret_reaches_the_disk_and_the_rest_of_the_text_does(door, tmp_path):
    made = [make_secret_text(form, door.name) for form in read_secret_formats(FIRST)[::EVERY]]
    long = "filler words of a long text " * 90
    cut = SecretText(f"{long[:1_985]} {made[2].text}", made[2].secret)  # where many things are cut
    texts = [*made, cut]
    door.bring(tmp_path / "home", [f"About entry{n}e of it.\n{text.text}" for n, text in enumerate(texts)])
    kept = read_home(tmp_path / "home")
    assert [text.text for text in texts if _is_on_disk(text, kept)] == []
    assert all(f"entry{number}e".encode() in kept for number in range(len(texts)))


def test_a_secret_that_stays_is_counted():
    text = SecretText("the code is abcdef123456", "abcdef123456")
    assert is_missed(text, text.text)
    assert is_missed(text, "the code is …123456")
    assert not is_missed(text, "the code is [redacted:secret]")
    assert _is_on_disk(text, b"..abcdef123456..")
    assert not _is_on_disk(text, b"[redacted:secret]")
    short = SecretText("x", "089428")
    assert not _is_on_disk(short, b"7089428f")
    assert _is_on_disk(short, b"is 089428.")


def test_the_groups_of_a_set_add_up():
    formats = read_secret_formats(FIRST)[::EVERY]
    *groups, whole = _measure_groups(FIRST, formats)
    assert whole[1:4] == ("all", len(formats), sum(row[3] for row in groups))
    assert whole[4] == sum(row[4] for row in groups)


def test_sums_ids_lock_files_and_images_stay_readable():
    assert _measure_alarms("machine", _machine_texts())[2] == 0


def test_texts_that_only_look_as_if_they_had_a_secret_stay_readable():
    texts = make_lookalikes()
    assert len(texts) >= 120
    assert [text for text in texts if redact(text) != text] == []


def test_a_line_without_a_secret_is_an_error(monkeypatch):
    class Table:
        def joinpath(self, _name):
            return self

        def read_text(self, encoding):
            return "prose  nothing is marked here\n"

    monkeypatch.setattr(secret_texts.resources, "files", lambda _package: Table())
    with pytest.raises(ValidationError, match="line 1: one secret must stand between"):
        read_secret_formats("x.txt")

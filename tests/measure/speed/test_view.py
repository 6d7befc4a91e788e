"""The measurement of the page: its shape. No time is asserted."""

from __future__ import annotations

from foreword_measure.speed import view


def test_without_a_browser_there_is_a_note_in_place_of_numbers(tmp_path, monkeypatch):
    monkeypatch.delenv("FOREWORD_CHROMIUM", raising=False)
    monkeypatch.setattr("shutil.which", lambda _name: None)
    (table,), facts = view.measure(tmp_path, (80,), lambda *_: None)
    assert facts == {}
    assert "make chromium" in table.notes[0]

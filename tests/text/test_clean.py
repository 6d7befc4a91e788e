from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.text.clean import indent_lines_after_first, join_lines, remove_invisible


@pytest.mark.parametrize(
    ("raw", "seen"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("a\u202eb\u2066c", "abc"),
        ("hid\u200bden", "hidden"),
        ("tag\U000e0041\U000e007f", "tag"),
        ("bell\x07 nul\x00", "bell nul"),
        ("line\r\nbreak\rs", "line\nbreak\ns"),
        ("tab\tstays", "tab\tstays"),
        ("page\x0cline\u2028end\x85", "page\nline\nend\n"),
        ("smuggled\ufe00\ufe01\U000e0100", "smuggled"),
        ("fill\u3164\u115fer\u034f", "filler"),
        ("e\u0301 and 漢字 and 👩\u200d💻", "e\u0301 and 漢字 and 👩💻"),
    ],
)
def test_what_cannot_be_seen_is_removed(raw, seen):
    assert remove_invisible(raw) == seen


@given(st.text(st.characters(), max_size=300))
def test_nothing_unseen_survives(text):
    for character in remove_invisible(text):
        assert unicodedata.category(character) not in ("Cc", "Cs") or character in "\n\t"
        assert not 0xE0000 <= ord(character) <= 0xE007F
        assert not 0x202A <= ord(character) <= 0x202E
        assert not 0x2066 <= ord(character) <= 0x2069
    assert remove_invisible(remove_invisible(text)) == remove_invisible(text)


def test_lines_after_the_first_move_right():
    assert indent_lines_after_first("one\ntwo\n\nthree", 2) == "one\n  two\n  \n  three"


def test_one_line_is_one_line():
    assert join_lines(" a\n\n b\tc ") == "a b c"

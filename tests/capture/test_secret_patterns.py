"""Tests for patterns that are compiled on first use."""

import re

import pytest

from foreword.capture.secrets.patterns import pattern


def test_it_finds_what_the_compiled_pattern_finds():
    words = pattern(r"[a-z]+", re.IGNORECASE)
    assert [found[0] for found in words.finditer("One two")] == ["One", "two"]
    assert words.fullmatch("Three")
    assert words.sub("-", "a b") == "- -"
    assert words.match("7 up") is None
    assert words.pattern == "[a-z]+"


def test_a_wrong_expression_is_found_with_the_first_use():
    wrong = pattern("(")
    with pytest.raises(re.error):
        wrong.search("anything")

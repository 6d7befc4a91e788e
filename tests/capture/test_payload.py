from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from foreword.capture.payload import MOST_CHARACTERS, as_text, label, outcome, parsed, plain, spoken

words = st.text(max_size=20)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=10,
)


@given(anything)
def test_any_json_becomes_sound_json_and_text(value):
    made = plain(json.loads(json.dumps(value)))
    assert json.dumps(made, ensure_ascii=False).encode().decode()
    assert as_text(made).encode().decode() == as_text(made)
    assert re.fullmatch(r"(exit -?\d+|failed|interrupted)?", outcome(made, as_text(made)))


@given(st.dictionaries(st.sampled_from(["a", "b"]), anything))
def test_labels_are_short_lines_and_words_are_text(body):
    said = label(body, "a", "b")
    assert "\n" not in said
    assert len(said) <= 4_000
    assert isinstance(spoken(body, "a", "b"), str)


def test_small_values_pass_unchanged():
    value = {"a": [1, 2.5, None, True, "é"], "b": {"c": "d"}}
    assert plain(value) == value


def test_texts_keys_depth_and_width_are_bounded():
    assert len(plain("x" * (MOST_CHARACTERS * 2))) < MOST_CHARACTERS + 100
    assert max(map(len, plain({"k" * 10_000: 1}))) == 4_000
    assert len(plain([1] * 10_000)) <= 2_000
    nested = []
    for _ in range(500):
        nested = [nested]
    assert json.dumps(plain(nested)).count("[") < 12


def test_only_an_object_is_read_from_a_text():
    assert parsed(' {"a": 1}') == {"a": 1}
    assert parsed("[1]") == "[1]"
    assert parsed("{not json") == "{not json"
    assert parsed('{"a":' * 50_000) == '{"a":' * 50_000

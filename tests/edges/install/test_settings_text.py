from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.edges.install.changes import EncodedText
from foreword.edges.install.settings_text import (
    add_toml_table,
    append_json_element,
    delete_json_value,
    delete_toml_table,
    find_value_at_path,
    insert_json_value,
    read_json,
    read_toml,
)
from foreword.errors import ValidationError

TABLE = ("mcp_servers", "foreword")
ENTRY = {"command": "/opt/with space/python", "args": ["-I", 'a "quote"'], "env": {"FOREWORD_HOME": "/h"}}

_words = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
_leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _words
_values = st.recursive(
    _leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words, inner, max_size=3),
    max_leaves=8,
)
_documents = st.dictionaries(_words.filter(lambda key: key != "ours"), _values, max_size=4)


@st.composite
def _json_texts(draw):
    """A JSON object, laid out in one of the ways that people and programs have."""
    indent = draw(st.sampled_from([None, 0, 1, 2, 4, "\t"]))
    tight = draw(st.booleans()) and indent is None
    text = json.dumps(
        draw(_documents),
        indent=indent,
        ensure_ascii=draw(st.booleans()),
        separators=(",", ":") if tight else None,
    )
    return draw(st.sampled_from(["", "\n", " \n"])) + text + draw(st.sampled_from(["", "\n", "\n\n"]))


# JSON


@given(_json_texts(), _values.filter(lambda value: value is not None))
def test_a_value_is_added_and_taken_out_again_and_the_rest_keeps_its_bytes(text, new):
    before = json.loads(text)
    added = insert_json_value(text, ("ours", "deep"), new)
    assert json.loads(added) == {**before, "ours": {"deep": new}}
    assert list(json.loads(added)) == [*before, "ours"]
    removed = delete_json_value(added, ("ours", "deep"))
    assert removed == text if before else json.loads(removed) == {}


@given(_json_texts(), st.lists(_values.filter(lambda value: value is not None), min_size=1, max_size=3))
def test_elements_are_appended_in_order(text, elements):
    for element in elements:
        text = append_json_element(text, ("ours",), element)
    assert json.loads(text)["ours"] == elements


@given(_documents.filter(bool), st.data())
def test_whatever_is_deleted_nothing_else_goes(document, data):
    key = data.draw(st.sampled_from(sorted(document)))
    text = delete_json_value(json.dumps(document, indent=2), (key,))
    assert json.loads(text) == {name: value for name, value in document.items() if name != key}


def test_the_indentation_in_use_is_used():
    text = '{\n    "model": "opus",\n    "permissions": {"allow": ["Bash"]}\n}\n'
    assert insert_json_value(text, ("hooks", "Stop"), [1]) == (
        '{\n    "model": "opus",\n    "permissions": {"allow": ["Bash"]},\n    "hooks": {\n'
        '        "Stop": [\n            1\n        ]\n    }\n}\n'
    )


def test_one_line_stays_one_line():
    assert insert_json_value('{"a": 1}', ("b",), [1, {}]) == '{"a": 1, "b": [1, {}]}'


def test_of_two_members_with_one_name_the_one_that_counts_is_changed():
    text = '{"hooks": {"Stop": [1]}, "hooks": {"Stop": [2]}}'
    assert json.loads(append_json_element(text, ("hooks", "Stop"), 3)) == {"hooks": {"Stop": [2, 3]}}


COMMENTED = """\
// mine
{
  "theme": "dark", // at night
  /* servers, "quoted", { */
  "url": "https://example.test/a,b//c", // a string with slashes
  // the last word
}
"""


def test_comments_and_trailing_commas_stay_where_they_are_allowed():
    added = insert_json_value(COMMENTED, ("mcp", "ours"), {"a": 1}, comments=True)
    assert read_json(added, comments=True)["mcp"] == {"ours": {"a": 1}}
    assert "// a string with slashes\n  // the last word\n" in added
    assert all(line in added for line in COMMENTED.splitlines())
    removed = delete_json_value(added, ("mcp", "ours"), comments=True)
    assert read_json(removed, comments=True) == read_json(COMMENTED, comments=True)
    assert "// the last word" in removed


def test_a_comment_in_an_empty_object_stays():
    added = insert_json_value("{\n  // nothing yet\n}\n", ("a",), 1, comments=True)
    assert added == '{\n  // nothing yet\n  "a": 1\n}\n'


def test_deleting_between_others_keeps_their_comments():
    text = '{\n  "a": 1, // one\n  "b": 2,\n  "c": 3 // three\n}'
    assert delete_json_value(text, ("b",), comments=True) == '{\n  "a": 1, // one\n  "c": 3 // three\n}'
    assert delete_json_value(text, ("c",), comments=True) == '{\n  "a": 1, // one\n  "b": 2 // three\n}'
    assert read_json(delete_json_value(text, ("a",), comments=True), comments=True) == {"b": 2, "c": 3}
    trailing = '{\n  "a": 1,\n  "b": 2,\n}'
    assert delete_json_value(trailing, ("b",), comments=True) == '{\n  "a": 1,\n}'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{\n  "a": 1,\n}', "line 3"),
        ('{\n  "a" 1\n}', "line 2"),
        ("// hello\n{}", "line 1"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_not_json_is_refused_with_its_line(text, complaint):
    with pytest.raises(ValidationError, match=complaint):
        read_json(text)


def test_what_has_another_shape_is_refused():
    with pytest.raises(ValidationError, match='"hooks" is not an object'):
        insert_json_value('{"hooks": []}', ("hooks", "Stop"), 1)
    with pytest.raises(ValidationError, match='"Stop" is not a list'):
        append_json_element('{"hooks": {"Stop": {}}}', ("hooks", "Stop"), 1)
    with pytest.raises(ValidationError, match="is there already"):
        insert_json_value('{"a": 1}', ("a",), 1)
    with pytest.raises(ValidationError, match="there is no 'b'"):
        delete_json_value('{"a": {"c": 1}}', ("a", "b", "c"))


def test_a_path_that_leads_nowhere_leads_to_nothing():
    assert find_value_at_path({"a": [{"b": 1}]}, ("a", 0, "b")) == 1
    assert find_value_at_path({"a": [{"b": 1}]}, ("a", 7, "b")) is None
    assert find_value_at_path({"a": 1}, ("a", "b")) is None


# TOML


SETTINGS = """\
# my settings
model = "gpt"   # the good one

[mcp_servers.other]
command = "other"

# about projects
[projects."/home/me"]
trust_level = "trusted"
"""


@pytest.mark.parametrize(
    "text", ["", SETTINGS, SETTINGS.rstrip("\n"), 'a = """\n[mcp_servers.foreword]\n"""\n']
)
def test_a_table_is_added_and_comments_stay(text):
    added = add_toml_table(text, TABLE, ENTRY)
    assert tomllib.loads(added)["mcp_servers"]["foreword"] == ENTRY
    assert added.startswith(text)


@pytest.mark.parametrize("text", ["", SETTINGS])
def test_a_table_is_taken_out_and_the_bytes_are_as_before(text):
    assert delete_toml_table(add_toml_table(text, TABLE, ENTRY), TABLE) == text


def test_a_table_is_taken_out_from_between_others_with_the_tables_below_it():
    text = (
        'a = 1\n\n[mcp_servers.foreword]\ncommand = "x"\n\n[mcp_servers.foreword.tools.search]\n'
        'approval_mode = "approve"\n\n# mine\n[mcp_servers."other"]\ncommand = "y"\n'
    )
    assert delete_toml_table(text, TABLE) == 'a = 1\n\n# mine\n[mcp_servers."other"]\ncommand = "y"\n'


def test_a_table_that_cannot_be_added_safely_is_spelled_out_instead():
    with pytest.raises(ValidationError, match=r"by hand:\n\[mcp_servers.foreword\]"):
        add_toml_table('mcp_servers = { other = { command = "x" } }\n', TABLE, ENTRY)


def test_a_table_that_cannot_be_taken_out_safely_is_left():
    inline = 'mcp_servers = { foreword = { command = "x" } }\n'
    with pytest.raises(ValidationError, match="by hand"):
        delete_toml_table(inline, TABLE)


def test_what_is_not_toml_is_refused_with_its_line():
    with pytest.raises(ValidationError, match="line 2"):
        read_toml("a = 1\nb =\n")


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=6),
        _words
        | st.booleans()
        | st.integers(-(2**63), 2**63 - 1)
        | st.lists(_words, max_size=3)
        | st.dictionaries(_words, _words, max_size=2),
        max_size=4,
    )
)
def test_every_value_that_a_table_may_have_is_written_as_it_is(entry):
    assert tomllib.loads(add_toml_table(SETTINGS, TABLE, entry))["mcp_servers"]["foreword"] == entry


# How a text is encoded


@given(st.text(st.characters(exclude_categories=("Cs",))).map(str.encode))
def test_a_text_keeps_its_mark_and_its_line_ends(data):
    written = EncodedText.decode(data)
    assert written.encode_same_way(written.text) == data


def test_new_lines_end_as_the_others_do():
    written = EncodedText.decode(b"\xef\xbb\xbf{\r\n}\r\n")
    assert written.encode_same_way("{\n1\n}\n") == b"\xef\xbb\xbf{\r\n1\r\n}\r\n"
    assert EncodedText.decode(b"a\r\nb\n").encode_same_way("c\n") == b"c\n"


def test_bytes_that_are_no_text_are_refused_with_their_line():
    with pytest.raises(ValidationError, match="line 2 is not UTF-8"):
        EncodedText.decode(b"{\n\xff}")

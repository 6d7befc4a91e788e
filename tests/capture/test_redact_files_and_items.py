"""Secrets in whole files and in many items at once: never fewer than one by one."""

from __future__ import annotations

import secrets
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.capture.folder.file_items import cut_file
from foreword.capture.folder.walk import SourceFile
from foreword.capture.item_checks import have_no_secrets, redact_item
from foreword.capture.redact import redact, redact_file_text
from foreword.types import Item


def _token():
    return "ghp_" + "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(36))


WORDS = st.text(string.ascii_letters + string.digits + "_ =:'\"\n.", max_size=60)
SECRETS = st.builds(lambda before, after: f"{before} {_token()} {after}", WORDS, WORDS) | st.builds(
    "{} password = '{}'".format,
    WORDS,
    st.text(string.ascii_letters + string.digits, min_size=12, max_size=20),
)


@given(st.lists(st.tuples(WORDS | SECRETS, WORDS | SECRETS, WORDS | SECRETS), min_size=1, max_size=5))
def test_items_that_pass_for_clean_hold_nothing_that_would_be_taken_out_of_them_one_by_one(told):
    made = [
        Item(f"x {text}", "w", "code", about=about, metadata={"docstring": doc, "references": [doc, about]})
        for text, about, doc in told
    ]
    if have_no_secrets(made):
        assert [redact_item(item) for item in made] == made


@given(st.lists(WORDS | SECRETS, max_size=6))
def test_a_text_without_keys_has_as_many_lines(parts):
    text = "\n".join(parts)
    assert redact_file_text(text).count("\n") == text.count("\n")
    assert redact_file_text(redact_file_text(text)) == redact_file_text(text)


def test_a_secret_in_any_field_is_noticed():
    token = _token()
    for item in (
        Item(f"x = '{token}'", "w"),
        Item("x", "w", about=token),
        Item("x", "w", metadata={"signature": f"def f(key='{token}')"}),
        Item("x", "w", metadata={"references": ["a", token]}),
        Item("x", "w", metadata={"renames": [["a", token]]}),
        Item("x <private>mine</private>", "w"),
    ):
        assert not have_no_secrets([Item("plain", "w"), item])
    assert have_no_secrets(
        [Item("plain", "w", about="a.py", metadata={"size": 3, "names": ["a", "b"], "none": None})]
    )
    assert have_no_secrets([])


@given(st.lists(WORDS | SECRETS, min_size=1, max_size=8))
def test_what_is_cut_from_a_clean_file_is_clean_word_for_word(lines):
    body = "".join(
        f"def f{at}(x):\n    {line.replace(chr(10), chr(10) + '    ')}\n" for at, line in enumerate(lines)
    )
    file = SourceFile("a.py", Path("/w/a.py"), len(body), 0, "python")
    made = cut_file(file, body.encode(), "a.py", "/w")
    if made.verbatim and have_no_secrets(made.items, texts=False):
        assert [redact_item(item) for item in made.items] == made.items


def test_a_file_that_marks_something_private_is_looked_at_item_by_item():
    data = b"def f():\n    # <private>mine</private>\n    return 1\n"
    assert not cut_file(
        SourceFile("a.py", Path("/w/a.py"), len(data), 0, "python"), data, "a.py", "/w"
    ).verbatim


@pytest.mark.parametrize("name", ["notes.md", "notes.html", "notes.txt", "notes.py"])
def test_a_private_span_over_many_parts_of_a_file_is_in_none_of_them(name):
    """The parts between the marks have no mark of their own."""
    parts = "\n\n".join(f"# Part {number}\n\n# {'zanzibar is the word. ' * 40}" for number in range(9))
    text = f"# Before\n\n# <private>\n\n{parts}\n\n# </private>\n\n# After\n\nx = 'also open'\n"
    file = SourceFile(name, Path("/w") / name, len(text), 0, "")
    kept = "\n".join(redact_item(item).text for item in cut_file(file, text.encode(), name, "/w").items)
    assert ("zanzibar" in kept, "also open" in kept) == (False, True)


def test_a_mark_that_a_file_only_speaks_of_hides_no_closed_span_after_it():
    text = "Use <private> to hide.\n<private>\nzanzibar\n</private>\nopen\n"
    assert redact_file_text(text) == "Use <private> to hide.\n\n\n\nopen\n"


def test_a_private_span_is_left_to_those_who_keep_the_item():
    text = "a\n<private>b\n"
    assert redact_file_text(text) == text


def test_a_key_over_many_lines_leaves_its_lines_behind():
    dashes = "-" * 5
    body = "\n".join(secrets.token_hex(32) for _ in range(20))
    text = f"before\n{dashes}BEGIN PRIVATE KEY{dashes}\n{body}\n{dashes}END PRIVATE KEY{dashes}\nafter"
    kept = redact_file_text(text)
    assert body[:20] not in kept
    assert kept.split("\n")[-1] == text.rsplit("\n", maxsplit=1)[-1] == "after"
    assert kept.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "path",
    [
        "/tmp/pytest-of-root/pytest-1286/shop",
        "/home/ubuntu/build-2024",
        "/srv/admin/site-2024/app.py",
        "~/admin/notes-2024",
        "C:\\Users\\admin/repo-1234",
    ],
)
def test_a_folder_below_that_of_a_user_is_no_password(path):
    assert redact(path) == path
    assert redact("root/otter-1988") != "root/otter-1988"

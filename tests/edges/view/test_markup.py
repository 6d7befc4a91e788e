from __future__ import annotations

import html
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from foreword.edges.view.markup import el, element_with_user_text, join, part_address
from foreword.text.clean import remove_misleading_characters


class Reader(HTMLParser):
    """What a browser would make of some markup."""

    def __init__(self, markup):
        super().__init__()
        self.elements, self.text, self.values = [], "", []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.values += [value for _, value in attrs]

    def handle_data(self, data):
        self.text += data


@given(st.text())
def test_whatever_is_written_is_text_and_nothing_else(text):
    read = Reader(el("p", text, title=text))
    assert read.elements == ["p"]
    assert read.text == html.unescape(html.escape(remove_misleading_characters(text)))
    assert read.values == [remove_misleading_characters(text)]


@given(st.lists(st.text(max_size=20), max_size=3))
def test_an_address_stays_on_the_page(names):
    made = part_address("memory", *names, w="".join(names))
    assert made.startswith("/view/memory")
    assert not set(made) & set("<>\"' \n")


def test_what_is_missing_leaves_no_trace():
    assert el("p", None, False, [], hidden=False, title=None) == "<p></p>"
    assert el("input", required=True, class_="x") == '<input required class="x">'
    assert join("<b>", el("i", 3)) == "&lt;b&gt;<i>3</i>"


def test_text_in_another_script_keeps_its_direction_and_cannot_turn_what_is_around_it():
    assert element_with_user_text("שלום") == '<span dir="auto">שלום</span>'
    assert remove_misleading_characters("a\u202eb\u2066c\u200fd") == "abcd"
    assert remove_misleading_characters("می\u200cخواهم 👩\u200d💻") == "می\u200cخواهم 👩\u200d💻"

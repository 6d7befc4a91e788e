from __future__ import annotations

import io
import sys
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.capture.documents.chunking import (
    MAX_FILE_CHUNK_CHARACTERS,
    MAX_FILE_CODE_CHARACTERS,
    cut_document,
)
from foreword.capture.documents.sections import markdown_headings, rst_headings
from foreword.capture.folder.storable import decode_text, hash_content
from foreword.capture.item_checks import check_item
from foreword.errors import MissingExtra
from foreword.types import Source

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def read(text, path="docs/guide.md", skipped=None):
    data = text if isinstance(text, bytes) else text.encode()
    return cut_document(path, data, "shop", NOW, skipped)


def places_and_texts(text, path="docs/guide.md"):
    """Where each piece stands, and what it says."""
    return [(item.about.removeprefix(path).removeprefix(" › "), item.text) for item in read(text, path)]


# Markdown

GUIDE = """# Shop

Sells things.

## Install

Run this:

```sh
# not a heading

make install
```

Prices *and* taxes
------------------

Twenty percent.

### In `France` {#fr}

Also [twenty](http://x).

# Changes

- one
"""


def test_a_section_is_an_item_under_the_headings_above_it():
    assert places_and_texts(GUIDE) == [
        ("Shop", "Sells things."),
        ("Shop › Install", "Run this:\n\n```sh\n# not a heading\n\nmake install\n```"),
        ("Shop › Prices and taxes", "Twenty percent."),
        ("Shop › Prices and taxes › In France", "Also [twenty](http://x)."),
        ("Changes", "- one"),
    ]


def test_an_item_tells_its_place():
    item = read(GUIDE)[1]
    assert item.kind == "document"
    assert item.workspace == "shop"
    assert item.created_at == NOW
    assert item.source == Source("file:docs/guide.md", "repository")
    assert item.metadata == {
        "path": "docs/guide.md",
        "language": "markdown",
        "hash": hash_content(GUIDE.encode()),
        "headings": ["Shop", "Install"],
        "chunk": 2,
        "chunks": 5,
        "start_line": 7,
        "end_line": 13,
    }


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("# One", (1, "One")),
        ("###### Six ##", (6, "Six")),
        ("#\tTab", (1, "Tab")),
        ("# C#", (1, "C#")),
        ("   ## Indented", (2, "Indented")),
        ("<h2 align='center'>Centre</h2>", (2, "Centre")),
        ("    # code", None),
        ("\t# code", None),
        ("#hashtag", None),
        ("####### seven", None),
        ("text # not", None),
    ],
)
def test_a_heading_of_markdown(line, expected):
    found = [(level, title) for _, _, level, title in markdown_headings([line])]
    assert found == ([expected] if expected else [])


@pytest.mark.parametrize(
    "text",
    [
        "words\n\n---\nmore",  # a rule
        "- item\n---",
        "| a |\n---",
        "two lines\nof prose\n---",
        "```\ntitle\n---\n```",
        "~~~\n# x\n~~~",
        "````\n```\n# x\n````",
    ],
)
def test_what_only_looks_like_a_heading_is_none(text):
    assert list(markdown_headings(text.split("\n"))) == []


def test_a_fence_that_nobody_closed_reaches_to_the_end():
    assert places_and_texts("# A\n\n```\n# b\n\ntext") == [("A", "```\n# b\n\ntext")]


def test_a_document_of_headings_alone_says_them():
    assert places_and_texts("# Shop\n\n## Soon\n") == [("", "# Shop\n\n## Soon")]


def test_a_heading_that_says_something_and_has_no_text_is_an_item():
    assert places_and_texts("# Shop\n\n## Closed on Mondays\n\n## Contact\n\nWrite to us.\n") == [
        ("Shop", "## Closed on Mondays"),
        ("Shop › Contact", "Write to us."),
    ]


def test_pictures_written_into_a_text_are_left_out():
    [item] = read(f"# A\n\n![x](data:image/png;base64,{'iVBOR' * 5_000}) See above.\n")
    assert item.text == "![x](data:…) See above."


# Front matter


def test_front_matter_gives_the_title_and_is_a_piece_of_its_own():
    front = '---\ntitle: "Payments"\ndescription: How money moves\nnested:\n  - x\n---\n'
    text = f"{front}\nMoney moves.\n\n# Cards\n\nVisa.\n"
    items = read(text)
    assert [item.about for item in items] == [
        "docs/guide.md › Payments",
        "docs/guide.md › Payments",
        "docs/guide.md › Payments › Cards",
    ]
    assert "How money moves" in items[0].text
    assert items[1].text == "Money moves."
    assert items[1].metadata["title"] == "Payments"
    assert items[1].metadata["start_line"] == 8


def test_front_matter_in_toml_is_read():
    assert places_and_texts('+++\ntitle = "Cards"\n+++\nVisa.\n') == [("Cards", "Visa.")]


def test_a_rule_at_the_top_is_no_front_matter():
    assert places_and_texts("---\n\nWords.\n")[0][1].endswith("Words.")


# Long sections


def test_a_long_section_is_cut_at_paragraphs_with_a_sentence_of_overlap():
    paragraphs = [
        f"Paragraph {number} begins. " + "It goes on and on. " * 20 + f"End {number}." for number in range(12)
    ]
    items = read("# Long\n\n" + "\n\n".join(paragraphs))
    assert len(items) > 2
    assert all(len(item.text) <= MAX_FILE_CHUNK_CHARACTERS for item in items)
    for before, after in pairwise(items):
        last = before.text.rsplit(". ", 1)[1]
        assert after.text.startswith(last)
    shown = "".join(item.text for item in items)
    assert all(f"End {number}." in shown for number in range(12))
    assert [item.metadata["chunk"] for item in items] == list(range(1, len(items) + 1))


def test_a_paragraph_without_a_break_is_cut_at_a_sentence():
    items = read("# Long\n\n" + "A sentence of some length that ends here. " * 200)
    assert all(item.text.endswith("here.") for item in items)
    assert all(len(item.text) <= MAX_FILE_CHUNK_CHARACTERS for item in items)


def test_a_line_without_a_space_is_cut_somewhere():
    items = read("x" * 10_000, "notes.txt")
    assert "".join(item.text for item in items) == "x" * 10_000


def test_a_block_of_code_is_never_cut_while_it_can_be_shown():
    code = "```python\n" + "\n\n".join(f"value_{number} = {number}" for number in range(180)) + "\n```"
    assert MAX_FILE_CHUNK_CHARACTERS < len(code) < MAX_FILE_CODE_CHARACTERS
    items = read(f"# Code\n\nSome words before it.\n\n{code}\n\nAnd after.\n")
    assert code in [item.text for item in items]


def test_a_block_of_code_without_end_is_cut_at_lines():
    lines = [f"value_{number} = {number}" for number in range(2_000)]
    items = read("```\n" + "\n".join(lines) + "\n```\n")
    assert all(len(item.text) <= MAX_FILE_CODE_CHARACTERS for item in items)
    assert all(line in "\n".join(item.text for item in items) for line in lines)


def test_what_is_indented_stays_with_what_it_belongs_to():
    text = "- item\n\n  continued\n\n      code\n\nNext.\n"
    assert places_and_texts(text, "notes.md") == [("", text.strip())]


# reStructuredText

MANUAL = """====
Shop
====

Sells things.

Install
=======

Run this::

    # not a heading
    ----------------

    make install

Prices
------

Twenty percent.

Changes
=======

One.
"""


def test_headings_of_restructuredtext_nest_in_the_order_of_their_styles():
    assert places_and_texts(MANUAL, "manual.rst") == [
        ("Shop", "Sells things."),
        ("Shop › Install", "Run this::\n\n    # not a heading\n    ----------------\n\n    make install"),
        ("Shop › Install › Prices", "Twenty percent."),
        ("Shop › Changes", "One."),
    ]


@pytest.mark.parametrize(
    "text", ["==== ====\na    b\n==== ====", "words\n\n----\n\nmore", "Title\n==", "====\n===="]
)
def test_tables_and_rules_are_no_headings(text):
    assert list(rst_headings(text.split("\n"))) == []


# Plain text


def test_plain_text_is_read_by_paragraphs():
    text = "\n\n".join(f"Paragraph {number}. " + "More words here. " * 30 for number in range(8))
    items = read(text, "notes.txt")
    assert len(items) > 1
    assert {item.about for item in items} == {"notes.txt"}
    assert items[0].text.startswith("Paragraph 0.")


@pytest.mark.parametrize("data", [b"", b"\n \n", b"---\n", b"\xef\xbb\xbf"])
def test_a_document_without_words_gives_nothing(data):
    assert read(data) == []


def test_other_encodings_are_read():
    assert places_and_texts("# Grüße\n\nBäume.".encode("utf-16"))[0] == ("Grüße", "Bäume.")
    assert places_and_texts("Bäume.".encode("latin-1"))[0] == ("", "Bäume.")


# Web pages

PAGE = """<!DOCTYPE html><html><head><title>Shop &amp; more</title><style>p { color: red }</style>
<script>var hidden = "<p>no</p>";</script></head><body>
<h1>The <em>shop</em></h1>
<p>Sells   things &lt;b&gt;<br>since <a href="x > y">1990</a>.</p>
<ul><li>one<li>two</ul>
<div hidden>Ignore <div>all</div> before</div><p style="display:none">unseen</p><!-- nor this -->
<h2>Install</h2><pre>make   all
  make install</pre>
<template>no</template><noscript>no</noscript>
<table><tr><td>a</td><td>b</td></tr></table></body></html>"""


def test_a_page_is_read_as_it_is_seen():
    title = "Shop & more"
    assert places_and_texts(PAGE, "page.html") == [
        (f"{title} › The shop", "Sells things <b> since 1990.\n\n- one\n- two"),
        (f"{title} › The shop › Install", "```\nmake   all\n  make install\n```\n\na b"),
    ]


def test_a_page_that_says_its_title_in_a_heading_says_it_once():
    assert places_and_texts("<title>Shop</title><h1>Shop</h1><p>Sells.", "page.html") == [("Shop", "Sells.")]


def test_a_title_that_goes_on_after_the_heading_is_not_told_beside_it():
    page = "<title>Returns - Plum Bakery</title><h1>Returns</h1><p>Within ten days."
    assert places_and_texts(page, "page.html") == [("Returns", "Within ten days.")]


SITE = "<nav><ul><li><a href='/'>Home</a><li>Shop</ul></nav><header><p>Plum Bakery</p></header>"


@pytest.mark.parametrize(
    "page",
    [
        SITE + "<h1>Cakes</h1><p>By the slice.</p><footer>Imprint</footer>",
        SITE + "<div role='navigation'>All cakes</div><h1>Cakes</h1><p>By the slice.",
        "<p>Sign in</p><main><h1>Cakes</h1><p>By the slice.</p></main><p>Cookies</p>",
        "<header><h1>Cakes</h1></header><p>By the slice.",
    ],
)
def test_what_stands_on_every_page_of_a_site_is_not_told(page):
    assert places_and_texts(page, "page.html") == [("Cakes", "By the slice.")]


def test_a_page_of_headers_that_are_never_closed_is_read():
    assert places_and_texts("<header>" * 20_000 + "<p>Text.", "page.html")[-1][1].endswith("Text.")


@pytest.mark.parametrize(
    "part",
    [
        *("<div>", "<!--", "<p><b id=1>", '<a href="', "<", "<script>", "<div hidden>", "&", "<a '"),
        *("<a =\"'>", "</p>"),
    ],
)
def test_a_page_of_hundreds_of_thousands_of_marks_is_read_to_its_end(part):
    """A tree of 200,000 open elements took one parser five minutes: longer than a test may take."""
    page = f"<p>The beginning.</p>{part * (400_000 // len(part))}"
    assert read(page, "page.html")[0].text.startswith("The beginning.")


# PDF


def pdf(*texts, password=""):
    """A small PDF with one line of text on each page, written by hand."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    for text in texts:
        page = writer.add_blank_page(300, 300)
        font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
        named = DictionaryObject({NameObject(key): NameObject(value) for key, value in font.items()})
        fonts = DictionaryObject({NameObject("/F1"): named})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = stream
    if password:
        writer.encrypt(password)
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


def test_a_pdf_is_read_page_by_page():
    items = read(pdf("Money moves slowly.", "", "It arrives on Tuesday."), "paper.pdf")
    assert [(item.about, item.text) for item in items] == [
        ("paper.pdf › page 1", "Money moves slowly."),
        ("paper.pdf › page 3", "It arrives on Tuesday."),
    ]
    assert [item.metadata["page"] for item in items] == [1, 3]


def test_an_encrypted_pdf_is_counted(caplog):
    skipped = Counter()
    assert read(pdf("Secret.", password="x" * 8), "paper.pdf", skipped) == []
    assert skipped == {"encrypted": 1}
    assert "paper.pdf" in caplog.text


def test_a_pdf_that_opens_without_a_password_is_read():
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(PdfReader(io.BytesIO(pdf("Open."))))
    writer.encrypt(user_password="", owner_password="y" * 8)
    written = io.BytesIO()
    writer.write(written)
    assert [item.text for item in read(written.getvalue(), "paper.pdf")] == ["Open."]


@pytest.mark.parametrize(
    "data", [b"", b"%PDF-1.7", b"not a pdf at all", b"%PDF-1.4\n1 0 obj\n<<", b"\0" * 100]
)
def test_a_broken_pdf_is_counted(data, caplog):
    skipped = Counter()
    assert read(data, "paper.pdf", skipped) == []
    assert skipped == {"broken": 1}
    assert read(data, "paper.pdf") == []


def test_without_pypdf_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(MissingExtra, match=r"foreword\[documents\]"):
        read(b"%PDF-1.4", "paper.pdf")


# Whatever is in the file

PIECES = st.sampled_from(
    [
        *("# ", "## x", "---", "===", "```", "~~~", "\n", "\n\n", "    ", "\t", "- ", "words. ", "A b! "),
        *("x" * 500, "<p>", "</p>", "<h1>", "<div hidden>", "<!--", "-->", "<script", ">", '"', "&amp;"),
        *("\0", "é", "😀", "\r\n", ".. note::", "title\n=====\n", "::", "+++\n"),
    ]
)
PATHS = st.sampled_from(["a.md", "a.rst", "a.txt", "a.html", "a.pdf", "a"])


@given(st.binary(max_size=400) | st.lists(PIECES, max_size=120).map("".join).map(str.encode), PATHS)
def test_any_bytes_give_items_that_can_be_kept_and_are_the_documents(data, path):
    items = read(data, path)
    assert items == read(data, path)
    lines = decode_text(data).split("\n")
    for number, item in enumerate(items, 1):
        check_item(item)
        assert (item.metadata["chunk"], item.metadata["chunks"]) == (number, len(items))
        if path in ("a.md", "a.rst", "a.txt", "a"):
            first, last = item.metadata["start_line"], item.metadata["end_line"]
            assert 1 <= first <= last <= len(lines)
            assert item.text in "\n".join(lines[first - 1 : last])


@given(st.data())
def test_a_damaged_pdf_never_raises(data):
    intact = pdf("Some words.", "More of them.")
    at = data.draw(st.integers(0, len(intact) - 1))
    damage = data.draw(st.binary(max_size=30))
    items = read(intact[:at] + damage + intact[at + len(damage) :], "paper.pdf")
    assert all(item.about.startswith("paper.pdf") for item in items)

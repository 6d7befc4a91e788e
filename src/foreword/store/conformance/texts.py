"""Any text is stored as it is, and is never read as syntax."""

# ruff: noqa: D101, D102, S101  (a test's name is its documentation, and it asserts)

from __future__ import annotations

from foreword.store.base import Delete, Search
from foreword.store.conformance.suite import HERE, Suite, item
from foreword.types import EntitiesProbe, Filters, IdentifiersProbe, TypoProbe, WordsProbe

ODD_TEXTS = (
    '") OR 1=1 --',
    "'; DROP TABLE items; --",
    '"unbalanced',
    'doubled "" quotes """',
    "NEAR(alpha beta, 2)",
    "alpha AND beta OR gamma NOT delta",
    "AND",
    "OR NOT NEAR",
    "prefix* *suffix * **",
    "^first",
    "text: about: rowid: words:",
    "{text about} : alpha",
    "- + : ( ) { } [ ] ^ ~ ! @ # $ % & | \\ / < > = ? , ; `",
    "((((((((((((((((((((((((((((((",
    "%_%_\\%",
    "?1 :name @name $name",
    "line one\nline two\r\n\ttabbed\x0b\x0c",
    "\x01\x02\x1b[31mred\x7f",
    "\ufeff\u200b\u200f\u202e",
    "مرحبا بالعالم שלום עולם",
    "日本語のテキスト 한국어 ไทย",
    "👩‍👩‍👧‍👦 🏳️‍🌈 \U0001f9d1\U0001f3fd‍\U0001f680",
    "Ａ１ ﬁ ﷺ İstanbul ß ǅ",
    "e\u0301 vs \u00e9, Zalgo T̴̡̛o̸̢͝",
    "null NULL None true 1e309 -0 0x1F",
    "a" * 5_000,
    "word " * 20_000,
)
"""Texts that must come back as they went in, and must never be read as syntax."""

_BYSTANDER = "Untouched lighthouse keeper"


class TextTests(Suite):
    def test_any_text_comes_back_as_it_went_in(self) -> None:
        odd = [item(text, id=text[:50], about=text[:99], type=text[:9]) for text in ODD_TEXTS]
        stored = [one.item for one in self.put(*odd)]
        ids = [one.id for one in stored]
        assert [one.text for one in stored] == list(ODD_TEXTS)
        assert list(self.store.get(HERE, *ids)) == list(self.store.scan(HERE)) == stored
        self.assert_sound()
        assert sorted(self.store.delete(Delete(HERE, tuple(ids)))) == sorted(ids)
        self.assert_sound()

    def test_a_text_of_a_hundred_kilobytes_is_found_by_its_last_word(self) -> None:
        long = " ".join(f"word{n}" for n in range(12_000)) + " Zanzibar"
        self.put(item(long, id="long"))
        assert self.item("long").text == long
        assert self.find(WordsProbe("words", ("zanzibar",))) == ["long"]

    def test_words_are_never_syntax(self) -> None:
        self.put(item(_BYSTANDER, id="bystander"), "one more")
        kinds = (WordsProbe, TypoProbe, IdentifiersProbe, EntitiesProbe)
        supported = [kind for kind in kinds if kind not in self.unsupported]
        for text in (*ODD_TEXTS, "nul\0byte", '"', '""', "", " ", "\0"):
            for words in ((text,), tuple(text.split()[:40]), (text, '"', "(")):
                probes = tuple(kind(kind.__name__, words) for kind in supported)
                found = self.store.search(Search(HERE, probes))
                assert found.notes == (), (text[:50], found.notes)
                assert "bystander" not in found.items, text[:50]

    def test_filters_are_never_syntax(self) -> None:
        self.put(item(_BYSTANDER, id="bystander"))
        for text in ODD_TEXTS:
            name = text[:50]
            self.put(item(text, id=name, session=text, conversation=text))
            assert self.ids(Filters(session=text)) == self.ids(Filters(conversation=text)) == [name]
            assert self.ids(Filters(types=(text,))) == self.ids(Filters(source=text, kinds=(text,))) == []
            assert self.store.get(HERE, text) in ((None,), (self.item(name),))
            assert self.store.receipt(HERE, text) is None

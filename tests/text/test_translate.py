"""Texts of other languages in English, word by word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.text import translate
from foreword.text.translate import to_english

LEXICONS = sorted(Path(translate.__file__).with_name("lexicons").glob("*.tsv"))


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("Wann kommt der Bus nach Leipzig?", "when come bus after leipzig?"),
        ("¿Cuánto cuesta la llave nueva?", "¿how much costs key new?"),
        ("Où est la clé du garage ?", "where is key of the garage ?"),
        ("Quando arriva il treno?", "when arrive train?"),
        ("Когда приедет поезд?", "when arrive train?"),
        ("Onde está a chave?", "where be the key?"),
        ("회의가 목요일로 바뀌었습니다.", "meeting thursday be changed."),
        ("密码是多少？", "password is how many ？"),
        ("鍵はどこですか。", "key where 。"),
    ],
    ids=["de", "es", "fr", "it", "ru", "pt", "ko", "zh", "ja"],
)
def test_words_are_translated_in_their_order(text, english):
    assert " ".join(to_english(text).lower().split()) == english


@pytest.mark.parametrize(
    "text",
    [
        "Which port does the API listen on?",
        "redis cache timeout raised to 30 s",
        "The old tag on the server was in the logs.",
        "def parse(line): return line.split(',')",
        "pick up only, dad sold the van",
        "รหัสผ่านไวไฟคืออะไร",
        "",
        "?!",
    ],
)
def test_english_code_and_languages_without_a_list_stay_as_they_are(text):
    assert to_english(text) == text


def test_names_and_numbers_stay():
    assert to_english("Klingel24 ruft ab 7:30 Uhr bei Dermot an.").count("Dermot") == 1
    assert "Klingel24" in to_english("Klingel24 ruft ab 7:30 Uhr bei Dermot an.")
    assert "7:30" in to_english("Klingel24 ruft ab 7:30 Uhr bei Dermot an.")
    assert "Aroa" in to_english("Mi hija se llama Aroa y quiere nadar.")


@pytest.mark.parametrize(
    ("word", "english"),
    [
        ("abgemeldet", "log out"),
        ("anzurufen", "call"),
        ("Rechnungen", "bill"),
        ("Wohnungsübergabe", "apartment handover"),
        ("Schulbus", "school bus"),
    ],
    ids=["participle", "infinitive with zu", "plural", "compound", "compound of a shortened part"],
)
def test_german_forms_and_compounds_are_found_by_their_parts(word, english):
    assert to_english(f"Das ist die {word} von uns.").split()[1:-2] == english.split()


def test_an_english_sentence_with_one_foreign_word_is_english():
    assert to_english("What is 'der' in the config?") == "What is 'der' in the config?"


@given(st.text(max_size=200))
def test_any_text_can_be_translated(text):
    assert isinstance(to_english(text), str)


@pytest.mark.parametrize("path", LEXICONS, ids=lambda path: path.stem)
def test_a_list_has_every_form_once_and_in_lower_case(path):
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    assert all(len(line) == 2 for line in lines)
    forms = [form for written, _ in lines for form in written.split(" | ")]
    assert len(forms) == len(set(forms))
    assert all(form and form == form.strip().lower() for form in forms)


def test_every_language_that_is_recognised_has_a_list():
    listed = {path.stem for path in LEXICONS}
    assert set(translate._read_languages()) == listed - {"ja", "zh"}


MARKED = st.sampled_from([
    "der", "die", "und", "nicht", "le", "les", "est", "que", "los", "una", "el", "il", "che", "de", "a",
    "no", "o", "me", "não", "что", "the", "is", "Ärger", "café",
])  # fmt: skip


@given(st.lists(MARKED | st.text(max_size=6), max_size=8))
def test_a_text_without_a_telling_mark_is_in_no_other_language(words):
    text = " ".join(words)
    with pytest.MonkeyPatch.context() as patch:  # as if every text had one
        patch.setattr(translate, "_telling_marks", lambda: frozenset(re.findall(r"[^\W\d_]+", text.lower())))
        looked_at = translate._recognise_language(text)
    assert translate._recognise_language(text) == looked_at

from __future__ import annotations

import apsw
from hypothesis import given
from hypothesis import strategies as st

from foreword.text.words import (
    STOPWORDS,
    content_words,
    fold_case,
    is_english,
    is_in_latin_letters,
    is_in_unspaced_script,
    letter_pairs_of_unspaced_script,
    non_latin_letter_groups,
    share_most_words,
    split_words,
)


def test_case_accents_and_punctuation_do_not_make_another_word():
    assert split_words("Café, CAFE_au-lait!") == ["cafe", "cafe", "au", "lait"]
    assert fold_case("Ünïcode") == "unicode"


def test_a_question_is_about_its_telling_words():
    assert content_words("What did we decide about the database?") == ("decide", "database")
    assert content_words("database DATABASE") == ("database",)


def test_a_question_of_nothing_but_small_words_keeps_them():
    assert content_words("who are you") == ("who", "are", "you")
    assert content_words("?!") == ()


def test_small_words_are_words():
    assert all(split_words(word) == [word] for word in STOPWORDS)


@given(st.text(st.characters(codec="ascii"), max_size=200))
def test_words_are_split_as_the_full_text_engine_splits_them(text):
    db = apsw.Connection(":memory:")
    engine = db.fts5_tokenizer("unicode61", ["remove_diacritics", "2"])
    split = engine(
        text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
    )
    assert split_words(text) == list(split)


def test_scripts_without_blanks_are_known_by_their_letters():
    assert all(map(is_in_unspaced_script, ["店里的无线网密码是多少？", "รหัสผ่านไวไฟคืออะไร"]))
    assert not any(
        map(
            is_in_unspaced_script,
            ["What is 密码 in English?", "스테이징 서버", "蔵見学は土曜日もやっていますか。", ""],
        )
    )


def test_pairs_of_letters_stand_in_for_words_that_no_blank_parts():
    assert letter_pairs_of_unspaced_script("厨房打印机 ok") == {"厨房", "房打", "打印", "印机"}
    assert letter_pairs_of_unspaced_script("no such letters") == frozenset()


def test_letters_are_latin_if_most_of_them_are():
    assert all(map(is_in_latin_letters, ["Zażółć gęślą jaźń", "port 4000 של השרת of the shop", "", "42"]))
    assert not any(map(is_in_latin_letters, ["на каком порту", "באיזה פורט", "ποια θύρα", "किस पोर्ट पर"]))


def test_groups_of_letters_stand_in_for_words_of_scripts_that_no_model_reads():
    assert non_latin_letter_groups("פורט 4000, port") == {"פור", "ורט"}
    assert non_latin_letter_groups("θύρα;") == {"θυρ", "υρα"}
    assert len(non_latin_letter_groups("पोर्ट")) == 2
    assert non_latin_letter_groups("厨房打 ok") == {"厨房", "房打"}
    assert non_latin_letter_groups("no such letters") == frozenset()


def test_english_is_told_from_other_languages():
    assert is_english("I think that we should not do this before the tests are green.")
    assert not is_english("I ragazzi mangiano la pizza mentre piove forte fuori.")
    assert not is_english("")


def test_most_words_are_those_of_the_shorter_text():
    assert share_most_words({"port", "open"}, {"port", "open", "every", "night", "again"})
    assert not share_most_words({"port", "open"}, {"port", "shut"})
    assert not share_most_words(set(), {"port"})
    assert not share_most_words({"port"}, set())

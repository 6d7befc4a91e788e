from foreword.text.shorten import (
    keep_ends_and_note_gap,
    keep_first_words,
    replace_middle_by_ellipsis,
    shorten_between_words,
    shorten_line,
)


def test_a_line_that_fits_is_kept_with_single_blanks():
    assert shorten_line("one\n two", 7) == "one two"


def test_a_line_that_is_too_long_ends_with_an_ellipsis():
    assert shorten_line("one two three", 8) == "one two…"
    assert shorten_line("one two three", 5) == "one…"


def test_a_line_may_be_cut_between_words_only():
    assert shorten_between_words("one\n two", 7) == "one two"
    assert shorten_between_words("one two three", 11) == "one two…"
    assert shorten_between_words("unbroken", 5) == "unbr…"


def test_the_first_words_end_with_an_ellipsis_that_counts_as_one():
    assert keep_first_words("one two three", 3) == "one two three"
    assert keep_first_words("one two three", 2) == "one …"
    assert keep_first_words("one two three", 0) == ""


def test_two_ends_are_never_longer_than_allowed():
    assert replace_middle_by_ellipsis("short", 5) == "short"
    assert replace_middle_by_ellipsis("a" * 50 + "b" * 50, 13) == "aaaaa … bbbbb"
    assert all(len(replace_middle_by_ellipsis("a" * 50, most)) <= most for most in range(60))


def test_both_ends_say_how_much_is_missing():
    assert keep_ends_and_note_gap("short", 10) == "short"
    noted = keep_ends_and_note_gap("a" * 50 + "b" * 50, 30)
    assert noted == f"{'a' * 20} [… 70 characters left out …] {'b' * 10}"

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.text.statements import MAX_STATEMENT_CHARACTERS, is_bare_question, split_statements

LETTERS = st.text("abcdefghij éüß漢字仮名", min_size=1, max_size=12)
SENTENCES = st.builds(
    lambda words, stop: " ".join(words) + stop,
    st.lists(LETTERS, min_size=1, max_size=20),
    st.sampled_from([".", "!", "?", "。", ":", "", " — ", "\n", "\n\n- ", "\n# "]),
)
PROSE = st.lists(SENTENCES, max_size=40).map("\n".join)
FENCED = "```python\n" + "\n".join(f"    value_{at} = compute({at})" for at in range(40)) + "\n```"


def without_blanks(text):
    return "".join(text.split())


# Where a text may be cut


@pytest.mark.parametrize(
    "text",
    ["We use pnpm.", "One. Two. Three.", "def f():\n    return 1", "x" * MAX_STATEMENT_CHARACTERS],
)
def test_a_short_text_is_one_statement(text):
    assert split_statements(f"  {text}\n"[: MAX_STATEMENT_CHARACTERS + 2]) == [text]


@pytest.mark.parametrize("text", ["", " \n\t ", " " * 2 * MAX_STATEMENT_CHARACTERS])
def test_a_blank_text_has_no_statements(text):
    assert split_statements(text) == []


def test_a_long_text_is_cut_between_sentences_a_few_at_a_time():
    sentences = [f"Sentence number {at} tells something of its own." for at in range(40)]
    statements = split_statements(" ".join(sentences))
    assert " ".join(statements) == " ".join(sentences)
    assert all(statement.startswith("Sentence") and statement.endswith("own.") for statement in statements)
    assert all(
        MAX_STATEMENT_CHARACTERS / 2 < len(statement) <= MAX_STATEMENT_CHARACTERS
        for statement in statements[:-1]
    )


def test_a_block_of_code_is_cut_between_its_lines():
    statements = split_statements(f"Before the code.\n\n{FENCED}\n\nAfter the code.")
    assert statements[0] == "Before the code."
    assert statements[-1].endswith("After the code.")
    whole = "\n".join(statements)
    assert all(f"    value_{at} = compute({at})" in whole.splitlines() for at in range(40))
    assert 3 <= len(statements) <= 7


def test_blank_lines_of_code_are_left_out():
    statements = split_statements(FENCED.replace("\n", "\n\n   \n"))
    assert "\n".join(statements) == FENCED


def test_of_a_line_that_is_too_long_the_beginning_is_kept():
    statements = split_statements("First, a sentence.\n\n" + "word " * 500 + "\n\nLast, another one.")
    first, *others = statements
    assert first == "First, a sentence."
    assert others[0] == ("word " * 500)[:MAX_STATEMENT_CHARACTERS]
    assert others[-1].endswith("Last, another one.")


def test_chinese_is_cut_at_its_own_stops():
    text = "我们用Postgres存数据，因为它支持JSON。" * 30
    statements = split_statements(text)
    assert len(statements) > 2
    assert all(statement.endswith("。") for statement in statements)
    assert without_blanks("".join(statements)) == text


@given(PROSE)
def test_nothing_but_white_space_is_lost(text):
    long_lines = any(len(line) > MAX_STATEMENT_CHARACTERS for line in text.splitlines())
    kept = without_blanks("".join(split_statements(text)))
    assert long_lines or kept == without_blanks(text)


@given(st.one_of(PROSE, st.text(max_size=3 * MAX_STATEMENT_CHARACTERS), st.just(FENCED * 3)))
def test_no_statement_is_empty_or_too_long(text):
    statements = split_statements(text)
    assert all(statement.strip() for statement in statements)
    assert all(len(statement) <= MAX_STATEMENT_CHARACTERS for statement in statements)
    assert bool(statements) == bool(text.strip())


# Whether it states anything


@pytest.mark.parametrize(
    "text",
    [
        "Where do I put credentials?",
        "what's the port?  ",
        "Is it Postgres? Or is it MySQL?",
        "Why does it fail? See below.",
        "Where is the config? Thanks a lot!",
        "Thanks. Where is the config?",
        'Did she really ask "why?"',
        "Is it done (or is it not?)",
        "我们用哪个数据库？",
        "データベースはどれですか？",
        "どれですか？教えて。",
        "هل هذا صحيح؟",
        "?",
    ],
)
def test_a_question_states_nothing(text):
    assert is_bare_question(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        "use pnpm",
        "Yes.",
        "Which port? 5432.",
        "Is the limit gone? It is 30 now.",
        "Which database? We chose Postgres over MySQL.",
        "Can you fix it? The build fails since the upgrade.",
        "I asked why? and nobody knew what to say.",
        "我们用哪个数据库？用的是Postgres数据库。",
        "ポートは？5432です。",
        "データベースはどれですか？私たちはPostgresを使います。",
        "The regex is a?b",
    ],
)
def test_what_says_something_does(text):
    assert not is_bare_question(text)

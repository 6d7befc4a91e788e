from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foreword.knowledge.sentences import sentences, weighed


def texts(text):
    return [sentence.text for sentence in sentences({0: text})]


def test_sentences_end_where_they_end():
    assert texts("Mr. White called. He asked, e.g. about v1.2! Really? Yes.") == [
        "Mr. White called.",
        "He asked, e.g. about v1.2!",
        "Really?",
        "Yes.",
    ]
    assert texts("重试上限是五次。端口是8081。") == ["重试上限是五次。", "端口是8081。"]


def test_decoration_and_code_are_left_out():
    text = "## Result\n- **Fixed** `backoff()` in __init__.py\n1. done\n\n| a | b |\n|---|---|\n> quoted\n"
    text += "```py\nx = 1\n```\nend\n~~~\nnever closed"
    assert texts(text) == ["Result", "Fixed `backoff()` in __init__.py", "done", "a | b |", "quoted", "end"]


def test_of_a_very_long_turn_both_ends_are_read():
    read = " ".join(texts("First thing. " + "Middle words here. " * 5_000 + "Last thing."))
    assert read.startswith("First thing.")
    assert read.endswith("Last thing.")
    assert len(read) < 3_000


def test_what_other_turns_speak_of_weighs_more():
    said = weighed(
        sentences(
            {
                0: "The checkout retry is flaky again on the build server.",
                1: "Lovely weather over the harbour this splendid morning.",
                2: "A retry of the checkout waits too long on the build server.",
            }
        )
    )
    assert min(said, key=said.get).turn == 1


def test_a_long_conversation_is_looked_at_closely_only_where_it_counts():
    turns = {at: f"Step {at} of the checkout retry went as planned today." for at in range(2_000)}
    said = weighed(sentences(turns))
    assert len(said) < 500
    assert {sentence.turn for sentence in said} >= {0, 1_999}


@given(st.dictionaries(st.integers(0, 5), st.text()))
def test_any_text_is_read(turns):
    for sentence in weighed(sentences(turns)):
        assert sentence.text
        assert sentence.turn in turns

"""How conversations are read sentence by sentence, and what each sentence weighs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.knowledge.sentence_weights import (
    MAX_SHARED_TURNS,
    ConversationWeights,
    asks_for_fact,
    find_weightiest_sentences,
    read_sentences_of_turns,
    read_turn_sentences,
    weigh_importance,
)
from foreword.types import Turn

# Reading and weighing


def read_texts(text):
    return [sentence.text for sentence in read_sentences_of_turns({0: text})]


def test_sentences_end_where_they_end():
    assert read_texts("Mr. White called. He asked, e.g. about v1.2! Really? Yes.") == [
        "Mr. White called.",
        "He asked, e.g. about v1.2!",
        "Really?",
        "Yes.",
    ]
    assert read_texts("重试上限是五次。端口是8081。") == ["重试上限是五次。", "端口是8081。"]


def test_decoration_and_code_are_left_out():
    text = "## Result\n- **Fixed** `backoff()` in __init__.py\n1. done\n\n| a | b |\n|---|---|\n> quoted\n"
    text += "```py\nx = 1\n```\nend\n~~~\nnever closed"
    assert read_texts(text) == [
        "Result",
        "Fixed `backoff()` in __init__.py",
        "done",
        "a | b |",
        "quoted",
        "end",
    ]


def test_of_a_very_long_turn_both_ends_are_read():
    read = " ".join(read_texts("First thing. " + "Middle words here. " * 5_000 + "Last thing."))
    assert read.startswith("First thing.")
    assert read.endswith("Last thing.")
    assert len(read) < 3_000


def test_what_other_turns_speak_of_weighs_more():
    said = find_weightiest_sentences(
        read_sentences_of_turns(
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
    said = find_weightiest_sentences(read_sentences_of_turns(turns))
    assert len(said) < 500
    assert {sentence.turn for sentence in said} >= {0, 1_999}


@given(st.dictionaries(st.integers(0, 5), st.text()))
def test_any_text_is_read(turns):
    for sentence in find_weightiest_sentences(read_sentences_of_turns(turns)):
        assert sentence.text
        assert sentence.turn in turns


# Importance

CHAT = "I went for a walk and the weather was nice."


def only_sentence(text):
    (sentence,) = read_turn_sentences(text, 0)
    return sentence


def importance(text):
    return weigh_importance(only_sentence(text))


@pytest.mark.parametrize(
    "text",
    [
        "We settled on the red one.",
        "The fee is 18 euros.",
        "Ask Hedwig for the keys.",
        "I am allergic to nuts.",
        "Nobody may deploy from a train.",
        "Correction: it is the other door.",
        "Please don't book with them.",
        "We raised the fee to twenty.",
    ],
)
def test_what_matters_weighs_more_than_chat(text):
    assert importance(text) > importance(CHAT) == 0.0


def test_a_dated_decision_about_somebody_weighs_most():
    dated = importance("We agreed that Hedwig leaves on 3 May.")
    assert (
        dated > importance("We agreed that she leaves soon.") > importance("Hedwig leaves soon, says Oskar.")
    )


def test_a_name_that_only_calls_somebody_does_not_count():
    assert importance("That is really nice, Melanie!") == 0.0
    assert importance("Hey Melanie, that is really nice.") == 0.0


def test_a_weekday_is_no_name():
    assert importance("The museum is closed on Mondays.") == 0.0


def test_what_is_felt_weighs_less_than_what_is_so():
    assert importance("I love that Hedwig sings!") < importance("I hear that Hedwig sings.")


def test_the_longer_a_sentence_the_less_each_word_matters():
    short = "We agreed on Oslo."
    assert importance(short) > importance(short[:-1] + " after all that talk" * 6 + ".")


def test_a_question_is_about_something_when_it_asks_who_or_when_and_has_words_of_its_own():
    assert asks_for_fact(only_sentence("Who signs the security review?"))
    assert not asks_for_fact(only_sentence("Who is it?"))
    assert not asks_for_fact(only_sentence("Lovely museum garden, isn't it?"))


# Turn by turn

SAID = [
    "The checkout retry is flaky again. Why?",
    "The checkout waits for the clock.",
    "I will cap the retry at 50 ms.",
    "Thanks!",
    "",
    "Shall we drain the queue on shutdown?",
    "The retry, the checkout and the clock: all of them wait.",
]
turns = st.builds(
    Turn,
    st.sampled_from(SAID),
    name=st.sampled_from(["Ann", "Bob"]),
    speech_act=st.sampled_from([None, "decision", "thanks"]),
)


def conversation(*turns):
    read = ConversationWeights(lambda text: read_turn_sentences(text, 0))
    read.update(turns)
    return read


def weights(*turns):
    return {sentence.text: weight for sentence, weight in conversation(*turns).weigh()}


@given(st.lists(st.lists(turns, max_size=60), min_size=1, max_size=5))
def test_a_conversation_that_was_updated_weighs_what_one_read_afresh_weighs(versions):
    updated = conversation()
    for version in versions:
        updated.update(version)
        afresh = conversation(*version)
        assert updated.turns == version
        assert updated.weigh() == afresh.weigh()
        assert updated.important_sentences() == afresh.important_sentences()
        assert updated.unusual_sentences() == afresh.unusual_sentences()


def test_a_word_that_many_turns_share_weighs_no_more_with_another():
    many = [Turn("The checkout waits."), *[Turn(f"Checkout {n}x.") for n in range(MAX_SHARED_TURNS)]]
    before, after = weights(*many), weights(*many, Turn("Checkout again."))
    assert before["The checkout waits."] == after["The checkout waits."]
    assert weights(*many[:3])["The checkout waits."] < before["The checkout waits."]


def test_a_promise_and_a_decision_weigh_more_than_a_statement():
    plain = weights(Turn("The museum moves the opening."))["The museum moves the opening."]
    decided = weights(Turn("The museum moves the opening.", speech_act="decision"))
    assert decided["The museum moves the opening."] > plain
    assert weights(Turn("We will move the opening."))["We will move the opening."] > plain


def test_thanks_weigh_less_than_a_statement():
    said = "The museum was kind to wait."
    assert weights(Turn(said, speech_act="thanks"))[said] < weights(Turn(said))[said]


def test_a_question_weighs_more_while_it_is_open():
    asked = Turn("Shall we drain the queue?", name="Ann")
    question = asked.text
    alone = weights(asked)[question]
    assert weights(asked, Turn("Which queue?", name="Bob"))[question] >= alone
    assert weights(asked, Turn("On shutdown, I mean.", name="Ann"))[question] == alone
    assert weights(asked, Turn("Yes.", name="Bob"))[question] < alone


def test_of_a_long_conversation_the_heaviest_sentences_and_both_ends_are_given():
    many = [Turn(f"Step {n} of the checkout went as planned.") for n in range(2_000)]
    weighed = [sentence.turn for sentence, _ in conversation(*many, Turn("Bye.")).weigh()]
    assert weighed == sorted(weighed)
    assert len(weighed) < 400
    assert {0, 2_000} <= set(weighed)


CHATTER = [Turn(f"The tram to the castle is {how} today.") for how in ("slow", "full", "late", "old") * 12]


def important(*turns):
    return {sentence.text for sentence, _ in conversation(*turns).important_sentences()}


def test_a_long_conversation_keeps_what_was_said_once_and_matters():
    kept = important(*CHATTER[:20], Turn("We agreed on the Hotel Lisboa."), *CHATTER[20:])
    assert kept == {"We agreed on the Hotel Lisboa."}


def test_in_a_short_conversation_nothing_is_kept_apart_from_its_weight():
    assert important(Turn("We agreed on the Hotel Lisboa."), *CHATTER[:20]) == set()


def test_the_speech_act_of_a_turn_counts_in_any_language():
    decided = Turn("Tomamos el coche rojo.", speech_act="decision")
    assert important(*CHATTER, decided) == {"Tomamos el coche rojo."}
    assert important(*CHATTER, Turn("Tomamos el coche rojo.")) == set()


def test_a_question_matters_until_somebody_comes_back_to_it():
    asked = Turn("Who signs the security review?")
    assert important(*CHATTER, asked, Turn("Let me think.")) == {"Who signs the security review?"}
    assert important(*CHATTER, asked, Turn("The review is theirs to sign.")) == set()


def test_what_shares_least_with_a_long_conversation_is_found():
    unusual = conversation(*CHATTER * 8, Turn("Gluten gives people a rash.")).unusual_sentences()
    assert "Gluten gives people a rash." in {sentence.text for sentence, _ in unusual}

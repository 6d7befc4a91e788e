from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foreword.knowledge.sentences import MOST_SPREAD, sentences_of
from foreword.knowledge.talk import Talk
from foreword.types import Turn

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


def talk():
    return Talk(lambda text: sentences_of(text, 0))


def weights(*said):
    one = talk()
    one.follow(said)
    return {sentence.text: weight for sentence, weight in one.weighed()}


@given(st.lists(st.lists(turns, max_size=60), min_size=1, max_size=5))
def test_a_talk_that_was_followed_weighs_what_one_read_afresh_weighs(courses):
    followed = talk()
    for course in courses:
        followed.follow(course)
        afresh = talk()
        afresh.follow(course)
        assert followed.turns == course
        assert followed.weighed() == afresh.weighed()
        assert followed.settled() == afresh.settled()
        assert followed.apart() == afresh.apart()
        assert followed.speakers == afresh.speakers


def test_a_word_that_many_turns_share_weighs_no_more_with_another():
    many = [Turn("The checkout waits."), *[Turn(f"Checkout {n}x.") for n in range(MOST_SPREAD)]]
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


def test_of_a_long_talk_the_heaviest_sentences_and_both_ends_are_given():
    many = [Turn(f"Step {n} of the checkout went as planned.") for n in range(2_000)]
    one = talk()
    one.follow([*many, Turn("Bye.")])
    given = [sentence.turn for sentence, _ in one.weighed()]
    assert given == sorted(given)
    assert len(given) < 400
    assert {0, 2_000} <= set(given)


CHATTER = [Turn(f"The tram to the castle is {how} today.") for how in ("slow", "full", "late", "old") * 12]


def settled(*said):
    one = talk()
    one.follow(said)
    return {sentence.text for sentence, _ in one.settled()}


def test_a_long_talk_keeps_what_was_said_once_and_matters():
    kept = settled(*CHATTER[:20], Turn("We agreed on the Hotel Lisboa."), *CHATTER[20:])
    assert kept == {"We agreed on the Hotel Lisboa."}


def test_of_a_short_talk_the_words_tell_what_it_is_about():
    assert settled(Turn("We agreed on the Hotel Lisboa."), *CHATTER[:20]) == set()


def test_what_a_turn_is_said_to_do_counts_in_any_language():
    decided = Turn("Tomamos el coche rojo.", speech_act="decision")
    assert settled(*CHATTER, decided) == {"Tomamos el coche rojo."}
    assert settled(*CHATTER, Turn("Tomamos el coche rojo.")) == set()


def test_a_question_matters_until_somebody_comes_back_to_it():
    asked = Turn("Who signs the security review?")
    assert settled(*CHATTER, asked, Turn("Let me think.")) == {"Who signs the security review?"}
    assert settled(*CHATTER, asked, Turn("The review is theirs to sign.")) == set()


def test_what_shares_least_with_a_long_talk_is_known_as_such():
    one = talk()
    one.follow([*CHATTER * 8, Turn("Gluten gives people a rash.")])
    assert "Gluten gives people a rash." in {sentence.text for sentence, _ in one.apart()}

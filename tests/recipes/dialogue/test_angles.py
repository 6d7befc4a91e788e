"""A question, understood from the talk that it stands in."""

from __future__ import annotations

import pytest

from foreword.recipes.dialogue.angles import (
    QuestionVector,
    probability_of_follow_up,
    search_angles_for_question,
)
from foreword.spaces.bundled import BundledEmbeddingProvider
from foreword.spaces.dense import DenseSpace
from foreword.types import Turn

TALK = [
    Turn("My new drill does nothing at all."),
    Turn("Which one is it?", role="assistant"),
    Turn("The Bora 12."),
    Turn("Then its safety switch has to be set back.", role="assistant"),
]


def test_the_first_message_of_a_talk_stands_alone():
    assert search_angles_for_question("How do I charge the drill?", []) == (
        ("How do I charge the drill?", 1.0),
    )


def test_a_follow_up_is_asked_alone_after_the_last_exchange_and_after_the_last_two():
    alone, exchange, two = search_angles_for_question("How do I set it back?", TALK)
    assert alone.text == "How do I set it back?"
    assert exchange.text == "The Bora 12.\nThen its safety switch has to be set back.\nHow do I set it back?"
    assert two.text.startswith("My new drill does nothing at all.\nWhich one is it?\nThe Bora 12.")
    assert alone.weight + exchange.weight + two.weight == pytest.approx(1)
    assert exchange.weight == two.weight


def test_the_fewer_words_of_its_own_a_question_has_the_more_it_leans_on_the_talk():
    asked = ("why?", "how do I set that?", "how do I set that switch?", "how do I clean the drill's fan?")
    leaning = [probability_of_follow_up(question) for question in asked]
    assert leaning == sorted(leaning, reverse=True)
    assert probability_of_follow_up("and the battery?") > probability_of_follow_up("the battery?")


def test_a_question_that_says_all_of_itself_is_asked_alone_only():
    question = "How long does shipping a grinder disc to northern Norway usually take in winter?"
    assert search_angles_for_question(question, TALK) == ((question, 1.0),)


@pytest.mark.parametrize("message", ["sounds fair", "ok!", "thank you so much", "haha, he will be glad"])
def test_a_message_that_neither_asks_nor_answers_is_not_completed(message):
    assert search_angles_for_question(message, TALK) == ((message, 1.0),)


def test_an_answer_to_the_assistants_question_goes_on_with_what_the_user_wants():
    alone, exchange = (angle.text for angle in search_angles_for_question("the small one", TALK[:2]))
    assert alone == "the small one"
    assert exchange == "My new drill does nothing at all.\nWhich one is it?\nthe small one"


def test_what_tools_print_is_no_talk_and_a_long_turn_stands_there_by_its_end():
    long = Turn("Well. " * 200 + "Set the switch back.", role="assistant")
    printed = Turn('{"status": "ok"}', role="tool")
    exchange = search_angles_for_question("How?", [*TALK, long, printed])[-1].text
    assert '{"status"' not in exchange
    assert exchange.endswith("Set the switch back.\nHow?")
    assert len(exchange) < 400


def test_what_is_asked_inside_a_pasted_log_stands_first():
    log = "\n".join(f"10:{minute:02d}:00 INFO pump {minute} ml" for minute in range(60))
    (angle,) = search_angles_for_question(f"{log}\nwhy does it stop at ten\n{log}", [])
    assert angle.text.startswith("why does it stop at ten\n")


# By meaning ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def embed():
    space = DenseSpace(BundledEmbeddingProvider())
    return lambda question: QuestionVector(space.digest, space.embed_question(question))


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of Peru?",
        "Do you repair coffee machines?",
        "Who runs the shop?",
        "opening hours at easter",
        "Tell me something funny about dogs.",
    ],
)
def test_a_short_question_that_says_all_of_itself_leans_little(embed, question):
    assert probability_of_follow_up(question, embed(question)) < 0.35


@pytest.mark.parametrize(
    "question",
    [
        "and the day after?",
        "why is that?",
        "does it hurt?",
        "which of them is cheaper",
        "what if I already did this",
    ],
)
def test_a_question_that_points_back_leans_on_the_talk(embed, question):
    assert probability_of_follow_up(question, embed(question)) > 0.5


def test_a_vector_is_only_asked_for_where_there_is_talk_to_lean_on(embed):
    def refuse(question: str) -> QuestionVector:
        raise AssertionError(question)

    assert search_angles_for_question("Do you sell helmets?", [], refuse) == (("Do you sell helmets?", 1.0),)
    alone = search_angles_for_question("Who is the manager?", TALK, embed)[0]
    assert alone.text == "Who is the manager?"
    assert alone.weight > 0.6


def test_vectors_of_another_encoder_say_nothing(embed):
    question = "Do you repair coffee machines?"
    foreign = QuestionVector("b2:another", embed(question).vector)
    assert probability_of_follow_up(question, foreign) == probability_of_follow_up(question)

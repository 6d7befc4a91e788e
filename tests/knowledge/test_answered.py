from __future__ import annotations

import pytest

from foreword.knowledge.answered import answers_question

WHEN = "When does the bakery open?"


def test_what_an_assistant_replies_answers():
    assert answers_question(WHEN, "At nine.", by_assistant=True)
    assert answers_question("Who should sign?", "The contract names its director.", by_assistant=True)


@pytest.mark.parametrize(
    "reply",
    [
        *(
            "I don't know.",
            "I'm not sure yet.",
            "Let me check that.",
            "I'll ask and get back to you.",
            "Noted.",
        ),
        *("It has not been decided.", "Das weiß ich nicht.", "Okay, noted for later.", ""),
    ],
)
def test_who_does_not_know_or_puts_it_off_does_not_answer(reply):
    assert not answers_question(WHEN, reply, by_assistant=True)


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        (WHEN, "My cousin says that they open the doors around nine."),
        (WHEN, "At nine."),
        ("Who will drive us to the airport?", "I think my brother can, or maybe Tom if he is back."),
        ("Should we invite the whole team?", "Yes, the more of them come the better it will be."),
    ],
)
def test_a_person_answers_with_what_was_asked_for(question, reply):
    assert answers_question(question, reply, by_assistant=False)


def test_a_person_who_speaks_of_something_else_does_not_answer():
    said = "by the way, the cat was ill again and slept all day"
    assert not answers_question(WHEN, said, by_assistant=False)

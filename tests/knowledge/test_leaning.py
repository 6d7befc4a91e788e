from __future__ import annotations

import pytest

from foreword.knowledge.leaning import depends_on_previous_sentence, is_about_unnamed_person


@pytest.mark.parametrize(
    "sentence",
    [
        *("She works at Bosch.", "And she works at Bosch.", "Its price is 5 euros.", "They moved to Ulm."),
        *("I told him about the deadline.", "Yesterday he left.", "If it fails, call Tom."),
        *(
            "This costs 5 euros.",
            "Otherwise we cancel.",
            "Both are open on Sundays.",
            "The latter is cheaper.",
        ),
        *("Er arbeitet bei Bosch.", "Das ist teuer.", "Elle habite à Lyon.", "Ella trabaja en Bosch."),
    ],
)
def test_a_sentence_that_means_what_was_named_before_leans_on_it(sentence):
    assert depends_on_previous_sentence(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        *("Anna Becker is my neighbour.", "Petra said she comes at nine.", "My boss thinks he is right."),
        *(
            "This week we go to Ulm.",
            "The deadline is Friday.",
            "There are five keys.",
            "Then I call the museum.",
        ),
        *("Das Haus ist rot.", "Everybody brought their keys.", ""),
    ],
)
def test_a_sentence_that_names_what_it_means_stands_alone(sentence):
    assert not depends_on_previous_sentence(sentence)


def test_only_a_pronoun_for_a_person_means_somebody():
    assert is_about_unnamed_person("She works at Bosch.")
    assert not is_about_unnamed_person("It is raining.")

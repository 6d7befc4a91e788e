"""What several sources say is said once; what differs in what matters is never taken for the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foreword.compose.assembled import ContextItem
from foreword.recipes.assembled.twins import find_twins

SOURCES = st.sampled_from(("memory", "experience", "value", "commit", "document"))
DAYS = st.sampled_from(("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"))
NAMES = st.sampled_from(("Ana", "Anna", "Hanna", "Mara", "Maria", "Marie", "Tom", "Tim", "Jon", "John"))
SENTENCES = (
    "Seats are held for {number} minutes while somebody pays by invoice.",
    "The release {number} of the shop went out to every customer.",
    "{name} reviews every change to the payment code before it is merged.",
    "Deploys of the shop happen on {day} evening, after the last booking.",
    "On {day} {name} moved {number} tables of the shop to the new host.",
)


def twins_of(*pairs):
    items = [ContextItem(source, text, relevance) for source, text, relevance in pairs]
    return find_twins(items, [text for _, text, _ in pairs])


FACTS = st.fixed_dictionaries({"number": st.integers(0, 99_999), "name": NAMES, "day": DAYS})


@given(st.sampled_from(SENTENCES), FACTS, FACTS, SOURCES, SOURCES)
def test_different_days_names_and_numbers_are_never_the_same(sentence, facts, other_facts, one, other):
    text, other_text = sentence.format(**facts), sentence.format(**other_facts)
    found = twins_of((one, text, 0.9), (other, other_text, 0.5))
    assert bool(found) == (text == other_text)


@given(
    st.sampled_from(SENTENCES), FACTS, st.lists(st.tuples(SOURCES, st.floats(0, 1)), min_size=2, max_size=6)
)
def test_of_all_that_say_the_same_the_most_relevant_is_kept(sentence, facts, told):
    text = sentence.format(**facts)
    found = twins_of(*((source, text, relevance) for source, relevance in told))
    (kept,) = set(range(len(told))) - found.keys()
    assert told[kept][1] == max(relevance for _, relevance in told)
    assert set(found.values()) == {kept}


@given(st.sampled_from(SENTENCES), FACTS, st.floats(0, 1), st.floats(0, 1))
def test_a_commit_and_code_are_two_things_whatever_they_say(sentence, facts, relevance, other):
    text = sentence.format(**facts)
    assert twins_of(("code", text, relevance), ("commit", text, other)) == {}

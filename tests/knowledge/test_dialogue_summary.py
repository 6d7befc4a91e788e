from __future__ import annotations

import random
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.knowledge.dialogue_summary import (
    ExtractiveSummarizer,
    drop_openers,
)
from foreword.knowledge.sentence_weights import read_turn_sentences
from foreword.testing import WordTokens
from foreword.text.tokens import CharacterTokenizer, TiktokenTokenizer, WordTokenizer
from foreword.types import ROLES, BesideSummary, Replacement, Turn

MUSEUM = [
    Turn("Hi Bob! How are you?", name="Ann"),
    Turn("Fine, thanks.", name="Bob"),
    Turn("Well, I need to move the museum opening to Friday because the heating broke.", name="Ann"),
    Turn("The heating? Then I want you to call the museum director about Friday.", name="Bob"),
]
turns = st.builds(
    Turn,
    st.text(max_size=120)
    | st.sampled_from(["I will cap the retry.", "Why does it fail? It's the clock.", "重试上限是五次。"]),
    st.sampled_from(ROLES),
    name=st.sampled_from(["", "Ann", "Bob"]),
)


@pytest.fixture
def extractive():
    return ExtractiveSummarizer(WordTokens())


# What is told


def test_a_conversation_is_told_by_sentences_as_they_were_said(extractive):
    told = extractive.summarize(MUSEUM, 40)
    assert "I need to move the museum opening to Friday because the heating broke." in told
    assert "Then I want you to call the museum director about Friday." in told
    assert "How are you" not in told


TRIP = [
    Turn("We could go to Lyon or to Genoa in May.", name="Ann"),
    Turn("The train to Genoa takes nine hours.", name="Bob"),
    Turn("We decided to go to Lyon, the train leaves at nine.", name="Ann"),
    Turn("Sorry, I meant ten.", name="Ann"),
    Turn("Who books the hotel in Lyon for us?", name="Bob"),
]


def test_what_was_decided_comes_first_then_what_is_open(extractive):
    first, second, *rest = extractive.summarize(TRIP, 60).split("\n")
    assert first.startswith("Decided: Ann: We decided to go to Lyon")
    assert second == "Open: Bob: Who books the hotel in Lyon for us?"
    assert "Bob: The train to Genoa takes nine hours." in rest


def test_what_was_corrected_is_told_as_corrected(extractive):
    told = extractive.summarize(TRIP, 60)
    assert "the train leaves at nine. (corrected: Sorry, I meant ten.)" in told


def test_a_question_that_was_answered_is_not_open(extractive):
    talk = [*TRIP, Turn("I book the hotel in Lyon today.", name="Ann")]
    assert "Open:" not in extractive.summarize(talk, 80)


@given(st.lists(turns, max_size=12), st.integers(5, 80))
def test_nothing_is_said_that_nobody_said(said, room):
    """Every sentence of a summary stands in a turn, but for its first letter."""
    spoken = " ".join(" ".join(turn.text.split()) for turn in said).casefold()
    for line in ExtractiveSummarizer(CharacterTokenizer()).summarize(said, room).split("\n"):
        plain = line.removeprefix("Decided: ").removeprefix("Open: ")
        words = plain.partition(": ")[2].split(" (corrected")[0].rstrip("…").split()
        assert all(word.casefold() in spoken for word in words)


def test_roles_are_names_where_there_are_none(extractive):
    told = extractive.summarize(
        [Turn("I need the museum report by Friday."), Turn("I will send the museum report.", "assistant")], 40
    )
    assert told == "User: I need the museum report by Friday.\nAssistant: I will send the museum report."


def test_a_corrected_text_is_told_instead_of_the_raw_one(extractive):
    told = extractive.summarize([Turn("Teh museum opens.", corrected_text="The museum opens Friday.")], 20)
    assert told == "User: The museum opens Friday."


FACTS = [
    "I decided we leave from Hamburg on 3 May.",
    "My budget is 2,300 euros for everything.",
    "I am diabetic, so meals matter.",
    "The rental car is booked: confirmation QX7731.",
    "We will skip Sintra after all.",
    "Gluten gives Theo a rash.",
]


def chatter(count):
    """Talk that goes on about the same few things."""
    drawn = random.Random(5)
    things = ["the tram", "the castle", "the market", "the river", "the museum", "the beach", "the bridge"]
    ways = ["lovely", "crowded", "cheap", "famous", "noisy", "quiet", "overrated", "steep"]
    return [
        Turn(f"I think {drawn.choice(things)} is {drawn.choice(ways)}, and {drawn.choice(things)} too.")
        for _ in range(count)
    ]


@pytest.mark.parametrize("count", [60, 200, 400, 1_000])
def test_what_was_decided_once_is_told_however_long_the_talk_is(extractive, count):
    said = chatter(count)
    for place, fact in enumerate(FACTS):
        said.insert((place + 1) * count // 8, Turn(fact))
    told = extractive.summarize(said, 250)
    assert [
        key for key in ("3 May", "2,300", "diabetic", "QX7731", "Sintra", "Theo") if key not in told
    ] == []


def test_what_a_long_talk_is_about_is_told_beside_what_it_settled(extractive):
    said = [*chatter(300), *(Turn(f"We agreed on the Hotel Number{n} for {n} nights.") for n in range(2, 60))]
    told = extractive.summarize(said, 200)
    assert "We agreed on the Hotel" in told
    assert any(thing in told for thing in ("tram", "castle", "market", "river", "museum", "beach", "bridge"))


def test_room_that_is_left_goes_to_what_nobody_else_mentioned(extractive):
    said = [*chatter(500), Turn("Blue paint dries within minutes outdoors.")]
    assert "Blue paint dries within minutes outdoors." in extractive.summarize([*said, *chatter(30)], 400)


def test_another_language_is_left_in_its_words(extractive):
    said = [Turn("I ragazzi aprono il museo venerdì.", name="Anna")]
    assert extractive.summarize(said, 20) == "Anna: I ragazzi aprono il museo venerdì."


def test_what_tools_and_systems_said_is_not_put_into_anybodys_mouth(extractive):
    page = Turn("The museum opening moves to evil.example instead, we decided.", "tool")
    rules = Turn("Always answer politely about the museum opening.", "system")
    assert extractive.summarize([rules, *MUSEUM, page], 60) == extractive.summarize(MUSEUM, 60)
    assert "evil.example" in extractive.summarize([page], 60)


def test_small_talk_gives_way_to_what_was_settled(extractive):
    talk = [Turn("Lovely weather today, the sun is out.", name="Ann") for _ in range(1)]
    talk += [Turn("Let's use Postgres for orders.", name="Bob", speech_act="decision")]
    talk += [Turn("Orders in Postgres it is.", name="Ann", speech_act="agreement")]
    assert "Bob: Let's use Postgres for orders." in extractive.summarize(talk, 7)


@pytest.mark.parametrize("said", [[], [Turn("")], [Turn("...")], [Turn("Hi.")]])
def test_nothing_gives_nothing(extractive, said):
    assert extractive.summarize(said, 50) == ""


@pytest.mark.parametrize("room", [0, -1])
def test_no_room_gives_nothing(extractive, room):
    assert extractive.summarize(MUSEUM, room) == ""


def test_of_a_single_sentence_that_does_not_fit_the_beginning_is_told(extractive):
    said = [Turn("The museum " + "and the gallery " * 50 + "open.", name="Ann")]
    told = extractive.summarize(said, 8)
    assert told == "Ann: The museum and the gallery and the…"


# What was replaced

STRIPE = Turn("We decided to use Stripe for payments.", turn_id="old")
ADYEN = Turn("Payments run on Adyen since March.", turn_id="new")
REPLACED = {"old": Replacement(ADYEN.text)}
NOTHING_BESIDE = BesideSummary()


def summarize_replaced(said, replaced=REPLACED, beside=NOTHING_BESIDE, room=60):
    summarizer = ExtractiveSummarizer(
        WordTokens(), lambda ids: {name: replaced[name] for name in ids if name in replaced}
    )
    return summarizer.summarize_beside(said, room, beside)


def test_what_was_replaced_is_told_with_what_replaced_it_and_that_is_told_once():
    told = summarize_replaced([STRIPE, *chatter(20), ADYEN, *chatter(30)])
    assert f"Decided: User: {STRIPE.text} (corrected: {ADYEN.text})" in told
    assert told.count(ADYEN.text) == 1


def test_what_was_replaced_in_another_conversation_is_told_with_that():
    assert f"(corrected: {ADYEN.text})" in summarize_replaced([STRIPE, *chatter(50)])


def test_what_was_probably_replaced_is_told_with_what_was_said_later():
    doubtful = {"old": Replacement(ADYEN.text, is_sure=False)}
    assert f"{STRIPE.text} (later: {ADYEN.text})" in summarize_replaced([STRIPE, *chatter(50)], doubtful)


def test_what_was_replaced_is_left_out_where_the_prompt_tells_what_replaced_it():
    beside = BesideSummary((ADYEN,), (ADYEN.text,))
    assert "Stripe" not in summarize_replaced([STRIPE, *chatter(50)], beside=beside)


def test_a_reply_that_repeats_what_was_replaced_is_left_out():
    echo = Turn("Great, I will use Stripe for payments.", "assistant")
    assert "Great, I will" not in summarize_replaced([STRIPE, echo, *chatter(10)], room=200)


def test_of_a_turn_only_the_sentence_that_was_replaced_is_told_as_such():
    older = Turn("I work at Bosch in Ulm. Her number is 555-0199.", turn_id="old")
    told = summarize_replaced([older, *chatter(5)], {"old": Replacement("Her number is 555-0177 now.")})
    assert "0199. (corrected: Her number is 555-0177 now.)" in told
    assert "I work at Bosch in Ulm. (corrected" not in told


def test_what_the_speaker_says_was_left_behind_is_told_with_that(extractive):
    switch = Turn("We switched from Stripe to Adyen because of the fees.")
    told = extractive.summarize([STRIPE, *chatter(20), switch, *chatter(30)], 60)
    assert f"{STRIPE.text} (corrected: {switch.text})" in told


def test_a_correction_that_names_whose_value_it_is_corrects_nothing_else():
    bridges = Turn("Sofia has 12 bridges over rivers.", "assistant", turn_id="old")
    wrong = {"old": Replacement("No wait, Petra's number is 555-0177.")}
    assert "corrected" not in summarize_replaced([bridges, *chatter(3)], wrong)


# What cannot stand alone


def test_a_sentence_that_leans_on_another_is_told_with_it_or_not_at_all():
    said = [
        Turn("Dr. Anna Keller is my dentist, her practice is in Lyon Street 4."),
        Turn("Anna Becker is my neighbour. She works at Bosch."),
        *chatter(60),
    ]
    for room in range(8, 120, 3):
        told = ExtractiveSummarizer(WordTokens()).summarize(said, room)
        assert "Bosch" not in told or "Anna Becker is my neighbour. She works at Bosch." in told


def test_a_turn_about_somebody_is_told_with_the_turn_that_names_them():
    said = [Turn("Who is Anna Becker?", "assistant"), Turn("She works at Bosch in Stuttgart."), *chatter(60)]
    for room in range(8, 120, 3):
        told = ExtractiveSummarizer(WordTokens()).summarize(said, room)
        assert "Bosch" not in told or "Anna Becker?\nUser: She works" in told


def test_a_decision_that_leans_on_a_sentence_stands_with_it_under_its_heading(extractive):
    said = [Turn("The Miramar has a pool. It is decided, we will use it for the team."), *MUSEUM]
    told = extractive.summarize(said, 40)
    assert "Decided: User: The Miramar has a pool. It is decided, we will use it for the team." in told


# What stands beside it


def test_what_the_prompt_tells_anyway_is_not_repeated(extractive):
    told = "I need to move the museum opening to Friday because the heating broke."
    beside = BesideSummary((), (f"Well, hello! Well, {told}",))
    assert told in extractive.summarize_beside(MUSEUM, 40, BesideSummary())
    assert told not in extractive.summarize_beside(MUSEUM, 40, beside)


ASKED = Turn("When does the plum bakery open on Sundays?")


@pytest.mark.parametrize("answer", ["The plum bakery opens at nine.", "At nine."])
def test_a_question_that_is_answered_after_the_summarised_turns_is_not_open(extractive, answer):
    said = [*MUSEUM, ASKED]
    since = (Turn(answer, "assistant"), Turn("Thanks!"))
    assert f"Open: User: {ASKED.text}" in extractive.summarize(said, 80)
    told = extractive.summarize_beside(said, 80, BesideSummary(since, tuple(turn.text for turn in since)))
    assert "Open:" not in told


def test_a_question_that_was_put_off_stays_open(extractive):
    since = (Turn("I don't know yet, I will ask.", "assistant"), Turn("Fine."))
    assert f"Open: User: {ASKED.text}" in extractive.summarize_beside([ASKED], 40, BesideSummary(since))


# Its bounds


@pytest.mark.parametrize(
    "counter", [WordTokens(), WordTokenizer(), CharacterTokenizer(), TiktokenTokenizer()]
)
@given(said=st.lists(turns, max_size=12), room=st.integers(-1, 80))
def test_a_summary_keeps_within_its_tokens_and_is_always_the_same(counter, said, room):
    one = ExtractiveSummarizer(counter)
    told = one.summarize(said, room)
    assert counter.count(told) <= max(0, room)
    assert told == one.summarize(said, room) == ExtractiveSummarizer(counter).summarize(said, room)


@given(st.lists(turns, max_size=20), st.data())
def test_a_conversation_that_was_followed_is_told_as_one_read_afresh(said, data):
    followed = ExtractiveSummarizer(WordTokens())
    for _ in range(4):
        length = data.draw(st.integers(0, len(said)))
        afresh = ExtractiveSummarizer(WordTokens())
        assert followed.summarize(said[:length], 40) == afresh.summarize(said[:length], 40)


def test_many_conversations_are_followed_at_once_and_from_many_threads(extractive):
    talks = [[Turn(f"{n}: {turn.text}", name=turn.name) for turn in MUSEUM] for n in range(20)]
    wanted = [ExtractiveSummarizer(WordTokens()).summarize(talk, 40) for talk in talks]
    wrong = []

    def ask(seed):
        order = random.Random(seed).sample(range(20), 20)
        wrong.extend(at for at in order if extractive.summarize(talks[at], 40) != wanted[at])

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
        assert not thread.is_alive(), "a thread still waits for a summary after a minute"
    assert wrong == []


@pytest.mark.slow
def test_one_turn_more_of_a_thousand_is_the_only_one_that_is_read(monkeypatch, count_calls):
    chance = random.Random(7)
    stock = [f"word{n}" for n in range(2_000)] + ["checkout", "retry", "clock", "decided"] * 50
    said = [
        Turn(
            ". ".join(" ".join(chance.choices(stock, k=10)).capitalize() for _ in range(3)) + ".",
            name=("Ann", "Bob")[n % 2],
            turn_id=str(n),
        )
        for n in range(1_020)
    ]
    texts = []

    def read_text(text):
        texts.append(text)
        return tuple(read_turn_sentences(text, 0))

    monkeypatch.setattr("foreword.knowledge.dialogue_summary._sentences_of_text", read_text)
    summarizer = ExtractiveSummarizer(TiktokenTokenizer())
    first = count_calls(summarizer.summarize, said[:1_000], 300)
    assert texts == [turn.text for turn in said[:1_000]]
    texts.clear()
    later = [count_calls(summarizer.summarize, said[:length], 300) for length in range(1_001, 1_021)]
    assert texts == [turn.text for turn in said[1_000:]]
    assert sorted(later)[10] < first / 10


# What says nothing


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Well, yes, I think the port is wrong.", "I think the port is wrong."),
        ("So, we deploy on Tuesday.", "We deploy on Tuesday."),
        ("Thanks for the chicken.", "Thanks for the chicken."),
        ("Oh, right.", "Oh, right."),
    ],
)
def test_openers_go_if_a_sentence_is_left(said, told):
    assert drop_openers(said) == told

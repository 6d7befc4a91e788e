"""A request stands open until it is answered; it is told in the words that say what is lacking."""

from __future__ import annotations

import pytest

from foreword.recall.gaps.asking import ENCODED, LIKELY, SURE, answered, asks, request
from foreword.recall.gaps.listener import weights
from foreword.recall.gaps.state import message_of, messages


def said(*texts, name="dev"):
    told = [{"role": "assistant", "name": name, "content": text} for text in texts]
    return messages({"messages": told}).messages


LACK = "I need clarification on the export: CSV or Parquet?"
DONE = "Added the retries, all tests pass."


def test_a_request_is_told_in_the_words_that_say_what_is_lacking():
    sign = request(said(f"{DONE} {DONE} Nobody has told me which file format the partner bank expects."))
    assert sign.needs == "Nobody has told me which file format the partner bank expects."
    assert (sign.evidence, sign.agent, sign.at) == ("lack_stated", "dev", 0)
    assert request(said(LACK)).evidence == "question_to_peers"


def test_words_too_few_to_look_for_are_told_with_the_whole_message():
    sign = request(said("The export is half done. No idea which format."))
    assert "export" in sign.needs


def test_a_request_is_surer_the_clearer_it_is():
    assert request(said(LACK)).confidence == SURE
    assert {asks(one).confidence for one in said(LACK, "Which port?") if asks(one)} <= {SURE, LIKELY}


def test_whoever_goes_on_needs_no_answer_any_more():
    assert request(said(LACK, DONE)) is None
    asked, went_on = said(LACK, DONE)
    assert answered(asked, [went_on])
    assert not answered(asked, [])


def test_whoever_calls_a_tool_is_looking_for_the_answer():
    calling = {"role": "assistant", "content": LACK, "tool_calls": [{"name": "grep", "args": {}}]}
    assert asks(message_of(calling, 0)) is None


@pytest.mark.parametrize("role", ["user", "system", "tool"])
def test_only_agents_ask(role):
    assert asks(message_of({"role": role, "content": LACK}, 0)) is None


def test_only_the_newest_messages_are_worth_an_encoder():
    shown = []

    def encode(text):
        shown.append(text)
        return [0.0] * len(weights().vector)

    request(said(*["Which branch? `main` or the other one."] * 6), encode)
    assert 0 < len(shown) <= ENCODED

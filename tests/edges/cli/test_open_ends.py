from __future__ import annotations


def test_what_is_open_is_listed_with_source_date_and_id(foreword):
    item = foreword("remember", "Still open: the invoice footer.", "--source", "mara").out.strip()
    foreword("remember", "Deploys happen on Tuesdays.")
    (end,) = foreword("open", "--json").json
    assert (end["id"], end["text"], end["source"]["name"]) == (
        item,
        "Still open: the invoice footer.",
        "mara",
    )
    assert end["created_at"]
    listed = foreword("open")
    assert listed.code == 0
    assert "invoice footer" in listed.out
    assert "mara" in listed.out


def test_one_that_is_closed_by_hand_is_still_remembered(foreword):
    item = foreword("remember", "Someone has to write the runbook.", "--meta", "ticket=LH-7").out.strip()
    closed = foreword("open", "--close", item, "--json").json
    assert closed["metadata"]["ticket"] == "LH-7"
    assert closed["metadata"]["closed"]
    assert foreword("open", "--json").json == []
    assert foreword("search", "runbook", "--json").json[0]["id"] == item


def test_nothing_open_is_said_and_an_unknown_id_refused(foreword):
    ran = foreword("open")
    assert (ran.code, ran.out, ran.err) == (1, "", "foreword: nothing is open\n")
    ran = foreword("open", "--close", "nowhere")
    assert (ran.code, ran.out) == (2, "")
    assert "nowhere" in ran.err


def test_a_context_answers_what_is_left(foreword):
    foreword("remember", "Still open: the invoice footer.")
    foreword("remember", "The footer font is Inter.")
    assert "the invoice footer" in foreword("context", "what's left to do?").out
    assert "Still open" not in foreword("context", "the left column is too wide").out

from __future__ import annotations

import pytest


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


def test_what_was_decided_is_listed_corrected_and_closed(foreword):
    first = foreword("remember", "We deploy on Tuesdays.", "--source", "mara").out.strip()
    foreword("remember", "The footer font is Inter.")
    (line,) = foreword("decisions", "--json").json
    assert (line["id"], line["settles"], line["source"]["name"]) == (first, "rule", "mara")
    corrected = foreword("decisions", "--correct", first[:6], "We deploy on Thursdays.")
    assert "before: We deploy on Tuesdays." in corrected.out
    (line,) = foreword("decisions", "--json").json
    assert [one["id"] for one in line["before"]] == [first]
    assert "before, " in foreword("decisions").out
    foreword("decisions", "--close", line["id"])
    ran = foreword("decisions")
    assert (ran.code, ran.err) == (1, "foreword: nothing was decided\n")


def test_a_decision_can_be_added_and_narrowed(foreword):
    foreword("decisions", "--add", "Amounts are stored in cents.", "--kind", "rule")
    foreword("decisions", "--add", "Ines runs the newsletter.")
    assert [one["settles"] for one in foreword("decisions", "--json").json] == ["decision", "rule"]
    assert [one["text"] for one in foreword("decisions", "--about", "cents", "--json").json] == [
        "Amounts are stored in cents."
    ]
    assert foreword("decisions", "--until", "2020-01-01", "--json").json == []


def test_facts_are_listed_by_attribute(foreword):
    foreword("remember", "Anna's email is anna@contoso.com.")
    item = foreword("remember", "Anna lives in Berlin.").out.strip()
    foreword("facts", "Anna", "--correct", item, "Anna lives in Lyon.")
    facts = foreword("facts", "Anna", "--json").json
    assert {(one["attribute"], one["value"]) for one in facts} == {
        ("email", "anna@contoso.com"),
        ("lives in", "Lyon"),
    }
    assert [len(one["before"]) for one in facts if one["value"] == "Lyon"] == [1]
    assert "lives in: Lyon" in foreword("facts", "Anna").out
    ran = foreword("facts", "Nobody")
    assert (ran.code, ran.err) == (1, "foreword: nothing is known about Nobody\n")


def test_a_dash_reads_a_line_from_stdin(foreword):
    added = foreword("decisions", "--add", "-", stdin=b"Amounts are stored in cents.\n").out.strip()
    assert foreword("show", added, "--json").json["item"]["text"] == "Amounts are stored in cents."
    corrected = foreword("decisions", "--correct", added, "-", stdin=b"Amounts are stored in euros.\n")
    (line,) = foreword("decisions", "--json").json
    assert line["text"] == "Amounts are stored in euros."
    assert corrected.out.startswith(line["id"])


def test_a_beginning_of_any_length_names_a_fact_too(foreword):
    item = foreword("remember", "Anna lives in Paris.").out.strip()
    corrected = foreword("facts", "Anna", "--correct", item[:3], "Anna lives in Lyon.")
    assert "before: Anna lives in Paris." in corrected.out


@pytest.mark.parametrize("command", [("open",), ("decisions",), ("facts", "Anna")])
def test_a_line_is_whole_in_a_narrow_terminal(foreword, monkeypatch, command):
    foreword("remember", "Still open: the invoice footer of the second page.")
    foreword("decisions", "--add", "Amounts are stored in cents of a euro.")
    foreword("remember", "Anna likes the harbour at night.")
    monkeypatch.setenv("COLUMNS", "40")
    lines = foreword(*command).out.splitlines()
    whole = {
        "open": "the invoice footer of the second page.",
        "decisions": "Amounts are stored in cents of a euro.",
        "facts": "Anna likes the harbour at night.",
    }
    assert any(line.endswith(whole[command[0]]) for line in lines)

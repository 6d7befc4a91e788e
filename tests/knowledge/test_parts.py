"""Whether a change of one fact leaves others standing in the same statement."""

from __future__ import annotations

import pytest

from foreword.knowledge.parts import changes_only_part
from foreword.types import Item, Source

SERVERS = "The staging server is called atlas and production is titan. Both run Ubuntu 22.04."

IN_PART = [
    (SERVERS, "the staging server was renamed, it's now orion"),
    (SERVERS, "no, orion"),
    ("Staging is atlas, production is titan.", "staging is orion now"),
    ("The API listens on port 4000 and the admin page on 4001.", "the API listens on port 5000 now"),
    ("Ana owns the parser and Ben owns the lexer.", "Carla owns the parser now."),
    ("Deploys go out on Tuesdays at 14:00 and Jonas signs off.", "we deploy on Thursdays now"),
    ("We deploy on Tuesdays, and Jonas signs off.", "no, Thursdays"),
    ("Backups run at 2 am and are kept for 30 days.", "backups run at 4 am"),
    ("The retry limit is 5, the timeout is 30 s.", "the timeout is 60 s now"),
    ("The office is in Lund; the warehouse is in Kiel.", "we moved the office to Bergen"),
]
AS_A_WHOLE = [
    (SERVERS, "both servers were renamed: orion and hydra"),
    (SERVERS, "scrap that"),
    ("Quotes should expire after 20 minutes.", "no, 15 minutes"),
    ("Quotes should expire after 20 minutes.", "we switched the quote lifetime: 10 minutes from now on"),
    ("Ana and Ben own the parser.", "Carla owns the parser now."),
    ("We deploy on Tuesdays because Ana is in then.", "deploys are on Thursdays now"),
    ("I take ramipril, so no ibuprofen.", "I stopped taking ramipril"),
    ("Slots for staff and students last 30 minutes.", "slots last 20 minutes"),
    ("The backup server is heron-42, the big one in Dublin.", "it is osprey-7 now"),
    ("Please set the timeout to 30 and run the tests.", "set the timeout to 60"),
]


def said(text, trust="user", kind="turn"):
    return Item(text, "w", kind=kind, source=Source(trust, trust))


@pytest.mark.parametrize(("older", "newer"), IN_PART)
def test_a_clause_that_a_change_does_not_speak_of_still_holds(older, newer):
    assert changes_only_part(said(newer), said(older))


@pytest.mark.parametrize(("older", "newer"), AS_A_WHOLE)
def test_what_has_one_fact_or_is_changed_in_all_of_them_is_outdated_as_a_whole(older, newer):
    assert not changes_only_part(said(newer), said(older))


def test_that_the_tests_pass_is_no_further_fact_of_an_agents_report():
    report = said("Done. Quotes now expire after 15 minutes, and the test covers it.", "agent")
    assert not changes_only_part(said("quotes expire after 10 minutes now"), report)


@pytest.mark.parametrize(("trust", "kind"), [("tool", "turn"), ("repository", "commit")])
def test_commits_and_outputs_have_no_parts(trust, kind):
    assert not changes_only_part(said("the staging server is now orion"), said(SERVERS, trust, kind))

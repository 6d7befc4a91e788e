"""Which reports of an agent and its tools have nothing to do with each other."""

from __future__ import annotations

import pytest

from foreword.knowledge.reports import are_about_different_tickets, are_unrelated_reports, is_report
from foreword.types import Item, Source


def agent(text):
    return Item(text, "w", kind="turn", source=Source("agent", "agent"))


def edited(path, text):
    source = Source("tool:Edit", "tool")
    return Item(
        f"Edited {path} (+1 −1 lines)\n{text}", "w", kind="turn", source=source, metadata={"file": path}
    )


@pytest.mark.parametrize(
    "text",
    ["Done. Quotes expire now.", "I wrote them to .env.", "I've also updated the docs.", "Fixed: no retry."],
)
def test_what_an_agent_has_done_is_a_report(text):
    assert is_report(text)


@pytest.mark.parametrize(
    "text", ["The settings are in config.toml.", "Sorry, I meant Lyon.", "It writes to .env."]
)
def test_what_is_so_is_no_report(text):
    assert not is_report(text)


UNRELATED = [
    (agent("I added the entry to CHANGELOG.md."), agent("I updated README.md with the expiry of quotes.")),
    (
        agent("I wrote them to .env, which is git-ignored."),
        agent("Done. Quotes now expire after 15 minutes."),
    ),
    (edited("README.md", "+ 15 minutes"), edited("tests/test_quotes.py", "+ assert expiry == 15")),
    (agent("I updated README.md with the expiry."), edited("src/quotes.py", "+ EXPIRY = 15")),
]
RELATED = [
    (agent("Done. Quotes now expire after 10 minutes."), agent("Done. Quotes now expire after 15 minutes.")),
    (agent("I moved the keys to secrets.toml."), agent("I put the keys into .env.")),
    (edited("src/quotes.py", "+ EXPIRY = 10"), edited("src/quotes.py", "+ EXPIRY = 15")),
    (agent("The settings are in app.toml now."), agent("The settings are in config.toml.")),
]


@pytest.mark.parametrize(("newer", "older"), UNRELATED)
def test_reports_on_different_files_or_things_are_unrelated(newer, older):
    assert are_unrelated_reports(newer, older)


@pytest.mark.parametrize(("newer", "older"), RELATED)
def test_reports_on_the_same_are_related(newer, older):
    assert not are_unrelated_reports(newer, older)


def test_what_a_user_says_is_no_report_of_work():
    told = Item("I added a note to CHANGELOG.md.", "w", kind="turn")
    assert not are_unrelated_reports(told, agent("I updated README.md."))


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        (
            agent("The cause of the double booking: SH-138 dropped the row lock from reserve()."),
            agent("The deadlock of checkout came from locks in another order, cured in SH-112."),
        ),
        (agent("#482 is cured by a longer timeout."), agent("#471 was a timeout of the proxy.")),
    ],
)
def test_what_an_agent_says_of_two_tickets_is_about_two_things(newer, older):
    assert are_about_different_tickets(newer, older)


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        (agent("SH-112 was not cured: sweeps still block."), agent("The deadlock is cured in SH-112.")),
        (agent("The deadlock is no longer part of SH-112, see SH-140."), agent("The deadlock is SH-112.")),
        (agent("The deadlock moved to SH-140."), agent("The deadlock is SH-112.")),
        (agent("The log is in UTF-16."), agent("The log is in UTF-8.")),
        (Item("It is SH-140.", "w", kind="turn"), agent("The deadlock is SH-112.")),
    ],
)
def test_a_common_ticket_a_move_or_a_user_may_replace_what_was_said(newer, older):
    assert not are_about_different_tickets(newer, older)

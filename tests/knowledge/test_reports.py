"""Which reports of an agent and its tools have nothing to do with each other."""

from __future__ import annotations

import pytest

from foreword.knowledge.reports import are_unrelated_reports, is_report
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

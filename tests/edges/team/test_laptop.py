"""A laptop's service beside a team's: events go there, and nothing is lost or said twice when it is away."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from datetime import timedelta

import pytest

from foreword.config import Settings
from foreword.edges.service.responder import HookResponder
from foreword.edges.service.spool import drain_spool
from foreword.edges.service.team_link import TeamAway, TeamLink, remote_as_workspace_name
from foreword.engine.context_engine import ContextEngine
from foreword.errors import ValidationError
from foreword.testing import HashEmbeddings

REMOTE = "https://git.example.org/acme/shop.git"
SHOP = "git.example.org/acme/shop"


@pytest.fixture
def laptop(tmp_path, clock, token_for):
    """A laptop's engine and responder for a team at an address: `laptop(url)`."""
    opened = []

    def connect(url, *workspaces, right="write"):
        settings = Settings(
            home=tmp_path / f"laptop{len(opened)}",
            team_url=url,
            team_token=token_for("mara", *(workspaces or ("git.example.org/acme/*",)), right=right),
        )
        engine = ContextEngine(embedding_provider=HashEmbeddings(), settings=settings, clock=clock)
        responder = HookResponder(engine)
        opened.append((engine, responder))
        return engine, responder

    yield connect
    for engine, responder in opened:
        responder.close()
        engine.close()


@pytest.fixture
def checkout(tmp_path):
    """A folder whose remote is given: `checkout(REMOTE)`."""

    def make(remote, name="checkout"):
        folder = tmp_path / name
        folder.mkdir()
        subprocess.run(["git", "init", "-q", str(folder)], check=True, timeout=120)
        if remote:
            add = ["git", "-C", str(folder), "remote", "add", "origin", remote]
            subprocess.run(add, check=True, timeout=120)
        return folder

    return make


def _event(folder, name, session="s1", **fields):
    body = {"hook_event_name": name, "session_id": session, "cwd": str(folder), **fields}
    return json.dumps(body).encode()


def _prompt(folder, text, session="s1"):
    return _event(folder, "UserPromptSubmit", session, prompt=text)


def _texts(engine, workspace):
    return [item.text for item in engine.store.scan(workspace)]


def test_what_one_machine_hears_another_recalls(team_url, laptop, checkout, clock, engine):
    folder, other = checkout(REMOTE), checkout("git@git.example.org:acme/shop.git", "elsewhere")
    mine, responder = laptop(team_url)
    responder.capture(_prompt(folder, "The staging database is Postgres 16 from now on."), clock.now)
    assert _texts(engine, SHOP) == ["The staging database is Postgres 16 from now on."]
    assert mine.store.workspaces() == []
    clock.now += timedelta(hours=2)
    _, second = laptop(team_url)
    reply = second.answer(_prompt(other, "Which database is staging on?", "s2"), clock.now, 60_000)
    assert b"Postgres 16" in reply.body


def test_what_was_shown_is_not_said_again_and_what_was_not_is(team_url, laptop, checkout, clock, engine):
    folder = checkout(REMOTE)
    _, responder = laptop(team_url)
    engine.remember("The staging database is Postgres 16.", SHOP, type="fact")
    ask = _prompt(folder, "Which database is staging on?")
    lost = responder.answer(ask, clock.now, 60_000)
    responder.note_undelivered(lost)
    shown = responder.answer(ask, clock.now, 60_000)
    assert b"Postgres 16" in shown.body
    responder.note_delivered(shown)
    assert b"Postgres 16" not in responder.answer(ask, clock.now, 60_000).body


@pytest.mark.parametrize("remote", ["", "/srv/git/shop.git", "https://git.example.org/mara/diary.git"])
def test_folders_that_are_not_the_teams_stay_on_this_machine(
    team_url, laptop, checkout, clock, engine, remote
):
    folder = checkout(remote)
    mine, responder = laptop(team_url)
    responder.capture(_prompt(folder, "My diary lies in the blue drawer of the desk."), clock.now)
    assert engine.store.workspaces() == []
    assert _texts(mine, str(folder)) == ["My diary lies in the blue drawer of the desk."]


def test_a_reader_records_nothing(team_url, laptop, checkout, clock, engine):
    _, responder = laptop(team_url, "*", right="read")
    responder.capture(_prompt(checkout(REMOTE), "The staging database is Postgres 16 now."), clock.now)
    assert engine.store.workspaces() == []


def test_while_the_team_is_away_the_copy_answers_and_events_arrive_later_once(
    team_server, laptop, checkout, clock, engine
):
    folder = checkout(REMOTE)
    engine.remember("The staging database is Postgres 16.", SHOP, type="fact")
    with team_server() as url:
        mine, responder = laptop(url)
        responder.capture(_prompt(folder, "Let us look at the deployment of the shop."), clock.now)
        responder.refresh_team_copies()
        assert "The staging database is Postgres 16." in _texts(mine, SHOP)
    ask = _prompt(folder, "Which database is staging on?", "s2")
    assert b"Postgres 16" in responder.answer(ask, clock.now, 60_000).body
    said = _prompt(folder, "We keep receipts for ninety days in production.", "s2")
    with pytest.raises(TeamAway):
        responder.capture(said, clock.now)
    copied = _texts(mine, SHOP)
    responder.store_answered_event(said, clock.now, responder.answer(said, clock.now, 60_000))
    assert _texts(mine, SHOP) == copied  # nothing but the team's service changes the copy
    with team_server() as url:
        again = HookResponder(
            ContextEngine(
                mine.store, settings=_moved(mine.settings, url), embedding_provider=HashEmbeddings()
            )
        )
        for _ in range(2):
            drain_spool(mine.settings.home / "spool", again.capture)
            again.capture(said, clock.now)
        again.close()
    assert _texts(engine, SHOP).count("We keep receipts for ninety days in production.") == 1


def _moved(settings, url):
    return replace(settings, team_url=url)


def test_what_is_forgotten_over_there_leaves_the_copy(team_url, laptop, checkout, clock, engine):
    folder = checkout(REMOTE)
    item = engine.remember("The staging database is Postgres 16.", SHOP, type="fact")
    mine, responder = laptop(team_url)
    responder.answer(_prompt(folder, "Which database is staging on?"), clock.now, 60_000)
    responder.refresh_team_copies()
    assert _texts(mine, SHOP)
    engine.forget(SHOP, item.id)
    responder._team._refreshed_at.clear()
    responder.refresh_team_copies()
    assert _texts(mine, SHOP) == []


def test_a_revoked_token_takes_the_copy_with_it(team_url, laptop, checkout, clock, engine, members):
    folder = checkout(REMOTE)
    engine.remember("The staging database is Postgres 16.", SHOP, type="fact")
    mine, responder = laptop(team_url)
    ask = _prompt(folder, "Which database is staging on?")
    responder.answer(ask, clock.now, 60_000)
    responder.refresh_team_copies()
    assert _texts(mine, SHOP)
    members.revoke("mara")
    assert responder.answer(ask, clock.now, 60_000).body == b""
    with pytest.raises(TeamAway, match="revoked"):
        responder.capture(ask, clock.now)
    responder._team._refreshed_at.clear()
    responder.refresh_team_copies()
    assert _texts(mine, SHOP) == []


def test_a_token_revoked_while_the_laptop_slept_takes_the_copy_with_it(
    team_url, laptop, checkout, clock, engine, members
):
    folder = checkout(REMOTE)
    engine.remember("The staging database is Postgres 16.", SHOP, type="fact")
    mine, responder = laptop(team_url)
    mine.remember("Mine alone.", str(folder))
    responder.answer(_prompt(folder, "Which database is staging on?"), clock.now, 60_000)
    responder.refresh_team_copies()
    assert _texts(mine, SHOP)
    members.revoke("mara")
    again = HookResponder(mine)
    assert again.answer(_prompt(folder, "Which database is it?"), clock.now, 60_000).body == b""
    again.refresh_team_copies()
    again.close()
    assert _texts(mine, SHOP) == []
    assert _texts(mine, str(folder)) == ["Mine alone."]


def test_a_copy_that_a_new_token_does_not_name_is_removed(
    team_url, laptop, checkout, clock, engine, token_for
):
    folder = checkout(REMOTE)
    engine.remember("The staging database is Postgres 16.", SHOP, type="fact")
    mine, responder = laptop(team_url)
    responder.answer(_prompt(folder, "Which database is staging on?"), clock.now, 60_000)
    responder.refresh_team_copies()
    assert _texts(mine, SHOP)
    settings = replace(mine.settings, team_token=token_for("mara", "git.example.org/acme/blog"))
    again = HookResponder(ContextEngine(mine.store, settings=settings, embedding_provider=HashEmbeddings()))
    again.refresh_team_copies()
    again.close()
    assert _texts(mine, SHOP) == []


def test_what_was_replaced_over_there_is_not_said_from_the_copy(team_server, laptop, checkout, clock, engine):
    folder = checkout(REMOTE)
    engine.remember("The staging database is MySQL 8.", SHOP, type="fact")
    with team_server() as url:
        _, responder = laptop(url)
        responder.answer(_prompt(folder, "Let us look at the shop."), clock.now, 60_000)
        responder.refresh_team_copies()
        clock.now += timedelta(days=1)
        engine.remember("The staging database is Postgres 16.", SHOP, type="fact")
        responder._team._refreshed_at.clear()
        responder.refresh_team_copies()
    said = responder.answer(_prompt(folder, "Which database is staging on?", "s2"), clock.now, 60_000).body
    assert b"Postgres 16" in said
    assert b"MySQL" not in said


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://git.example.org/acme/shop.git", SHOP),
        ("https://mara:secret@git.example.org:8443/acme/shop", SHOP),
        ("ssh://git@Git.Example.org/acme/shop.git/", SHOP),
        ("git@git.example.org:acme/shop.git", SHOP),
        ("git.example.org:acme/shop", SHOP),
        ("/srv/git/shop.git", ""),
        ("../shop", ""),
        ("", ""),
    ],
)
def test_a_remote_has_one_name_however_it_is_reached(address, name):
    assert remote_as_workspace_name(address) == name


@pytest.mark.parametrize(
    ("url", "token", "wrong"),
    [
        ("ftp://team.example.org", "t", "team_url"),
        ("http://team.example.org", "t", "https"),
        ("https://team.example.org", "", "team_token"),
    ],
)
def test_settings_that_cannot_work_are_named(url, token, wrong):
    with pytest.raises(ValidationError, match=wrong):
        TeamLink(url, token)


def test_a_service_that_hangs_costs_the_time_it_was_given(tmp_path):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        link = TeamLink(f"http://127.0.0.1:{silent.getsockname()[1]}", "t")
        with pytest.raises(TeamAway):
            link.call("/v1/me", seconds=0.2)
        assert link.has_recently_failed_to_answer

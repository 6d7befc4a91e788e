from __future__ import annotations

import shlex

import pytest


@pytest.mark.parametrize("columns", ["80", "120"])
def test_the_demo_shows_questions_contexts_and_receipts(foreword, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    ran = foreword("demo")
    assert ran.code == 0
    assert "333 items and 40 relations" in ran.out
    assert ran.out.count("of 400 tokens, in ") == 3
    assert ran.out.count("why: ") == 3
    assert "shares ‘" in ran.out
    assert "left out: replaced on 21 October" in " ".join(ran.out.split())
    assert "foreword demo --keep" in ran.out
    assert max(map(len, ran.out.splitlines()[2:])) <= int(columns)
    assert "\x1b" not in ran.out


def test_the_demo_leaves_the_users_data_alone(foreword, home):
    foreword("demo")
    assert not home.exists()


def test_a_kept_demo_can_be_asked(foreword, monkeypatch, tmp_path):
    kept = tmp_path / "kept"
    assert f"FOREWORD_HOME={kept} foreword context -w lighthouse" in foreword("demo", "--keep", str(kept)).out
    assert foreword("demo", "--keep", str(kept)).code == 0
    monkeypatch.setenv("FOREWORD_HOME", str(kept))
    assert foreword("stats", "-w", "lighthouse", "--json").json["items"] == 333
    assert foreword("why", "-w", "lighthouse").code == 0


def test_the_demo_in_json_holds_every_answer(foreword):
    told = foreword("demo", "--json", "-w", "elsewhere").json
    assert told["workspace"] == "elsewhere"
    assert [answer["receipt"]["budget"] for answer in told["answers"]] == [400] * 3
    assert all(answer["milliseconds"] > 0 for answer in told["answers"])


@pytest.fixture
def with_models(foreword, monkeypatch):
    """The command with the models that a user has."""
    monkeypatch.delenv("FOREWORD_EMBEDDING")
    return foreword


@pytest.mark.slow
@pytest.mark.reader
@pytest.mark.tokens
def test_the_demo_and_the_commands_that_it_suggests_bring_answers(with_models, monkeypatch, tmp_path):
    """One test, since its vectors are made once: the second demo finds them in the folder that was kept."""
    kept = tmp_path / "kept"
    shown = with_models("demo", "--keep", str(kept)).out.partition("Ask it yourself:")[2]
    answers = with_models("demo", "--keep", str(kept), "--json").json["answers"]
    timeout, deadlock, owner = (answer["context"] for answer in answers)
    assert "15 minutes of inactivity" in timeout
    assert "locking hold rows in opposite order" in deadlock
    assert "FOR UPDATE SKIP LOCKED" in deadlock
    assert "lighthouse/calendar, lighthouse/reports and lighthouse/notify to Jonas" in owner
    asked, searched, explained = (shlex.split(line)[2:] for line in shown.strip().splitlines()[:3])
    monkeypatch.setenv("FOREWORD_HOME", str(kept))
    assert "lighthouse/calendar, lighthouse/reports and lighthouse/notify to Jonas" in with_models(*asked).out
    (first, *_) = with_models(*searched, "--json").json
    assert first["id"] == "err-deadlock"
    assert "err-deadlock-fix" in [one["item"]["id"] for one in first["related"]]
    assert with_models(*explained).code == 0

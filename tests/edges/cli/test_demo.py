from __future__ import annotations

import pytest


@pytest.mark.parametrize("columns", ["80", "120"])
def test_the_demo_shows_questions_contexts_and_receipts(foreword, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    ran = foreword("demo")
    assert ran.code == 0
    assert "333 items and 40 relations" in ran.out
    assert ran.out.count("of 400 tokens, in ") == 3
    assert ran.out.count("why: ") == 3
    assert "superseded by dec-session-15" in ran.out
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

from __future__ import annotations

import stat

from foreword.capture.pauses import (
    PAUSE_FILE,
    begin_pause,
    end_pauses,
    find_pause,
    read_pauses,
    running_pauses,
)

NOW = 1_800_000_000.0
HOUR = 3600.0


def test_a_pause_covers_its_time_and_nothing_else(home):
    begin_pause(home, NOW, NOW + HOUR)
    found = [bool(find_pause(home, "shop", NOW + hours * HOUR)) for hours in (-0.1, 0, 0.9, 1)]
    assert found == [False, True, True, False]


def test_a_pause_that_was_ended_still_covers_what_was_said_in_it(home):
    begin_pause(home, NOW)
    assert [one.workspace for one in end_pauses(home, NOW + HOUR, "")] == [""]
    assert find_pause(home, "shop", NOW + HOUR / 2)
    assert not find_pause(home, "shop", NOW + 2 * HOUR)
    assert end_pauses(home, NOW + 3 * HOUR, "") == []


def test_a_pause_of_one_workspace_leaves_the_others_alone(home):
    begin_pause(home, NOW, workspace="shop")
    assert find_pause(home, "shop", NOW + 1)
    assert not find_pause(home, "other", NOW + 1)
    assert end_pauses(home, NOW + 2, "other", "") == []
    assert len(running_pauses(home, NOW + 3)) == 1


def test_to_pause_again_changes_the_end(home):
    begin_pause(home, NOW, NOW + HOUR)
    begin_pause(home, NOW + 60)
    assert [one.until for one in running_pauses(home, NOW + 2 * HOUR)] == [None]
    assert find_pause(home, "shop", NOW + 30), "the first part is still a pause"


def test_pauses_long_over_are_let_go(home):
    begin_pause(home, NOW, NOW + HOUR)
    begin_pause(home, NOW + 40 * 24 * HOUR, workspace="shop")
    assert [one.workspace for one in read_pauses(home)] == ["shop"]


def test_a_file_that_cannot_be_read_is_a_pause_until_it_is_written_anew(home):
    begin_pause(home, NOW)
    for damage in ("{", '[{"since": "x"}]', "[1]", '{"a": 1}'):
        (home / PAUSE_FILE).write_text(damage)
        pause = find_pause(home, "shop", NOW)
        assert pause is not None
        assert PAUSE_FILE in pause.describe()
    end_pauses(home, NOW + 1, "")
    assert find_pause(home, "shop", NOW + 2) is None


def test_the_file_is_for_its_owner_alone(home):
    begin_pause(home, NOW)
    assert stat.S_IMODE((home / PAUSE_FILE).stat().st_mode) == 0o600
    assert [path.name for path in home.iterdir()] == [PAUSE_FILE]

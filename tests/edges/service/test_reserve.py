"""A full disk: events go into the reserve, which was made while there was room, and the user is told once."""

from __future__ import annotations

import errno
import json

import pytest

from foreword.edges.shared import spool_files
from foreword.edges.shared.spool_files import fill_spool_reserve, pop_pending_notice, write_to_spool

AT = "1760000000.000000"


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(spool_files, "RESERVE", {4096: 3, 65_536: 1})


def prompt(text):
    return json.dumps({"prompt": text}).encode()


def waiting(home):
    return sorted(json.loads(path.read_bytes())["prompt"] for path in (home / "spool").glob("*.event"))


def test_on_a_full_disk_events_are_kept_in_the_reserve_and_the_user_is_told_once(
    tmp_path, few, small_disk, fill_disk
):
    with small_disk(tmp_path / "disk", 2) as disk:
        home = disk / "home"
        assert fill_spool_reserve(str(home))
        fill_disk(disk)
        notices = [write_to_spool(str(home), AT, prompt(f"said {number}"))[1] for number in range(4)]
        assert waiting(home) == ["said 0", "said 1", "said 2", "said 3"]
        assert "the disk is full" in notices[0]
        assert notices[1:] == ["", "", ""]
        fill_disk(disk)  # what a long file of the reserve had to spare
        with pytest.raises(OSError, match="No space") as raised:
            write_to_spool(str(home), AT, prompt("one too many"))
        assert raised.value.errno == errno.ENOSPC
        assert [bool(pop_pending_notice(str(home))) for _ in range(2)] == [True, False]
        assert not list((home / "spool").glob(".*.tmp"))


def test_when_there_is_room_again_the_reserve_is_made_whole_and_the_next_time_is_told_again(
    tmp_path, few, small_disk, fill_disk
):
    with small_disk(tmp_path / "disk", 2) as disk:
        home = disk / "home"
        fill_spool_reserve(str(home))
        ballast = fill_disk(disk)
        assert write_to_spool(str(home), AT, prompt("first"))[1]
        assert not fill_spool_reserve(str(home))
        ballast.unlink()
        assert fill_spool_reserve(str(home))
        fill_disk(disk)
        assert write_to_spool(str(home), AT, prompt("second"))[1]
        assert waiting(home) == ["first", "second"]


def test_an_event_that_no_file_of_the_reserve_holds_is_refused_and_leaves_the_reserve_alone(
    tmp_path, few, small_disk, fill_disk
):
    with small_disk(tmp_path / "disk", 2) as disk:
        home = disk / "home"
        fill_spool_reserve(str(home))
        fill_disk(disk)
        with pytest.raises(OSError, match="No space"):
            write_to_spool(str(home), AT, prompt("x" * 100_000))
        write_to_spool(str(home), AT, prompt("y" * 30_000))
        assert len(waiting(home)) == 1


def test_the_reserve_is_private_and_takes_room(home, few):
    fill_spool_reserve(str(home))
    folder = home / "spool" / "reserve"
    files = [path.stat() for path in folder.iterdir()]
    assert sum(status.st_blocks * 512 for status in files) >= 3 * 4096 + 65_536
    assert {status.st_mode & 0o777 for status in files} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.fault
def test_the_agents_user_is_told_by_the_hook_and_the_prompt_is_kept(
    tmp_path, few, hook, small_disk, fill_disk, report_fault
):
    """The whole way: a hook without a service on a full disk."""
    with small_disk(tmp_path / "disk", 2) as disk:
        home = disk / "home"
        fill_spool_reserve(str(home))
        (home / "run").mkdir(mode=0o700)
        fill_disk(disk)
        (tmp_path / "home").symlink_to(home)
        first = hook(prompt="said on a full disk", interpreter="/bin/false")
        second = hook(prompt="said again", interpreter="/bin/false")
        assert "the disk is full" in json.loads(first.out)["systemMessage"]
        assert second.out == b""
        assert (first.code, second.code) == (0, 0)
        assert waiting(home) == ["said again", "said on a full disk"]
        report_fault(3, {"fillings": 1}, acknowledged=2)
        (tmp_path / "home").unlink()

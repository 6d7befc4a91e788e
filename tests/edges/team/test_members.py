"""Tokens: made once, kept as hashes, refused as soon as they are revoked or too old."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from foreword.edges.http.team.members import RIGHTS, Members
from foreword.errors import StorageError, UnknownId, ValidationError

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def test_a_token_is_its_members_and_nobody_elses(members):
    member, token = members.add("mara", "write", ("acme/*",))
    assert members.find_member_even_if_refused(token) == member
    other = token[:-1] + ("0" if token[-1] != "0" else "1")
    assert [
        members.find_member_even_if_refused(wrong)
        for wrong in (other, "", "fwt_", token.upper(), token + "\n")
    ] == [None] * 5


def test_the_file_holds_no_token_and_only_its_owner_reads_it(members):
    _, token = members.add("mara", "write", ("acme/*",))
    assert token.rpartition("_")[2] not in members.path.read_text()
    assert stat.S_IMODE(members.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(members.path.parent.stat().st_mode) == 0o700


def test_what_one_process_revokes_another_refuses(members, home):
    member, token = members.add("mara", "write", ("acme/*",))
    assert not members.find_member_even_if_refused(token).reason_to_refuse(NOW)
    Members(home).revoke("mara")
    assert members.find_member_even_if_refused(token).reason_to_refuse(NOW) == "the token was revoked"
    with pytest.raises(UnknownId, match="foreword team list"):
        members.revoke(member.id)


def test_changes_by_many_processes_at_once_are_all_kept(members, home):
    stolen = [members.add(f"thief{n}", "write", ("*",))[1] for n in range(10)]

    def change(number):
        mine = Members(home)  # as in a process of its own
        return mine.revoke(f"thief{number}") if number < 10 else mine.add("mara", "read", ("*",))[1]

    with ThreadPoolExecutor(10) as pool:
        made = list(pool.map(change, sorted(range(20), key=lambda number: number % 10)))
    assert [members.find_member_even_if_refused(token).reason_to_refuse(NOW) for token in stolen] == [
        "the token was revoked"
    ] * 10
    assert all(members.find_member_even_if_refused(token) for token in made if isinstance(token, str))


def test_revoking_by_id_leaves_the_members_other_tokens(members):
    first, _ = members.add("mara", "write", ("acme/*",))
    _, second = members.add("mara", "read", ("acme/*",))
    members.revoke(first.id)
    assert not members.find_member_even_if_refused(second).reason_to_refuse(NOW)


def test_a_token_expires_at_its_time(members):
    member, _ = members.add("mara", "read", ("*",), NOW)
    assert not member.reason_to_refuse(NOW - timedelta(seconds=1))
    assert member.reason_to_refuse(NOW) == "the token has expired"


@pytest.mark.parametrize("right", RIGHTS)
def test_a_right_includes_those_before_it_and_none_after(members, right):
    member, _ = members.add("mara", right, ("acme/*",))
    allowed = [one for one in RIGHTS if member.has_right(one, "acme/shop")]
    assert allowed == list(RIGHTS[: RIGHTS.index(right) + 1])


@pytest.mark.parametrize(
    ("pattern", "workspace", "sees"),
    [
        ("acme/shop", "acme/shop", True),
        ("acme/*", "acme/shop", True),
        ("acme/*", "acme", False),
        ("acme/shop", "acme/shop2", False),
        ("acme/shop", "ACME/shop", False),
        ("*", "anything", True),
        ("acme/*/docs", "acme/shop/docs", True),
        ("acme/shop[12]", "acme/shop[12]", True),
        ("acme/shop[12]", "acme/shop1", False),
        ("acme/shop?", "acme/shops", False),
        ("acme/shop", "acme/shop\n", False),
        ("a*b*c", "a-b-b-c", True),
        ("a*b*c", "a-c-b", False),
        ("ab*ba", "aba", False),
        ("a**b", "ab", True),
        ("*a*a*a*a*a*a*a*a*a*b", "a" * 1000, False),
    ],
)
def test_a_pattern_means_the_workspaces_it_matches_whole(members, pattern, workspace, sees):
    member, _ = members.add("mara", "read", (pattern,))
    assert member.sees(workspace) is sees


@pytest.mark.parametrize("name", ["", " ", "a/b", "a\nb", "x" * 81])
def test_a_name_that_would_spoil_a_line_of_audit_is_refused(members, name):
    with pytest.raises(ValidationError):
        members.add(name, "read", ("*",))


def test_a_member_without_workspaces_is_refused(members):
    with pytest.raises(ValidationError, match="workspaces"):
        members.add("mara", "read", ())


def test_a_damaged_file_is_an_error_and_lets_nobody_in(members):
    _, token = members.add("mara", "write", ("*",))
    members.path.write_text("[{")
    with pytest.raises(StorageError, match="backup"):
        members.find_member_even_if_refused(token)

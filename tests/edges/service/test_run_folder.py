from __future__ import annotations

import json
import os
import stat

import pytest

from foreword.edges.service.loopback import listen_on_loopback
from foreword.edges.service.run_folder import RunFolder
from foreword.errors import ForewordError

ROOT = os.geteuid() == 0


def test_what_is_no_socket_is_not_removed(home):
    run = RunFolder(home)
    assert run.acquire_lock()
    run.socket.write_text("somebody's notes")
    with pytest.raises(ForewordError, match="not a socket; remove it"):
        run.listen_on_socket()
    assert run.socket.read_text() == "somebody's notes"
    run.release_lock()


@pytest.mark.skipif(not ROOT, reason="only root can give a file away")
@pytest.mark.parametrize("name", ["service.sock", ""])
def test_what_belongs_to_another_user_is_refused(home, name):
    run = RunFolder(home)
    assert run.acquire_lock()
    run.release_lock()
    path = home / "run" / name
    if name:
        path.touch()
    os.chown(path, 65534, 65534)
    with pytest.raises(ForewordError, match="another user"):
        run.listen_on_socket() if name and run.acquire_lock() else run.acquire_lock()
    run.release_lock()


def test_the_lock_is_held_by_one_and_names_it(home):
    first, second = RunFolder(home), RunFolder(home)
    assert first.acquire_lock()
    assert not second.acquire_lock()
    assert second.running_pid() == os.getpid()
    first.release_lock()
    assert second.running_pid() is None
    assert second.acquire_lock()
    second.release_lock()


def test_a_socket_that_another_put_in_its_place_stays(home):
    run = RunFolder(home)
    run.acquire_lock()
    listening = run.listen_on_socket()
    assert stat.S_IMODE(run.socket.stat().st_mode) == 0o600
    assert run.owns_socket()
    run.socket.rename(home / "kept")
    other = run.socket
    other.write_text("another's")
    assert not run.owns_socket()
    run.remove_socket_and_address()
    assert other.exists()
    listening.close()
    run.release_lock()


def test_a_token_is_made_once_and_only_its_owner_reads_it(home):
    run = RunFolder(home)
    run.acquire_lock()
    word = run.read_or_create_token()
    assert run.read_or_create_token() == word
    assert len(word) >= 32
    assert stat.S_IMODE(run.token_file.stat().st_mode) == 0o600
    run.token_file.chmod(0o644)  # others may have read it
    assert run.read_or_create_token() != word
    assert stat.S_IMODE(run.token_file.stat().st_mode) == 0o600
    run.release_lock()


def test_the_port_is_told_in_a_file(home):
    run = RunFolder(home)
    run.acquire_lock()
    run.write_http_address(1234)
    assert json.loads(run.http_file.read_text()) == {"port": 1234, "token_file": str(run.token_file)}
    assert stat.S_IMODE(run.http_file.stat().st_mode) == 0o600
    run.remove_socket_and_address()
    assert not run.http_file.exists()
    run.release_lock()


def test_the_next_service_takes_the_same_port_if_it_is_free(home):
    run = RunFolder(home)
    run.acquire_lock()
    assert run.read_last_port() == 0
    with listen_on_loopback() as first:
        port = first.getsockname()[1]
        run.write_http_address(port)
        run.remove_socket_and_address()
        with listen_on_loopback(last_port=run.read_last_port()) as beside:
            assert beside.getsockname()[1] != port
    with listen_on_loopback(last_port=run.read_last_port()) as next_one:
        assert next_one.getsockname()[1] == port
    run.release_lock()

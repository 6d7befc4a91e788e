"""`foreword serve --team` as operators run it: a process with TLS, and `foreword team` beside it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

import httpx
import pytest

from foreword.edges.service.team_link import TeamAway, TeamLink
from foreword.edges.service.team_process import TeamOptions, run_team_service
from foreword.errors import ValidationError

SECONDS = 120


@pytest.fixture
def certificate(tmp_path):
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate")
    return _make_certificate(tmp_path)


def _make_certificate(folder):
    crt, key = folder / "team.crt", folder / "team.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", str(key), "-out", str(crt)],
        check=True, capture_output=True, timeout=SECONDS,
    )  # fmt: skip
    return crt, key


@pytest.fixture
def team_process(home, certificate):
    """A process that serves a team with TLS; gives it and its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    crt, key = certificate
    environment = {**os.environ, "FOREWORD_HOME": str(home), "FOREWORD_EMBEDDING": "none"}
    command = [sys.executable, "-m", "foreword", "serve", "--team", "--port", str(port), "--drain", "0.3"]
    process = subprocess.Popen(
        [*command, "--cert", str(crt), "--key", str(key)],
        env={**environment, "FOREWORD_READER": "none"}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    too_late = threading.Timer(SECONDS, process.kill)
    too_late.start()
    line = process.stderr.readline()
    too_late.cancel()
    assert f"https://127.0.0.1:{port}" in line, line
    yield process, f"https://127.0.0.1:{port}"
    process.kill()
    process.wait(SECONDS)
    process.stderr.close()


def test_a_member_talks_to_it_over_tls_and_it_ends_when_told(team_process, token_for, certificate):
    process, url = team_process
    link = TeamLink(url, token_for("mara", "acme/*"), str(certificate[0]))
    kept = link.call("/v1/remember", {"workspace": "acme/shop", "text": "Deploys are on Tuesdays."})
    found = link.call("/v1/search", {"workspace": "acme/shop", "query": "when are deploys"})
    assert found["results"][0]["memory"]["id"] == kept["id"]
    trusting = ssl.create_default_context(cafile=certificate[0])
    assert httpx.get(f"{url}/ready", verify=trusting, timeout=SECONDS).status_code == 200
    process.send_signal(signal.SIGTERM)
    assert process.wait(SECONDS) == 0
    with pytest.raises(TeamAway):
        link.call("/v1/me", seconds=1)
    link.close()


def test_a_certificate_that_nobody_vouches_for_is_refused_before_the_token_is_sent(team_process, token_for):
    _, url = team_process
    with pytest.raises(TeamAway, match="certificate"):
        TeamLink(url, token_for("mara")).call("/v1/me")


def test_a_renewed_certificate_is_used_once_it_is_told_and_a_broken_one_is_not(
    team_process, token_for, certificate, home
):
    process, url = team_process
    first = certificate[0].read_text()
    certificate[1].write_text("no key")
    process.send_signal(signal.SIGHUP)
    _wait_for_log(home, "was not read again")
    assert _served_certificate(url) == first
    _make_certificate(certificate[0].parent)
    process.send_signal(signal.SIGHUP)
    _wait_for_log(home, "was read again")
    assert _served_certificate(url) == certificate[0].read_text() != first
    link = TeamLink(url, token_for("mara"), str(certificate[0]))
    assert link.call("/v1/me")["name"] == "mara"
    link.close()


def _served_certificate(url):
    host, port = url.removeprefix("https://").split(":")
    return ssl.get_server_certificate((host, int(port)), timeout=SECONDS)


def _wait_for_log(home, words):
    until = time.monotonic() + 20
    while words not in (home / "team" / "service.log").read_text():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_key_with_a_pass_phrase_is_refused_and_nobody_is_asked_for_it(certificate):
    crt, key = certificate
    locked = key.with_name("locked.key")
    lock = ["openssl", "pkey", "-aes256", "-passout", "pass:secret", "-in", str(key), "-out", str(locked)]
    subprocess.run(lock, check=True, capture_output=True, timeout=SECONDS)
    with pytest.raises(ValidationError, match="pass phrase"):
        run_team_service(TeamOptions(certificate=crt, key=locked), None, None, print)


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"host": "0.0.0.0"}, "--cert"),
        ({"certificate": "x"}, "both"),
        ({"certificate": "missing.crt", "key": "missing.key"}, "certificate"),
    ],
)
def test_options_that_would_be_unsafe_or_cannot_work_are_refused(options, wrong):
    with pytest.raises(ValidationError, match=wrong):
        run_team_service(TeamOptions(**options), None, None, print)


def test_tokens_are_made_listed_and_revoked_by_command(foreword):
    made = foreword("team", "add", "mara", "--workspaces", "acme/*", "--for", "90d", "--json").json
    assert made["token"].startswith("fwt_")
    listed = foreword("team", "list")
    assert "mara  write  acme/*" in listed.out
    assert made["token"] not in listed.out
    assert foreword("team", "revoke", "mara").out == "1 token of mara revoked\n"
    assert "revoked" in foreword("team", "list").out
    assert foreword("team", "revoke", "mara").code != 0


def test_the_audit_of_a_service_that_nobody_asked_is_empty(foreword):
    ran = foreword("team", "audit", "--json")
    assert (ran.code, json.loads(ran.out)) == (1, [])

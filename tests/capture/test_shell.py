from __future__ import annotations

import time

import pytest

from foreword.capture.shell import asked_host, command_of, host_in, only_looks


@pytest.mark.parametrize(
    "command",
    [
        *(
            "ls -la",
            "cat a.py | head -20",
            "cd src && rg -n 'a|b;c > d' .",
            "git status",
            "git -C /x log --oneline",
        ),
        *(
            "find . -name '*.py' | xargs grep foo",
            "grep x f 2>/dev/null",
            "sed -n '1,20p' f 2>&1",
            "pytest --version",
        ),
        *(
            "FOO=1 env",
            "echo 'a > b'",
            "timeout 5 tail -f log",
            "make --help",
            "foreword search retries",
            "pwd; ls\nwc f",
        ),
    ],
)
def test_looking_around_is_known(command):
    assert only_looks(command)


@pytest.mark.parametrize(
    "command",
    [
        *(
            "pytest -q",
            "make",
            "echo x > f",
            "cat <<EOF > f\nx\nEOF",
            "sed -i s/a/b/ f",
            "find . -delete",
            "git commit -m x",
        ),
        *(
            "cat $(ls)",
            "ls && rm -rf build",
            "curl https://example.com",
            "cat `ls`",
            "find . -exec rm {} ;",
            "npm test",
        ),
        "ls " + "a" * 5_000,
    ],
)
def test_doing_something_is_known(command):
    assert not only_looks(command)


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ({"command": " make "}, "make"),
        ({"cmd": "make"}, "make"),
        ({"command": ["bash", "-lc", "make all"]}, "make all"),
        ({"command": ["make", "all"]}, "make all"),
        ({"command": None}, ""),
        ({}, ""),
    ],
)
def test_the_command_is_found(given, command):
    assert command_of(given) == command


def test_hosts_are_found_and_broken_addresses_passed_over():
    assert host_in("see http://[half and https://Docs.Example.com:8443/a?b") == "docs.example.com"
    assert host_in("nothing here") == ""
    assert asked_host("curl http://shop.local/x") == ""


def test_a_hostile_command_costs_little():
    start = time.process_time()
    for command in ('"\\' * 1_000, "'" * 2_000, "a=" * 1_000, "sudo " * 400, ">" * 2_000):
        only_looks(command)
    assert time.process_time() - start < 1

"""The operators' files name commands and options that exist."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from foreword.config import Settings
from foreword.edges.cli.main import main

DEPLOY = Path(__file__).parents[3] / "deploy"


def _unit_command():
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str
    unit.read(DEPLOY / "foreword-team.service")
    return unit["Service"]["ExecStart"]


def _compose_command():
    text = (DEPLOY / "compose.yaml").read_text()
    return " ".join(text.split("command: >")[1].split("environment:")[0].split())


@pytest.mark.parametrize("command", [_unit_command(), _compose_command()])
def test_the_command_is_one_that_foreword_understands(command):
    program, name, *options = shlex.split(command)
    assert Path(program).name == "foreword"
    context = main.commands[name].make_context(name, options, resilient_parsing=True)
    assert context.params["is_team"]
    assert context.params["host"] == "0.0.0.0"
    assert context.params["drain"] < 20, "the unit gives 45 seconds for draining and finishing"


def test_what_the_compose_file_mounts_and_names_is_there():
    text = (DEPLOY / "compose.yaml").read_text()
    for path in re.findall(r'"\./([^:"]+):', text):
        assert (DEPLOY / path).exists(), path
    declared = set(re.findall(r"^  (\w+):$", text, re.MULTILINE))
    for kind in ("volumes", "secrets"):
        used = re.findall(rf"^    {kind}: \[(.*)\]$", text, re.MULTILINE)
        names = {one.strip(' "').partition(":")[0] for each in used for one in each.split(",")}
        assert {name for name in names if not name.startswith(".")} <= declared
    assert "POSTGRES_USER" not in text, "the image makes it a superuser: row security does not bind it"
    assert (DEPLOY / "postgres-init.sh").stat().st_mode & 0o111
    for variable in re.findall(r"FOREWORD_(STORE|VECTORS)", text):
        assert hasattr(Settings, variable.lower())


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here to read the unit")
def test_systemd_understands_the_unit(tmp_path):
    unit = tmp_path / "foreword-team.service"
    text = (DEPLOY / "foreword-team.service").read_text()
    unit.write_text(text.replace("/opt/foreword/bin/foreword", sys.executable))
    said = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (said.returncode, said.stdout + said.stderr) == (0, "")

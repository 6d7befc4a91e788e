"""The operators' files name commands and options that exist."""

from __future__ import annotations

import configparser
import shlex
from pathlib import Path

import pytest

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

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

import foreword
from foreword.config import Settings
from foreword.edges.cli.main import main

REPOSITORY = Path(__file__).parent.parent
README = REPOSITORY / "README.md"
PAGES = [README, *sorted((REPOSITORY / "docs").glob("*.md"))]


def _blocks(path, language):
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_python_example_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in _blocks(page, "python"):
        exec(compile(block, str(page), "exec"), {"__name__": "__main__"})
    assert page.read_text().strip(), f"{page} is empty"


@pytest.mark.parametrize("name", sorted(main.commands))
def test_every_command_is_documented_and_helps_with_an_example(name):
    assert f"`foreword {name}" in (REPOSITORY / "docs" / "cli.md").read_text()
    assert "Example" in main.commands[name].help, f"{name} --help has no example"


@pytest.mark.parametrize("setting", [field.name for field in fields(Settings)])
def test_every_setting_is_documented(setting):
    assert f"FOREWORD_{setting.upper()}" in (REPOSITORY / "docs" / "cli.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_readmes_tree_is_the_tree():
    tree = README.read_text().split("```text\n")[-1].split("```")[0]
    named = set(re.findall(r"^ *([\w/.]+?/?) {2,}", tree, re.MULTILINE))
    source = REPOSITORY / "src" / "foreword"
    there = {
        p.name + ("/" if p.is_dir() else "") for p in source.iterdir() if not p.name.startswith(("_", "."))
    }
    assert there - {"py.typed"} <= named, "a file or folder of the package is missing from the README's tree"


def test_the_readme_names_what_is_public():
    for name in set(re.findall(r"from foreword import (.+)", README.read_text())):
        assert all(part.strip() in foreword.__all__ for part in name.split(","))

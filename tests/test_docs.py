from __future__ import annotations

import asyncio
import contextlib
import importlib
import io
import re
from dataclasses import fields
from pathlib import Path

import pytest

import foreword
from foreword import (
    ContextAssembler,
    EngineMemory,
    Experiences,
    InjectionPipeline,
    Session,
    inject_context,
    manage_context_injection,
)
from foreword.assembled import EngineSearcher
from foreword.config import Settings
from foreword.edges.cli.main import main

REPOSITORY = Path(__file__).parent.parent
README = REPOSITORY / "README.md"
DOCS = REPOSITORY / "docs"
PAGES = [README, *sorted(DOCS.glob("*.md"))]

MEASURES = re.compile(r"\bp50\b|\bp99\b|NDCG|ROUGE|\bAUC\b|\bF1\b")
"""Words that stand beside measured numbers, and nowhere else."""

GLOSSARY = {
    "workspace", "item", "space", "probe", "hit", "blend",
    "floor", "echo", "receipt", "recipe", "stage", "lane",
}  # fmt: skip


def _blocks(path, language):
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE)


def _rows(text):
    """The rows of the tables in a text, without their heads and rules, each a list of cells."""
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    lines = [line for table in tables for line in table.splitlines()[2:]]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def _numbers(text):
    return re.findall(r"(?<![\w.])\d*[.,]?\d+(?:[.,]\d+)*(?![\w])", text)


def _run(block, page):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, str(page), "exec"), {"__name__": "__main__"})
    return printed.getvalue()


@pytest.mark.reader
@pytest.mark.usefixtures("patient_gap")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_python_example_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in _blocks(page, "python"):
        _run(block, page)
    assert page.read_text().strip(), f"{page} is empty"


@pytest.mark.reader
def test_the_readmes_example_prints_what_the_readme_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (example,), (output,) = _blocks(README, "python"), _blocks(README, "output")
    assert _run(example, README).strip() == output.strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_name_imported_from_the_top_is_public(page):
    for block in _blocks(page, "python"):
        for names in re.findall(r"^ *from foreword import (\([^)]*\)|.+)", block, re.MULTILINE):
            imported = {name.strip() for name in names.strip("()\n").split(",") if name.strip()}
            assert imported <= set(foreword.__all__)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name != "LOG.md"], ids=lambda page: page.name
)
def test_every_file_of_the_package_that_a_page_names_is_there(page):
    """LOG.md is left out: it tells of what is gone."""
    package = REPOSITORY / "src" / "foreword"
    rooms = "|".join(sorted(folder.name for folder in package.iterdir() if folder.is_dir()))
    for name in re.findall(rf"`((?:{rooms})/[\w/.]+)`", page.read_text()):
        assert (package / name).exists(), f"{page.name} names {name}"


@pytest.mark.parametrize("name", sorted(main.commands))
def test_every_command_is_documented_and_helps_with_an_example(name):
    assert f"`foreword {name}" in (DOCS / "cli.md").read_text()
    assert "Example" in (main.commands[name].epilog or ""), f"{name} --help has no example"


@pytest.mark.parametrize("name", sorted(main.commands))
def test_every_option_of_a_command_is_in_its_section(name):
    section = (DOCS / "cli.md").read_text().split(f"## `foreword {name}")[1].split("\n## ")[0]
    commands = [main.commands[name], *getattr(main.commands[name], "commands", {}).values()]
    options = {
        option
        for command in commands
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
        if option.startswith("--")
    }
    assert options - {"--workspace", "--json", "--help"} <= set(re.findall(r"--[a-z][a-z-]*", section))


@pytest.mark.parametrize("setting", [field.name for field in fields(Settings)])
def test_every_setting_is_documented(setting):
    assert f"FOREWORD_{setting.upper()}" in (DOCS / "cli.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_readmes_tree_is_the_tree():
    tree = _blocks(README, "text")[-1]
    entries = re.findall(r"^( *)(\S+(?: \S+)*?)(?: {2,}|$)", tree, re.MULTILINE)
    inside = {name for indent, names in entries if indent for name in names.split(" ")}
    outside = {name for indent, names in entries if not indent for name in names.split(" ")}
    there = {
        path.name + ("/" if path.is_dir() else "")
        for path in (REPOSITORY / "src" / "foreword").iterdir()
        if not path.name.startswith(("_", ".")) and path.name != "py.typed"
    }
    assert inside == there
    assert outside >= {"src/foreword/", "measure/", "tests/", "tools/", "examples/", "docs/"}
    assert all((REPOSITORY / name).is_dir() for name in outside)


def test_the_readmes_numbers_stand_on_the_page_they_come_from():
    """A row of the README's table holds what one row or one paragraph of the page holds, all of it."""
    rows = _rows(README.read_text().split("## Numbers")[1].split("\n## ")[0])
    assert len(rows) >= 8
    for what, measured, command, page in rows:
        (target,) = re.findall(r"\]\(([^)]+)\)", page)
        text = (REPOSITORY / target).read_text()
        assert command.strip("`").split()[0] == "foreword"
        numbers = set(_numbers(measured))
        places = [" | ".join(row) for row in _rows(text)]
        places += [block for block in text.split("\n\n") if not block.startswith("|")]
        assert numbers, f"{what}: nothing was measured"
        assert any(numbers <= set(_numbers(place)) for place in places), (
            f"{what}: {measured} is not in {target}"
        )


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.name not in {"README.md", "quality.md", "speed.md", "LOG.md"}],
    ids=lambda page: page.name,
)
def test_measured_numbers_stand_in_quality_and_speed_alone(page):
    assert not MEASURES.findall(page.read_text()), f"{page.name} repeats a measurement: link to it"


@pytest.mark.usefixtures("patient_gap")
def test_the_architecture_lists_the_stages_of_every_recipe(project, engine):
    coding = InjectionPipeline(
        engine,
        diverges=lambda _query, _session: None,
        last_session=lambda *_: None,
        open_ends=lambda *_: (),
        decisions=lambda *_: (),
        changes=lambda *_: (),
        topics=lambda *_: (),
    )
    assembler = ContextAssembler(EngineSearcher(engine, "shop", Experiences(engine)))
    asks = {"role": "assistant", "content": "I need more information: which database did we choose?"}
    state = {"current_agent": "developer", "messages": [asks]}
    question = "Which database did we choose?"
    made = [
        engine.build_context(question, "shop").receipt,
        coding.generate_context(question, "s", workspace="shop").receipt,
        coding.generate_brief(question, "s", workspace="shop").receipt,
        coding.generate_session_context("s", workspace="shop").receipt,
        inject_context(question, Session(engine, "shop", "s")).receipt,
        asyncio.run(assembler.assemble_context(question, ["memories"])).receipt,
        asyncio.run(assembler.get_premortem_context("debugging")).receipt,
    ]
    filled = asyncio.run(manage_context_injection(state, EngineMemory(engine, "shop")))
    made.append(engine.explain("shop", filled.receipt_id))
    stages = {receipt.recipe: [time.stage for time in receipt.stages] for receipt in made}
    assert stages == _documented_stages()


def _documented_stages():
    text = (DOCS / "architecture.md").read_text().split("## The recipes")[1].split("\n## ")[0]
    search = re.findall(r"\*search above the floor\* stands for (.+)\.", text)[0]
    stages = {}
    for name, _, listed in _rows(text):
        excluded = re.findall(r"\*search above the floor\* \((.+) before read\)", listed)
        above = search.replace("read,", f"{excluded[0]}, read,") if excluded else search
        listed = re.sub(r"\*search above the floor\*( \(.+ before read\))?", above, listed)
        if listed.startswith("the same up to limit_sources, then"):
            listed = stages["coding"].split(", divergence")[0] + ", fit"
        if listed.startswith("the same stages"):
            listed = stages["assembled"]
        stages[re.findall(r"`(\w+)`", name)[0]] = listed
    return {name: listed.split(", ") for name, listed in stages.items()}


@pytest.mark.parametrize("module", ["foreword.gap", "foreword.edges.langgraph"])
def test_every_name_for_graphs_is_on_their_page(module):
    page = (DOCS / "graphs.md").read_text()
    names = importlib.import_module(module).__all__
    assert [name for name in names if not re.search(rf"\b{name}\b", page)] == []


def test_the_glossary_has_twelve_terms():
    glossary = (DOCS / "architecture.md").read_text().split("## Glossary")[1].split("\n## ")[0]
    assert {row[0].strip("*") for row in _rows(glossary)} == GLOSSARY

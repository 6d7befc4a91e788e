"""The arrows: which part of the package may import which. docs/architecture.md draws the same picture."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "src" / "foreword"

BASE = {"types", "errors"}
TOOLS = BASE | {
    "tokens",
    "words",
    "options",
    "report",
    "config",
    "log",
    "question",
    "clean",
    "frame",
    "dialogue",
}
ALLOWED = {
    "types": set(),
    "errors": set(),
    "report": set(),
    "words": set(),
    "log": set(),
    "clean": set(),
    "frame": {"types", "clean"},
    "question": {"words"},
    "workspace": set(),
    "dialogue": set(),
    "tokens": BASE,
    "config": BASE,
    "options": BASE,
    "testing": {"words"},
    "capture": TOOLS,
    "spaces": TOOLS,
    "compose": TOOLS,
    "store": TOOLS,
    "recall": TOOLS | {"store.base", "spaces.base"},
    "knowledge": TOOLS | {"store.base", "spaces.base"},
    "embedder": BASE | {"log", "store.base", "spaces.base"},
    "pipeline": TOOLS | {"recall", "store.base", "spaces.base"},
    "recipes": TOOLS | {"compose", "recall", "knowledge", "pipeline", "store.base"},
    "engine": {"*"},
    "companion": {"*"},
    "views": TOOLS | {"spaces", "knowledge"},
    "reading": TOOLS | {"capture", "views"},
    "readers": TOOLS | {"capture", "reading"},
    "indexer": {"*"},
    "searcher": {"*"},
    "knowledge_base": {"*"},
    "rag": {"*"},
    "session": {"*"},
    "evaluate": {"*"},
    "bench": {"*"},
    "edges": {"*"},
    "demo": {"*"},
}
LEAVES = {
    # Third parties are met in one place each.
    "apsw": {"store"},
    "simsimd": {"store"},
    "onnxruntime": {"spaces"},
    "tokenizers": {"spaces"},
    "tiktoken": {"tokens"},
    "click": {"edges"},
    "platformdirs": {"config"},
    "structlog": {"log"},
    "sklearn": {"knowledge"},
    "tree_sitter": {"capture"},
    "pathspec": {"capture"},
    "pypdf": {"capture"},
    "spacy": {"capture"},
    "langgraph": {"edges"},
    "langchain": {"edges"},
    "langchain_core": {"edges"},
    "agents": {"edges"},
    "pydantic_ai": {"edges"},
    "hyperon": {"edges"},
}


def _modules():
    for path in sorted(ROOT.rglob("*.py")):
        if path.name != "__main__.py" and path != ROOT / "__init__.py":
            yield path


def _part(path):
    relative = path.relative_to(ROOT)
    return relative.parts[0].removesuffix(".py")


def _imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", list(_modules()), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_what_its_layer_may(path):
    part = _part(path)
    for name in _imports(path):
        if name.startswith("foreword."):
            assert _may(part, name.removeprefix("foreword.")), f"{part} must not import {name}"


def _may(part, name):
    top, two = name.partition(".")[0], ".".join(name.split(".")[:2])
    if "*" in ALLOWED[part]:
        return part == "edges" or top != "edges"
    return top == part or top in ALLOWED[part] or two in ALLOWED[part]


@pytest.mark.parametrize("path", list(_modules()), ids=lambda path: str(path.relative_to(ROOT)))
def test_third_parties_are_imported_in_leaf_adapters_only(path):
    for name in _imports(path):
        homes = LEAVES.get(name.partition(".")[0])
        assert homes is None or _part(path) in homes | {"edges", "bench", "evaluate"}, name


def test_no_two_modules_import_each_other():
    graph = {}
    for path in _modules():
        me = "foreword." + ".".join(path.relative_to(ROOT).with_suffix("").parts)
        typing_only = _typing_only(path)
        graph[me] = {name for name in _imports(path) if name not in typing_only}
    for one, names in graph.items():
        for other in names & graph.keys():
            assert one not in graph[other] or one == other, f"{one} and {other} import each other"


def _typing_only(path):
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for inner in ast.walk(node):
                if isinstance(inner, ast.ImportFrom) and inner.module:
                    names.add(inner.module)
                    names.update(f"{inner.module}.{alias.name}" for alias in inner.names)
    return names

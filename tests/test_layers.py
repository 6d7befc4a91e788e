"""The arrows: which part of the package may import which. docs/architecture.md draws the same picture."""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "src" / "foreword"

GROUND = {"types", "errors"}
TOOLS = GROUND | {"text", "options", "config", "log"}
CONTRACTS = {"store.base", "spaces.base", "engine.base"}
MAY_IMPORT = {
    # A room: the other rooms, or single modules of them, that it may import.
    "types": set(),
    "errors": set(),
    "log": {"capture.redact"},
    "text": GROUND,
    "config": GROUND,
    "options": GROUND,
    "testing": {"text", "types"},
    "capture": TOOLS,
    "spaces": TOOLS,
    "compose": TOOLS,
    "store": TOOLS,
    "recall": TOOLS | CONTRACTS,
    "knowledge": TOOLS | CONTRACTS | {"capture.runs"},
    "pipeline": TOOLS | CONTRACTS | {"recall", "compose.fit"},
    "recipes": TOOLS | CONTRACTS | {"capture", "compose", "recall", "knowledge", "pipeline"},
    "engine": TOOLS | {"capture", "compose", "knowledge", "pipeline", "recall", "recipes", "spaces", "store"},
    "indexing": TOOLS | {"capture", "compose", "store.base", "engine"},
    # The documents' names: each module only gathers them from where they live.
    "coding": {"compose", "recall", "recipes"},
    "assembled": {"compose", "errors", "indexing", "knowledge", "recipes", "engine.public_names"},
    "dialogue": {"compose", "indexing", "knowledge", "recipes", "types"},
    "gap": {"recipes"},
    "edges": TOOLS
    | {"testing", "capture", "spaces", "compose", "store", "recall", "knowledge", "pipeline"}
    | {"recipes", "engine", "indexing"},
}
EVERY_EDGE_MAY_IMPORT = {"shared", "hook_client", "message_lists"}
COMPOSES_EDGES = {"cli"}
"""The command line starts the other edges; so do `__main__` modules."""

LEAVES = {
    # Third parties, each met in these modules only.
    "apsw": {"store", "edges.cli.doctor"},
    "simsimd": {"store"},
    "numpy": {"store", "spaces", "knowledge"},
    "onnxruntime": {"spaces"},
    "tokenizers": {"spaces"},
    "sentence_transformers": {"spaces"},
    "fastembed": {"spaces"},
    "tiktoken": {"text"},
    "psycopg": {"store.postgres"},
    "qdrant_client": {"store.qdrant"},
    "rapidfuzz": {"recall", "store", "knowledge"},
    "platformdirs": {"config"},
    "structlog": {"log"},
    "sklearn": {"knowledge"},
    "scipy": {"knowledge"},
    "tree_sitter": {"capture"},
    "pathspec": {"capture"},
    "pypdf": {"capture"},
    "click": {"edges.cli"},
    "rich": {"edges.cli"},
    "pydantic": {"edges.http", "edges.mcp"},
    "pydantic_core": {"edges.http", "edges.mcp"},
    "starlette": {"edges.http", "edges.mcp", "edges.service", "edges.view"},
    "uvicorn": {"edges.service"},
    "httpx2": {"edges.proxy"},
    "anyio": {"edges.http", "edges.mcp", "edges.service", "edges.view"},
    "mcp": {"edges.mcp", "edges.cli"},
    "langgraph": {"edges.langgraph"},
    "langchain": {"edges.langgraph"},
    "langchain_core": {"edges.langgraph"},
    "typing_extensions": {"edges.langgraph"},
    "agents": {"edges.openai_agents"},
    "pydantic_ai": {"edges.pydantic_ai"},
    "hyperon": {"edges.metta"},
}


def _name(path):
    relative = path.relative_to(ROOT.parent).with_suffix("")
    return ".".join(relative.parts).removesuffix(".__init__")


MODULES = {_name(path): path for path in sorted(ROOT.rglob("*.py"))}


@cache
def _imports(module, *, typing_too=True):
    """The names that a module imports; of ours, the module that each comes from."""
    tree = ast.parse(MODULES[module].read_text())
    skipped = set()
    if not typing_too:
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                skipped |= {id(inner) for inner in ast.walk(node)}
    found = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {_module_of(f"{node.module}.{alias.name}", node.module) for alias in node.names}
    return found


def _module_of(name, otherwise):
    return name if name in MODULES else otherwise


def _room(module):
    return module.split(".")[1] if "." in module else ""


def _is_allowed(module, imported):
    mine, other = _room(module), imported.removeprefix("foreword.")
    if not other or imported == "foreword":
        return mine in ("edges", "")
    room = other.split(".")[0]
    if mine in ("", "__main__") or room == mine:
        return True
    allowed = MAY_IMPORT[mine]
    return room in allowed or any(other == one or other.startswith(one + ".") for one in allowed)


def test_every_room_has_its_list():
    assert {_room(module) for module in MODULES} - {"", "__main__"} == set(MAY_IMPORT)


def test_every_module_imports_only_what_its_room_may():
    wrong = [
        f"{module} imports {imported}"
        for module in MODULES
        for imported in sorted(_imports(module))
        if imported.partition(".")[0] == "foreword" and module != "foreword.engine.base"
        if not _is_allowed(module, imported)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_edge_imports_another():
    wrong = []
    for module, path in MODULES.items():
        if _room(module) != "edges" or path.name == "__main__.py" or module == "foreword.edges":
            continue
        mine = module.split(".")[2]
        for imported in sorted(_imports(module)):
            parts = imported.split(".")
            if parts[:2] != ["foreword", "edges"] or len(parts) < 3 or mine in COMPOSES_EDGES:
                continue
            if parts[2] not in EVERY_EDGE_MAY_IMPORT | {mine}:
                wrong.append(f"{module} imports {imported}")
    assert not wrong, "\n".join(wrong)


def test_third_parties_are_imported_in_their_leaves_only():
    wrong = []
    for module in MODULES:
        place = module.removeprefix("foreword.")
        for imported in sorted(_imports(module)):
            package = imported.partition(".")[0]
            if package in sys.stdlib_module_names or package in ("foreword", "foreword_measure"):
                continue
            homes = LEAVES.get("tree_sitter" if package.startswith("tree_sitter") else package)
            assert homes is not None, f"{module} imports {package}, which has no home in LEAVES"
            if not any(place == home or place.startswith(home + ".") for home in homes):
                wrong.append(f"{module} imports {imported}")
    assert not wrong, "\n".join(wrong)


def test_no_modules_import_each_other_however_long_the_way_round():
    graph = {
        module: sorted(one for one in _imports(module, typing_too=False) if one in MODULES and one != module)
        for module in MODULES
    }
    done = set()

    def visit(module, way):
        if module in way:
            pytest.fail(" → ".join([*way[way.index(module) :], module]))
        if module in done:
            return
        for other in graph[module]:
            visit(other, [*way, module])
        done.add(module)

    for module in graph:
        visit(module, [])
    assert done == set(MODULES)

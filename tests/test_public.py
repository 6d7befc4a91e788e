from __future__ import annotations

import ast
import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import foreword
from foreword import errors

ROOT = Path(__file__).parent.parent / "src" / "foreword"
SOURCES = sorted(ROOT.rglob("*.py"))
REFERENCE = ("assembled", "coding", "dialogue", "engine", "errors", "gap")
"""The modules whose docstring is a page of reference."""


@pytest.mark.parametrize("name", foreword.__all__)
def test_every_public_name_can_be_had(name):
    assert getattr(foreword, name) is not None
    assert name in dir(foreword)


def test_the_public_surface_can_be_learned():
    assert len(foreword.__all__) <= 40


def test_type_checkers_see_the_same_names_as_users():
    tree = ast.parse(Path(foreword.__file__).read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    shown = {alias.asname for node in guarded.body for alias in node.names}
    assert shown == set(foreword.__all__) - {"__version__"}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Manager'"):
        _ = foreword.Manager


@pytest.mark.usefixtures("patient_gap")
@pytest.mark.parametrize("name", REFERENCE)
def test_the_example_of_a_reference_page_runs(name):
    outcome = doctest.testmod(importlib.import_module(f"foreword.{name}"), raise_on_error=True)
    assert outcome.attempted


@pytest.mark.parametrize("name", [name for name in REFERENCE if name != "errors"])
def test_a_reference_page_names_everything_that_its_module_gives(name):
    module = importlib.import_module(f"foreword.{name}")
    assert all(getattr(module, public) is not None for public in module.__all__)
    written = set(re.findall(r"\w+", module.__doc__))
    constants = {public for public in module.__all__ if public.isupper()}
    assert set(module.__all__) - written - constants == set()


def test_importing_foreword_imports_nothing_heavy():
    code = "import sys, foreword; print(*sorted(m.partition('.')[0] for m in sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    ).stdout.split()
    assert not {"numpy", "apsw", "onnxruntime", "tiktoken", "tokenizers", "click", "rich", "structlog"} & set(
        loaded
    )


def _error_classes():
    return [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]


@pytest.mark.parametrize("kind", _error_classes(), ids=lambda kind: kind.__name__)
def test_every_error_is_raised_somewhere_and_in_the_tree(kind):
    used = sum(
        kind.__name__ in path.read_text() for path in SOURCES if path.name not in ("errors.py", "__init__.py")
    )
    assert used or kind.__subclasses__(), "an error that nobody raises describes nothing"
    assert issubclass(kind, errors.ForewordError)
    assert kind.__name__ in errors.__doc__


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_says_what_it_is(path):
    assert ast.get_docstring(ast.parse(path.read_text()))


def test_the_version_is_the_distributions():
    from importlib.metadata import version

    assert version("foreword") == foreword.__version__


def test_every_module_can_be_imported_first():
    for path in SOURCES:
        if path.name != "__main__.py":
            relative = path.relative_to(ROOT.parent)
            name = ".".join(relative.with_suffix("").parts).removesuffix(".__init__")
            assert importlib.import_module(name)

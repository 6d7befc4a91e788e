"""The questions about this repository name places that are there."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
QUESTIONS = REPOSITORY / "measure" / "foreword_measure" / "quality" / "code_contexts.jsonl"
ASKED = [json.loads(line) for line in QUESTIONS.read_text().splitlines()]
PLACES = sorted({place for question in ASKED for place in question["places"]})


def names_in(node, prefix=""):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield prefix + child.name
            yield from names_in(child, f"{prefix}{child.name}.")


@pytest.mark.parametrize("place", PLACES)
def test_a_place_that_is_asked_for_is_in_the_source(place):
    path, _, name = place.partition("#")
    assert (REPOSITORY / path).exists()
    assert not name or name in names_in(ast.parse((REPOSITORY / path).read_text()))

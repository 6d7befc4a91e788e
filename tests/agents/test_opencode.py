"""The real opencode, from its prompt through the installed plugin to what the model is sent."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

FACT = "The staging database of the lighthouse project is called heron-42 and stands in Frankfurt."
WORD = "heron-42"
PROMPT = "What is the staging database of the lighthouse project called?"
LATER = "And where does the staging database of the lighthouse project stand?"


def test_the_model_is_told_once_and_what_happens_is_kept(world, opencode):
    world.foreword("remember", FACT)
    world.install("opencode")
    world.serve()
    world.ask_until_told(WORD, opencode, (PROMPT,), ("--continue", LATER))
    assert world.model.texts[-1].count(WORD) == 1
    world.model.command = "echo the tide tables are printed"
    assert "Understood." in opencode("--continue", f"USE_TOOL {LATER}")
    assert PROMPT in world.model.texts[-1]
    assert world.model.texts[-1].count(WORD) == 1
    world.until(
        lambda: any(PROMPT in text for text in world.search_texts(PROMPT)), "the prompt was not stored"
    )


def test_without_a_service_the_prompt_goes_through(world, opencode):
    world.foreword("install", "opencode")
    plugin = world.home / ".config" / "opencode" / "plugin" / "foreword.js"
    plugin.write_text(plugin.read_text().replace("hook_client.py", "gone.py"))
    assert "Understood." in opencode(PROMPT)
    assert PROMPT in world.model.texts[-1]

"""A state is cut into pieces that each say one thing, and know where they stand."""

from __future__ import annotations

from foreword.recipes.gap.detect import find_context_gap
from foreword.recipes.gap.pieces import MAX_PIECE_CHARACTERS, architecture_pieces, sprint_pieces, state_pieces
from foreword.recipes.gap.state import read_messages


def cut(state, of=state_pieces):
    state = {"missing_context": "the ttl", **state}
    return of(find_context_gap(state), state, read_messages(state))


def places(pieces):
    return [piece.place for piece in pieces]


def test_messages_decisions_and_hand_offs_are_pieces_of_the_state():
    pieces = cut(
        {
            "messages": [{"role": "assistant", "name": "pm", "content": "A hold lasts ten minutes."}],
            "decisions": ["Use Postgres.", {"agent": "pm", "decision": "No analytics"}],
            "handoff_context": {
                "recent_messages": ["one", "two"],
                "note": "mind the gap",
                "contexts": ["ours"],
            },
        }
    )
    assert places(pieces) == [
        "messages[0]", "decisions[0]", "decisions[1]", "handoff_context.recent_messages[0]",
        "handoff_context.recent_messages[1]", "handoff_context.note",
    ]  # fmt: skip
    assert pieces[0].metadata == {"role": "agent", "author": "pm"}
    assert pieces[0].kind == "turn"
    assert pieces[2].text == "agent: pm\ndecision: No analytics"


def test_an_answer_comes_with_its_question():
    pieces = cut(
        {
            "messages": [
                {"role": "user", "content": "Hello. Which provider signs people in?"},
                {"role": "assistant", "name": "architect", "content": "Keycloak."},
            ]
        }
    )
    assert pieces[1].text == "Which provider signs people in? Keycloak."


def test_the_message_that_shows_the_gap_does_not_fill_it():
    request = {"role": "assistant", "name": "dev", "content": "missing_context: the ttl of a hold"}
    state = {"messages": [request]}
    gap = find_context_gap(state)
    assert state_pieces(gap, state, read_messages(state)) == []


def test_a_message_that_asked_long_ago_still_counts_as_asking():
    request = {"role": "assistant", "name": "pm", "content": "I need clarification on the ttl."}
    pieces = cut({"messages": [request, {"role": "user", "content": "Ten minutes."}]})
    assert [piece.asks_for_context for piece in pieces] == [True, False]


def test_system_messages_are_instructions_and_no_context():
    assert cut({"messages": [{"role": "system", "content": "The ttl is ten minutes."}]}) == []


def test_a_sprint_is_cut_story_by_story():
    plan = {
        "goal": "Sell tickets",
        "stories": [{"id": 1, "title": "Holds " * 30}, {"id": 2, "title": "Refunds"}],
    }
    pieces = cut({"sprint_plan": plan, "sprint_progress": {"done": 3, "total": 8}}, sprint_pieces)
    assert places(pieces) == [
        "sprint_plan.goal", "sprint_plan.stories[0]", "sprint_plan.stories[1]", "sprint_progress",
    ]  # fmt: skip
    assert {piece.source for piece in pieces} == {"sprint"}
    assert pieces[2].text == "id: 2\ntitle: Refunds"


def test_architecture_is_found_under_any_of_its_names():
    state = {
        "adrs": ["ADR 1: one database"],
        "technical_constraints": ["Python 3.11"],
        "architecture": "hexagons",
    }
    pieces = cut(state, architecture_pieces)
    assert places(pieces) == ["architecture", "adrs[0]", "technical_constraints[0]"]
    assert cut({}, architecture_pieces) == []


def test_a_piece_is_never_too_long_and_odd_values_are_none():
    pieces = cut({"decisions": ["x" * 9999, None, "", 0.5, object()]})
    assert [len(piece.text) for piece in pieces] == [MAX_PIECE_CHARACTERS, 3]

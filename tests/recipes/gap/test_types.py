"""Gaps, contexts, injections and limits: plain values that say what is wrong with them, and go on."""

from __future__ import annotations

import json
import logging
import math
import re
from dataclasses import FrozenInstanceError

import pytest

from foreword.errors import ValidationError
from foreword.recipes.gap.types import (
    DEFAULT_MAX_CONTEXT_ITEMS,
    DEFAULT_MIN_RELEVANCE_SCORE,
    VALID_CONTEXT_SOURCES,
    VALID_GAP_REASONS,
    ContextGap,
    GapSign,
    InjectionConfig,
    InjectionResult,
    RetrievedContext,
    new_gap_id,
)
from foreword.types import Note


def a_gap(**changes):
    given = {
        "gap_id": new_gap_id(),
        "agent": "dev",
        "reason": "explicit_flag",
        "context_query": "which database",
        "confidence": 0.95,
        "indicators": ("flag",),
    }
    return ContextGap(**(given | changes))


def an_injection(**changes):
    given = {
        "gap": a_gap(),
        "contexts_retrieved": (RetrievedContext("memory", "Postgres", 0.9),),
        "injected": True,
        "injection_target": "injected_context",
        "total_context_size": 8,
        "duration_ms": 1.5,
    }
    return InjectionResult(**(given | changes))


def test_the_defaults_are_those_of_the_document():
    config = InjectionConfig()
    assert (config.max_context_items, config.min_relevance_score) == (5, 0.7)
    assert (DEFAULT_MAX_CONTEXT_ITEMS, DEFAULT_MIN_RELEVANCE_SCORE) == (5, 0.7)
    assert config.max_context_size_bytes == 100_000
    assert config.enabled_sources == ("memory", "state")
    assert config.log_injections is True
    assert {"memory", "state", "sprint", "architecture"} == VALID_CONTEXT_SOURCES
    assert len(VALID_GAP_REASONS) == 5


def test_a_gap_is_named_by_twelve_hexadecimal_digits_of_its_own():
    names = {new_gap_id() for _ in range(50)}
    assert len(names) == 50
    assert all(re.fullmatch(r"gap-[0-9a-f]{12}", name) for name in names)


def test_everything_becomes_plain_json():
    sign = GapSign("explicit_flag", 0.95, "state.missing_context", "the ttl")
    injection = an_injection(gap=a_gap(reasons=(sign,), notes=(Note("messages", "one was passed over"),)))
    plain = json.loads(json.dumps(injection.to_dict()))
    assert plain["gap"]["reasons"] == [
        {"reason": "explicit_flag", "confidence": 0.95, "evidence": "state.missing_context"}
    ]
    assert plain["gap"]["notes"] == ["messages: one was passed over"]
    assert plain["contexts_retrieved"][0]["relevance_score"] == 0.9
    assert json.loads(json.dumps(InjectionConfig().to_dict()))["enabled_sources"] == ["memory", "state"]


def test_nothing_that_travels_can_be_changed():
    for one, field in (
        (a_gap(), "agent"),
        (RetrievedContext("state", "x", 0.1), "content"),
        (an_injection(), "injected"),
        (InjectionConfig(), "max_context_items"),
    ):
        with pytest.raises(FrozenInstanceError):
            setattr(one, field, None)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: a_gap(reason="boredom"), "reason"),
        (lambda: a_gap(confidence=1.2), "confidence"),
        (lambda: a_gap(confidence=math.nan), "confidence"),
        (lambda: a_gap(confidence=True), "confidence"),
        (lambda: a_gap(agent=""), "agent"),
        (lambda: a_gap(gap_id=""), "gap_id"),
        (lambda: a_gap(context_query=""), "context_query"),
        (lambda: RetrievedContext("hearsay", "x", 0.5), "source"),
        (lambda: RetrievedContext("memory", "x", -0.1), "relevance_score"),
        (lambda: RetrievedContext("memory", "", 0.5), "content"),
        (lambda: an_injection(contexts_retrieved=()), "contexts_retrieved"),
        (lambda: an_injection(injection_target="elsewhere"), "injection_target"),
        (lambda: an_injection(total_context_size=-1), "total_context_size"),
        (lambda: an_injection(duration_ms=-1.0), "duration_ms"),
        (lambda: InjectionConfig(min_relevance_score=7), "min_relevance_score"),
        (lambda: InjectionConfig(max_context_items=0), "max_context_items"),
        (lambda: InjectionConfig(max_context_size_bytes=-5), "max_context_size_bytes"),
        (lambda: InjectionConfig(enabled_sources=("memory", "dreams")), "enabled_sources"),
    ],
)
def test_a_value_that_makes_no_sense_is_warned_about_and_made_nevertheless(make, field, caplog):
    with caplog.at_level(logging.WARNING, logger="foreword.gap"):
        assert make() is not None
    assert f"field={field}" in caplog.text


@pytest.mark.parametrize(
    "limits",
    [
        {"max_context_items": None},
        {"max_context_items": "5"},
        {"max_context_items": 2.5},
        {"max_context_size_bytes": True},
        {"max_context_tokens": None},
        {"min_relevance_score": math.nan},
        {"min_relevance_score": "0.7"},
        {"min_relevance_score": None},
        {"enabled_sources": "memory"},
    ],
)
def test_limits_that_are_no_numbers_are_refused_where_they_are_written(limits):
    with pytest.raises(ValidationError, match=next(iter(limits))):
        InjectionConfig(**limits)


def test_values_that_make_sense_are_made_in_silence(caplog):
    a_gap(), an_injection(), InjectionConfig(enabled_sources=())
    an_injection(injected=False, contexts_retrieved=())
    assert caplog.text == ""

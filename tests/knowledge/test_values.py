from __future__ import annotations

import builtins
import math
import random
import re

import pytest

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.errors import EmbeddingError, MissingExtra, ValidationError
from foreword.knowledge import values as values_module
from foreword.knowledge.grouping import cosine_distance, find_centre, group_vectors
from foreword.knowledge.values import MIN_CLUSTER_SIZE, MIN_EXPERIENCES, Values, is_value_drawn_from
from foreword.types import Filters, Source

CLOCKS = ["clock", "drift", "container", "synchronised", "time", "jumped", "backwards"]
CACHES = ["stale", "cache", "entry", "invalidation", "key", "expired", "warm"]
LOCKS = ["deadlock", "transaction", "lock", "order", "rows", "waiting", "postgres"]
GROUPS = (CLOCKS, CACHES, LOCKS)


@pytest.fixture
def values(engine):
    return Values(engine)


@pytest.fixture
def lessons(live_experience, embed):
    """Three groups of experiences, each of which failed for reasons of its own."""

    def live():
        dice = random.Random(7)
        groups = [
            [_live_failure(live_experience, words, number, dice) for number in range(8)] for words in GROUPS
        ]
        embed()
        return groups

    return live


def _live_failure(live_experience, words, number, dice):
    def some(most):
        return " ".join(dice.sample(words, most))

    return live_experience(
        "falsified",
        session=f"s{number % 3}",
        goal=f"{some(4)} case {number}",
        hypothesis=some(5),
        root_cause=("oversight", some(4)),
        surprise=some(5),
    )


def lesson_about(words):
    return f"Mind the {' '.join(words)}."


def test_experiences_that_failed_alike_form_a_cluster(values, lessons):
    groups = lessons()
    found = values.clusters("shop", "root_cause")
    assert (found.axis, found.experiences, found.has_enough) == ("root_cause", 24, True)
    assert [cluster.id for cluster in found.clusters] == ["root_cause_0", "root_cause_1", "root_cause_2"]
    members = [set(cluster.members) for cluster in found.clusters]
    assert [len(one & {told.id for told in group}) for one, group in zip(members, groups, strict=True)] == [
        len(one) for one in members
    ]
    assert all(cluster.size >= MIN_CLUSTER_SIZE for cluster in found.clusters)
    assert all(0 < cluster.confidence <= 0.8 for cluster in found.clusters)


def test_members_are_told_the_most_typical_first(values, lessons):
    lessons()
    cluster = values.clusters("shop", "root_cause").clusters[0]
    told = values.members("shop", cluster.id)
    assert [experience.id for experience in told] == list(cluster.members)
    assert all(set(experience.root_cause.description.split()) <= set(CLOCKS) for experience in told)


def test_few_experiences_have_nothing_in_common_yet(values, live_experience, embed, monkeypatch):
    monkeypatch.setattr(values_module, "group_vectors", lambda vectors: pytest.fail("too few to be compared"))
    for _ in range(MIN_EXPERIENCES - 1):
        live_experience("falsified")
    live_experience("confirmed")
    embed()
    found = values.clusters("shop", "root_cause")
    assert (found.experiences, found.has_enough, found.clusters) == (MIN_EXPERIENCES - 1, False, ())
    with pytest.raises(ValidationError, match="none yet"):
        values.members("shop", "root_cause_0")


def test_numbers_stay_when_experiences_are_added(values, lessons, live_experience, embed):
    lessons()
    before = {cluster.id: set(cluster.members) for cluster in values.clusters("shop", "root_cause").clusters}
    live_experience("falsified", root_cause=("oversight", " ".join(LOCKS)), hypothesis=" ".join(LOCKS))
    embed()
    after = {cluster.id: set(cluster.members) for cluster in values.clusters("shop", "root_cause").clusters}
    assert after.keys() == before.keys()
    assert after["root_cause_0"] == before["root_cause_0"]


def test_clusters_are_worked_out_once_until_something_changes(
    values, lessons, live_experience, embed, monkeypatch
):
    lessons()
    worked = []
    honest = values_module.group_vectors
    monkeypatch.setattr(
        values_module, "group_vectors", lambda vectors: worked.append(len(vectors)) or honest(vectors)
    )
    assert values.clusters("shop", "surprise") == values.clusters("shop", "surprise")
    live_experience("falsified")
    embed()
    values.clusters("shop", "surprise")
    assert worked == [24, 25]


def test_a_value_that_speaks_for_its_cluster_is_kept(values, lessons, clock):
    lessons()
    cluster = values.clusters("shop", "root_cause").clusters[0]
    value = values.propose("shop", lesson_about(CLOCKS), cluster.id, Source("mara", "user"), "s9")
    assert (value.kind, value.source.name, value.session, value.created_at) == (
        "value",
        "mara",
        "s9",
        clock(),
    )
    held = value.metadata
    assert (held["axis"], held["cluster_id"], held["cluster_size"]) == (
        "root_cause",
        cluster.id,
        cluster.size,
    )
    assert held["members"] == list(cluster.members)
    assert 0.5 < held["similarity_to_centroid"] <= 1
    assert values.list("shop") == values.list("shop", "root_cause") == [value]
    assert values.list("shop", "surprise") == []


def test_a_value_that_does_not_is_refused_with_the_numbers(engine, values, lessons):
    lessons()
    cluster = values.clusters("shop", "root_cause").clusters[0]
    with pytest.raises(ValidationError, match="too far") as refused:
        values.propose("shop", "Feed the sheep before winter.", cluster.id)
    away, most, mean, deviation = map(float, re.findall(r"\d\.\d+", str(refused.value)))
    assert away > most == pytest.approx(mean + deviation / 2, abs=0.002)
    assert values.list("shop") == []
    assert list(engine.store.scan("shop", Filters(kinds=("value",)))) == []


@pytest.mark.parametrize("cluster", ["root_cause_99", "nonsense_0", "root_cause", "", "strategy_0"])
def test_no_value_without_its_cluster(values, lessons, cluster):
    lessons()
    with pytest.raises(ValidationError):
        values.propose("shop", lesson_about(CLOCKS), cluster)


@pytest.mark.parametrize("cluster", ["foo", "nonsense_0", "root_cause"])
def test_a_name_that_is_no_clusters_is_named_in_the_error(values, cluster):
    with pytest.raises(ValidationError, match=f"no cluster named '{cluster}'.* such as full_0"):
        values.propose("shop", lesson_about(CLOCKS), cluster)


@pytest.mark.parametrize("text", ["", "  ", "x" * 3000, None])
def test_a_value_says_something_short(values, lessons, text):
    lessons()
    with pytest.raises(ValidationError, match="value"):
        values.propose("shop", text, "root_cause_0")


def test_forgetting_a_source_takes_the_values_made_from_it(engine, values, lessons):
    lessons()
    values.propose("shop", lesson_about(CLOCKS), "root_cause_0", Source("mara", "user"))
    engine.forget("shop", source="agent")
    assert values.list("shop") == []


def test_a_value_that_was_replaced_is_not_listed(engine, values, lessons):
    lessons()
    value = values.propose("shop", lesson_about(CLOCKS), "root_cause_0")
    engine.remember("Better said.", "shop", kind="value", supersedes=value.id)
    assert [item.text for item in values.list("shop")] == ["Better said."]


def test_without_an_encoder_there_are_no_clusters(home, clock):
    settings = Settings(home=home, embedding="none")
    with (
        ContextEngine(settings=settings, clock=clock) as engine,
        pytest.raises(EmbeddingError, match="encoder"),
    ):
        Values(engine).clusters("shop")


def test_without_scikit_learn_the_error_says_what_to_install(values, lessons, monkeypatch):
    lessons()
    honest = builtins.__import__

    def without(name, *rest, **more):
        if name.startswith("sklearn"):
            raise ImportError(name)
        return honest(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"foreword\[learn\]"):
        values.clusters("shop", "root_cause")


def test_what_weighs_more_pulls_the_middle():
    east, north = (1.0, 0.0), (0.0, 1.0)
    even = find_centre([east, north], [0.5, 0.5])
    assert even.vector == pytest.approx((math.sqrt(0.5), math.sqrt(0.5)))
    assert even.distances == pytest.approx((1 - math.sqrt(0.5),) * 2)
    pulled = find_centre([east, north], [1.0, 0.2])
    assert pulled.vector[0] > 0.9


def test_what_is_usual_is_told_by_each_against_the_others():
    east, north = (1.0, 0.0), (0.0, 1.0)
    square = find_centre([east, north], [0.5, 0.5])
    assert (square.mean, square.deviation) == pytest.approx((1, 0))
    same = find_centre([east, (2.0, 0.0), east], [1.0, 0.2, 0.8])
    assert (same.mean, same.max_distance) == pytest.approx((0, 0))
    spread = find_centre([east, east, north], [1, 1, 1])
    assert spread.max_distance == pytest.approx(spread.mean + spread.deviation / 2)


def test_distance_looks_at_the_direction_only():
    assert cosine_distance((1, 0), (5, 0)) == pytest.approx(0)
    assert cosine_distance((1, 0), (0, 3)) == pytest.approx(1)
    assert cosine_distance((1, 0), (-2, 0)) == pytest.approx(2)
    assert cosine_distance((1, 0), (0, 0)) == pytest.approx(1)


# What speaks for a value, and what against it


@pytest.fixture
def clock_value(values, lessons):
    lessons()
    return values.propose("shop", lesson_about(CLOCKS), "root_cause_0")


def test_a_wording_is_suggested_in_the_words_of_a_member_and_fits(values, lessons):
    lessons()
    wording = values.suggest("shop", "root_cause_0")
    assert wording in {one.root_cause.description for one in values.members("shop", "root_cause_0")}
    assert values.propose("shop", wording, "root_cause_0").text == wording


def test_a_value_is_kept_with_its_evidence(clock_value, values):
    held = clock_value.metadata
    members = values.members("shop", "root_cause_0")
    assert held["members"] == [one.id for one in members]
    assert held["domains"] == {"debugging": len(members)}
    assert held["supported_by"] == held["contradicted_by"] == []


def test_what_was_about_a_value_and_failed_contradicts_it_and_what_came_true_supports_it(
    clock_value, values, live_experience, clock
):
    clock.advance(hours=1)
    about = {"hypothesis": f"Mind the {' '.join(CLOCKS)}.", "action": "mind them", "prediction": "x"}
    right = live_experience("confirmed", **about)
    (standing,) = values.review("shop")
    assert (standing.supported_by, standing.contradicted_by) == ((right.id,), ())
    assert standing.confidence == clock_value.confidence
    wrong = live_experience("falsified", **about)
    (weaker,) = values.review("shop")
    assert weaker.contradicted_by == (wrong.id,)
    assert weaker.confidence < standing.confidence
    (kept,) = values.list("shop")
    assert (kept.confidence, kept.metadata["contradicted_by"]) == (weaker.confidence, [wrong.id])


def test_what_has_nothing_to_do_with_a_value_leaves_it_as_it_is(clock_value, values, live_experience, clock):
    clock.advance(hours=1)
    live_experience("falsified", hypothesis=" ".join(LOCKS), action="sort the rows", prediction="x")
    (standing,) = values.review("shop")
    assert (standing.supported_by, standing.contradicted_by) == ((), ())
    assert standing.confidence == clock_value.confidence


def test_whoever_knows_better_contradicts_a_value_and_that_stays(clock_value, values, live_experience):
    against = live_experience("falsified", hypothesis="zebras", action="paint them")
    said = values.contradict("shop", clock_value.id, against.id)
    assert said.contradicted_by == (against.id,)
    assert said.confidence < clock_value.confidence
    (standing,) = values.review("shop")
    assert standing.contradicted_by == (against.id,)
    for value, experience in (("nobody", against.id), (clock_value.id, "nobody")):
        with pytest.raises(ValidationError, match="nobody"):
            values.contradict("shop", value, experience)


def test_vectors_without_any_structure_form_no_clusters():
    dice = random.Random(3)
    vectors = [[dice.gauss(0, 1) for _ in range(384)] for _ in range(60)]
    assert len(group_vectors(vectors)) <= 1


def test_of_two_groups_that_are_as_alike_the_larger_is_less_likely_chance():
    dice = random.Random(5)

    def near(direction, count, noise):
        return [[direction[at] + dice.gauss(0, noise) for at in range(64)] for _ in range(count)]

    small, large = ([dice.gauss(0, 1) for _ in range(64)] for _ in range(2))
    others = [[dice.gauss(0, 1) for _ in range(64)] for _ in range(40)]
    sizes = [len(group) for group in group_vectors([*near(small, 3, 0.3), *near(large, 12, 0.9), *others])]
    assert max(sizes) >= 12
    assert 3 not in sizes


def test_a_value_is_tied_to_the_experiences_it_was_drawn_from():
    assert is_value_drawn_from({"members": ["a", "b"]}, ["b"])
    assert not is_value_drawn_from({"members": ["a"]}, ["b"])
    assert not is_value_drawn_from({}, ["b"])

from __future__ import annotations

import pytest

from foreword.config import load_settings
from foreword.engine.context_engine import ContextEngine
from foreword.knowledge.experience import RootCause
from foreword.knowledge.experiences import Experiences
from foreword.testing import HashEmbeddings

START = {
    "--domain": "debugging",
    "--strategy": "read-the-error",
    "--goal": "Log in again.",
    "--hypothesis": "The token expired.",
    "--action": "Renew it.",
    "--prediction": "200 instead of 401.",
}
WHY = ("--surprise", "The clock was ahead.", "--cause", "environment-issue", "--because", "No time sync.")


@pytest.fixture
def start_experience(foreword):
    """Start an experience; gives its id."""

    def start(**changes):
        given = START | {f"--{name}": value for name, value in changes.items()}
        ran = foreword("experience", "start", *(part for pair in given.items() for part in pair))
        assert ran.code == 0, ran.err
        return ran.out.strip()

    return start


@pytest.mark.parametrize("command", ["start", "update", "resolve", "amend", "unexplained", "list"])
def test_every_subcommand_explains_itself_and_ends_with_an_example(foreword, command):
    ran = foreword("experience", command, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert "--workspace" in ran.out
    assert f"foreword experience {command}" in ran.out.partition("Example:")[2]


def test_the_group_lists_its_commands(foreword):
    out = foreword("experience", "--help").out
    assert [line.split()[0] for line in out.partition("Commands:\n")[2].splitlines()[:6]] == [
        "start",
        "update",
        "resolve",
        "amend",
        "unexplained",
        "list",
    ]


def test_dash_reads_any_text_of_an_experience_from_stdin(foreword, start_experience):
    ran = foreword(
        "experience", "resolve", start_experience(), "confirmed", "--result", "-", "--json",
        stdin=b"It answers with 200.\n",
    )  # fmt: skip
    assert ran.json["outcome"]["result"] == "It answers with 200."


def test_an_experience_goes_its_way(foreword, start_experience):
    name = start_experience(session="s1")
    ran = foreword("experience", "update", name, "--hypothesis", "The clock is wrong.")
    assert (ran.code, ran.out.strip()) == (0, name)
    assert "iteration 2" in ran.err
    ran = foreword("experience", "resolve", name, "falsified", "--result", "401 still.", *WHY)
    assert (ran.code, ran.out.strip()) == (0, name)
    assert "falsified, silver" in ran.err
    listed = foreword("experience", "list", "--status", "falsified", "--json").json
    assert [one["id"] for one in listed] == [name]
    assert listed[0]["status"] == "falsified"
    assert listed[0]["root_cause"] == {"category": "environment-issue", "description": "No time sync."}
    assert listed[0]["history"][0]["hypothesis"] == "The token expired."


def test_what_is_shown_to_a_person_has_the_goal_and_the_end(foreword, start_experience):
    name = start_experience(goal="Log in \x1b[31magain.")
    foreword(
        "experience", "resolve", name, "confirmed", "--result", "200 at once.", "--lesson", "Look first."
    )
    out = foreword("experience", "list").out
    assert "Log in again." in out
    assert "200 at once." in out
    assert name in out
    assert "\x1b" not in out


def test_json_answers_with_the_whole_experience(foreword):
    given = [part for pair in START.items() for part in pair]
    begun = foreword("experience", "start", *given, "--json").json
    assert (begun["goal"], begun["status"], begun["outcome"]) == ("Log in again.", "open", None)
    ended = foreword("experience", "resolve", begun["id"], "abandoned", "--result", "No time.", "--json").json
    assert (ended["id"], ended["tier"], ended["outcome"]["status"]) == (begun["id"], "abandoned", "abandoned")


def test_nothing_that_fits_is_exit_code_1(foreword, start_experience):
    assert foreword("experience", "list").code == 1
    start_experience()
    ran = foreword("experience", "list", "--domain", "security")
    assert (ran.code, ran.out) == (1, "")
    assert foreword("experience", "list", "--domain", "security", "--json").json == []


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["start"],
        ["start", "--domain", "cooking"],
        ["update"],
        ["update", "nobody", "--note", "x"],
        ["resolve", "nobody", "confirmed", "--result", "x"],
        ["resolve", "nobody", "solved"],
        ["resolve", "nobody", "falsified", "--cause", "oversight"],
        ["resolve", "nobody", "falsified", "--because", "of that"],
        ["resolve", "nobody", "confirmed", "--takeaway", "x"],
        ["list", "--limit", "0"],
        ["list", "--tier", "wood"],
    ],
)
def test_wrong_usage_is_exit_code_2_and_nothing_on_stdout(foreword, arguments):
    ran = foreword("experience", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err


def test_in_a_session_a_second_one_waits_for_the_first(foreword, start_experience):
    name = start_experience(session="s1")
    given = [part for pair in START.items() for part in pair]
    ran = foreword("experience", "start", *given, "--session", "s1")
    assert (ran.code, ran.out) == (2, "")
    assert name in ran.err
    assert "resolve it first" in ran.err


def test_without_a_session_several_may_be_open_and_that_is_said(foreword, start_experience):
    start_experience()
    given = [part for pair in START.items() for part in pair]
    ran = foreword("experience", "start", *given)
    assert ran.code == 0
    assert "2 experiences without a session are open; see: foreword experience list --status open" in ran.err
    listed = foreword("experience", "list", "--status", "open", "--json").json
    assert ran.out.strip() in {one["id"] for one in listed}
    assert len(listed) == 2


def test_what_is_falsified_needs_its_reasons(foreword, start_experience):
    name = start_experience()
    ran = foreword("experience", "resolve", name, "falsified", "--result", "401 still.")
    assert (ran.code, ran.out) == (2, "")
    assert "surprise" in ran.err


def test_workspaces_are_apart(foreword, start_experience):
    name = start_experience()
    assert foreword("experience", "list", "-w", "elsewhere").code == 1
    assert foreword("experience", "update", name, "--note", "x", "-w", "elsewhere").code == 2


# Values


GROUPS = (
    ["clock", "drift", "container", "synchronised", "time"],
    ["stale", "cache", "entry", "invalidation", "key"],
    ["deadlock", "transaction", "lock", "order", "rows"],
)


@pytest.fixture
def workspace_of_failures(foreword, monkeypatch):
    """A workspace `shop` with eight failures of each of three kinds, and an encoder."""
    monkeypatch.setattr(
        "foreword.engine.context_engine.default_embedding_provider", lambda _settings: HashEmbeddings()
    )
    monkeypatch.delenv("FOREWORD_EMBEDDING")
    with ContextEngine(settings=load_settings()) as engine:
        experiences = Experiences(engine)
        for words in GROUPS:
            for number in range(8):
                told = " ".join(words[: 3 + number % 3])
                begun = experiences.start(
                    "shop",
                    domain="debugging",
                    strategy="read-the-error",
                    goal=f"{told} case {number}",
                    hypothesis=told,
                    action="Look.",
                    prediction="It passes.",
                )
                experiences.resolve(
                    "shop",
                    begun.id,
                    "falsified",
                    "No.",
                    surprise=told,
                    root_cause=RootCause("oversight", told),
                )


@pytest.mark.parametrize("command", ["list", "clusters", "propose"])
def test_every_subcommand_of_values_explains_itself_and_ends_with_an_example(foreword, command):
    ran = foreword("values", command, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert "--workspace" in ran.out
    assert f"foreword values {command}" in ran.out.partition("Example:")[2]


def test_a_value_is_proposed_for_what_experiences_have_in_common(foreword, workspace_of_failures):
    ran = foreword("values", "clusters", "--axis", "root_cause", "-w", "shop")
    assert (ran.code, ran.err) == (0, "")
    assert [line.split()[0] for line in ran.out.splitlines() if not line.startswith(" ")] == [
        "root_cause_0",
        "root_cause_1",
        "root_cause_2",
    ]
    ran = foreword(
        "values", "propose", "root_cause_0", "The clock drift container synchronised.", "-w", "shop"
    )
    assert ran.code == 0, ran.err
    name = ran.out.strip()
    listed = foreword("values", "list", "-w", "shop", "--json").json
    assert [one["id"] for one in listed] == [name]
    assert listed[0]["metadata"]["cluster_id"] == "root_cause_0"
    assert listed[0]["source"]["trust"] == "user"
    shown = foreword("values", "list", "-w", "shop").out
    assert "clock drift container" in shown
    assert "root_cause, from 8 experiences" in shown


def test_a_value_beside_the_point_is_refused_with_its_distance(foreword, workspace_of_failures):
    ran = foreword("values", "propose", "root_cause_0", "Feed the sheep.", "-w", "shop")
    assert (ran.code, ran.out) == (2, "")
    assert "too far from root_cause_0" in ran.err


def test_clusters_in_json_have_their_numbers(foreword, workspace_of_failures):
    found = foreword("values", "clusters", "--axis", "surprise", "-w", "shop", "--json").json
    assert (found["axis"], found["experiences"]) == ("surprise", 24)
    assert all(one["size"] == len(one["members"]) for one in found["clusters"])


def test_few_experiences_are_too_few(foreword, workspace_of_failures):
    ran = foreword("values", "clusters", "-w", "elsewhere")
    assert (ran.code, ran.out) == (1, "")
    assert "clusters need 20" in ran.err


def test_no_value_yet_is_exit_code_1_and_says_what_to_do(foreword):
    ran = foreword("values", "list", "-w", "shop")
    assert (ran.code, ran.out) == (1, "")
    assert "foreword values clusters -w shop" in ran.err


def test_without_an_encoder_there_are_no_clusters(foreword):
    ran = foreword("values", "clusters")
    assert (ran.code, ran.out) == (4, "")
    assert "encoder" in ran.err


@pytest.mark.parametrize("arguments", [[], ["propose"], ["propose", "x"], ["clusters", "--axis", "z"]])
def test_wrong_usage_of_values_is_exit_code_2(foreword, arguments):
    ran = foreword("values", *arguments)
    assert (ran.code, ran.out) == (2, "")


def test_a_verdict_is_amended_with_a_reason_and_taken_back(foreword, start_experience):
    begun = start_experience()
    foreword("experience", "resolve", begun, "confirmed", "--result", "200.", "--no-embed")
    wrong = foreword("experience", "amend", begun, "falsified", "--reason", "It was cached.")
    assert wrong.code != 0
    assert "surprise" in wrong.err
    changed = foreword(
        "experience", "amend", begun, "falsified", "--reason", "It was cached.", *WHY, "--json"
    ).json
    assert (changed["status"], changed["amendments"][0]["reason"]) == ("falsified", "It was cached.")
    assert (
        foreword("experience", "amend", begun, "open", "--reason", "Unclear.", "--json").json["status"]
        == "open"
    )


def test_what_nobody_has_explained_is_listed(foreword, start_experience):
    assert foreword("experience", "unexplained").code == 1
    begun = start_experience()
    with ContextEngine(embedding_provider=HashEmbeddings(), settings=load_settings()) as engine:
        (where,) = engine.store.workspaces()
        Experiences(engine).resolve(where, begun, "falsified", "1 failed", auto_captured=True)
    (found,) = foreword("experience", "unexplained", "--json").json
    assert (found["id"], found["lacks"]) == (begun, ["surprise", "root_cause"])


def test_the_beginning_of_an_id_names_an_experience(foreword, start_experience):
    name = start_experience()
    assert foreword("experience", "update", name[:6], "--note", "Again.").out.strip() == name
    assert foreword("experience", "resolve", name[:6], "confirmed", "--result", "200.").out.strip() == name
    assert foreword("experience", "amend", name[:6], "open", "--reason", "Skipped.").out.strip() == name
    assert foreword("experience", "update", "no-such-id", "--note", "Again.").code == 2

"""Experiences and values: what was tried and what came of it, and what many experiences have in common."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from foreword.capture.redact import redact
from foreword.edges.cli import show
from foreword.edges.cli.common import (
    CliCall,
    OptionValue,
    command,
    command_group,
    limit_option,
    make_vectors,
    no_embed_option,
    open_engine,
    read_argument_or_stdin,
    reopen_without_encoder,
    text_option,
)
from foreword.engine.browsing import Browser
from foreword.knowledge.axes import AXES
from foreword.knowledge.experience import (
    CAUSES,
    DOMAINS,
    OPEN,
    STATUSES,
    STRATEGIES,
    TIERS,
    Cause,
    Experience,
    Lesson,
    RootCause,
)
from foreword.knowledge.experiences import Experiences
from foreword.text.numbers import number_with_noun
from foreword.types import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.knowledge.values import Clustering
    from foreword.types import Item

_USER = Source("user", "user")
_MAX_SHOWN_MEMBERS = 3

_note_option = text_option("--note", default="", metavar="T", help="Anything else worth keeping.")
_domain_type, _strategy_type = click.Choice(DOMAINS), click.Choice(STRATEGIES)

# Experiences ---------------------------------------------------------------------------------------------


@command(
    "start",
    'foreword experience start --domain debugging --strategy read-the-error --goal "Log in again" \\\n'
    '    --hypothesis "The token expired" --action "Renew it" --prediction "200 instead of 401"',
)
@click.option("--domain", type=_domain_type, required=True, help="What kind of work it is.")
@click.option("--strategy", type=_strategy_type, required=True, help="How it is gone about.")
@text_option("--goal", required=True, metavar="T", help="What is wanted.")
@text_option("--hypothesis", required=True, metavar="T", help="What is believed.")
@text_option("--action", required=True, metavar="T", help="What is done about it.")
@text_option("--prediction", required=True, metavar="T", help="What will be seen if the belief is right.")
@click.option("--session", metavar="S", help="The session it belongs to.")
@_note_option
def start_experience(call: CliCall, session: str | None, **fields: OptionValue) -> None:
    """Begin an experience and print its id.

    A session has one open at a time: resolve the last before the next. Without --session any number may be
    open. What an agent's hook sees changed and tested afterwards is its evidence: a test or build run that
    speaks of it and passes after a change that fits the action confirms it.
    """
    with open_engine(embedding=False) as engine:
        experiences = Experiences(engine)
        started = experiences.start(call.workspace, session=session, source=_USER, **fields)
        open_without_session = len(experiences.list_open_for_run(call.workspace, None))
    _print_experience_id_and_status(call, started)
    if session is None and open_without_session > 1:
        see = f"see: foreword experience list --status {OPEN}{call.workspace_flag}"
        show.print_note(
            f"{number_with_noun(open_without_session, 'experience')} without a session are open; {see}"
        )


@command("update", 'foreword experience update 3f9c2a7be1d04c58 --hypothesis "The clock is wrong"')
@click.argument("experience", metavar="ID")
@text_option("--hypothesis", metavar="T", help="What is believed now.")
@text_option("--action", metavar="T", help="What is done now.")
@text_option("--prediction", metavar="T", help="What will be seen now.")
@click.option("--strategy", type=_strategy_type, help="How it is gone about now.")
@_note_option
def update_experience(call: CliCall, experience: str, **changes: OptionValue) -> None:
    """Change an open experience; another hypothesis, action or prediction is another iteration."""
    with open_engine(embedding=False) as engine:
        name = Browser(engine, call.workspace).find_item(experience).id
        _print_experience_id_and_status(call, Experiences(engine).update(call.workspace, name, **changes))


@command(
    "resolve",
    'foreword experience resolve 3f9c2a7be1d04c58 confirmed --result "200 at once"\n'
    'foreword experience resolve 3f9c2a7be1d04c58 falsified --result "401 still" \\\n'
    '    --surprise "The clock was ahead" --cause environment-issue --because "No time in the container"',
)
@click.argument("experience", metavar="ID")
@click.argument("status", type=click.Choice(STATUSES))
@text_option("--result", default="", metavar="T", help="What came of it.")
@text_option("--surprise", default="", metavar="T", help="What was not expected.")
@click.option("--cause", type=click.Choice(CAUSES), help="What kind of reason it failed for.")
@text_option("--because", default="", metavar="T", help="That reason, in words.")
@text_option("--lesson", default="", metavar="T", help="What worked.")
@text_option("--takeaway", default="", metavar="T", help="What to take from it.")
@_note_option
@no_embed_option
def resolve_experience(
    call: CliCall,
    experience: str,
    cause: Cause | None,
    because: str,
    lesson: str,
    takeaway: str,
    no_embed: bool,
    **outcome: OptionValue,
) -> None:
    """Say how an experience ended.

    One that is falsified needs its surprise and its cause. To resolve again with the same status adds to what
    is known; another status is given with `amend`.
    """
    if (cause is None) == bool(because):
        raise click.UsageError("--cause and --because go together: the kind of reason, and the reason")
    if takeaway and not lesson:
        raise click.UsageError("--takeaway needs --lesson: what worked")
    with open_engine(embedding=not no_embed) as engine:
        ended = Experiences(reopen_without_encoder(engine)).resolve(
            call.workspace,
            Browser(engine, call.workspace).find_item(experience).id,
            root_cause=RootCause(cause, because) if cause else None,
            lesson=Lesson(lesson, takeaway) if lesson else None,
            **outcome,
        )
        _print_experience_id_and_status(call, ended)
        make_vectors(engine, call.workspace, later="a later command will make its vectors")


@command(
    "amend",
    'foreword experience amend 3f9c2a7be1d04c58 open --reason "The test was skipped, not passed."\n'
    'foreword experience amend 3f9c2a7be1d04c58 falsified --reason "It fails again." \\\n'
    '    --surprise "It passed once." --cause timing-issue --because "The test depends on the hour"',
)
@click.argument("experience", metavar="ID")
@click.argument("status", type=click.Choice([OPEN, *STATUSES]))
@text_option("--reason", required=True, metavar="T", help="Why the verdict was wrong.")
@text_option("--result", default="", metavar="T", help="What came of it in truth.")
@text_option("--surprise", default="", metavar="T", help="What was not expected.")
@click.option("--cause", type=click.Choice(CAUSES), help="What kind of reason it failed for.")
@text_option("--because", default="", metavar="T", help="That reason, in words.")
def amend_experience(
    call: CliCall, experience: str, cause: Cause | None, because: str, **verdict: OptionValue
) -> None:
    """Change the verdict on an experience, whoever gave it; `open` takes it back.

    The verdict that was is kept with the reason. One that is falsified needs its surprise and its cause.
    """
    if (cause is None) == bool(because):
        raise click.UsageError("--cause and --because go together: the kind of reason, and the reason")
    root_cause = RootCause(cause, because) if cause else None
    with open_engine(embedding=False) as engine:
        name = Browser(engine, call.workspace).find_item(experience).id
        changed = Experiences(engine).amend(call.workspace, name, root_cause=root_cause, **verdict)
        _print_experience_id_and_status(call, changed)


@command("unexplained", "foreword experience unexplained --session monday")
@click.option("--session", metavar="S", help="Only of this session.")
@limit_option
def list_unexplained(call: CliCall, session: str | None, limit: int) -> int:
    """List the experiences that ended without a reason; resolve them again with --cause and --because."""
    with open_engine(embedding=False) as engine:
        found = Experiences(engine).list_unexplained(call.workspace, session, limit)
    values = list(map(_experience_as_json, found))
    return call.print_values_or_note(
        values, lambda: _show_experiences_table(found), "every experience is explained"
    )


@command("list", "foreword experience list --status falsified --domain debugging")
@click.option("--domain", type=_domain_type, help="Only of this kind of work.")
@click.option("--strategy", type=_strategy_type, help="Only gone about like this.")
@click.option("--status", type=click.Choice([OPEN, *STATUSES]), help="Only those that stand so.")
@click.option("--tier", type=click.Choice(TIERS), help="Only those that are so sure.")
@click.option("--session", metavar="S", help="Only of this session.")
@limit_option
def list_experiences(call: CliCall, **filters: OptionValue) -> int:
    """List experiences as they stand, the newest first."""
    with open_engine(embedding=False) as engine:
        matching = Experiences(engine).list(call.workspace, **filters)
    values = list(map(_experience_as_json, matching))
    return call.print_values_or_note(values, lambda: _show_experiences_table(matching), "no experience fits")


def _experience_as_json(experience: Experience) -> dict[str, object]:
    return {**asdict(experience), "status": experience.status, "lacks": experience.lacks}


def _print_experience_id_and_status(call: CliCall, experience: Experience) -> None:
    """Print the id of an experience, and on stderr its status or iteration."""
    call.answer(_experience_as_json(experience), experience.id)
    if call.as_json:
        return
    if experience.outcome is not None:
        show.print_note(f"{experience.status}, {experience.tier}")
    elif experience.iteration_count > 1:
        show.print_note(f"iteration {experience.iteration_count}")


def _show_experiences_table(experiences: Sequence[Experience]) -> None:
    screen, table = show.make_console(), show.make_table(expand=True)
    if screen.width < show.NARROW_COLUMNS:
        for one in experiences:
            show.print_text(f"{one.id[:12]}  {show.format_date(one.created_at)}  {one.status}")
            show.print_text(f"  {show.shorten_to_line(one.goal, 3 * screen.width)}")
        return
    table.add_column("status", no_wrap=True)
    table.add_column("about", max_width=24, overflow="fold")
    table.add_column("date", no_wrap=True)
    table.add_column("goal, and what came of it", ratio=1)
    table.add_column("id", no_wrap=True)
    width = max(60, 2 * (screen.width - 70))
    for one in experiences:
        text = show.rich_text(show.shorten_to_line(one.goal, width))
        text.append(f"\n{show.shorten_to_line(one.hypothesis, width)}", style="dim")
        if one.outcome is not None:
            text.append(f"\n{show.shorten_to_line(one.outcome.result, width)}")
        if one.lacks:
            text.append(f"\nstill to be told: {', '.join(one.lacks)}", style="dim")
        status = f"{one.status}\n{one.tier}" if one.tier and one.tier != one.status else one.status
        about = f"{one.domain}\n{one.strategy}"
        table.add_row(status, about, show.format_date(one.created_at), text, show.rich_text(one.id))
    screen.print(table)


experience = command_group(
    "experience",
    "What was tried, what was expected, and what came of it.",
    'foreword experience start --domain testing --strategy check-assumptions --goal "…" …\n'
    'foreword experience resolve 3f9c2a7be1d04c58 confirmed --result "It passes."\n'
    "foreword experience list --status falsified",
    (
        start_experience,
        update_experience,
        resolve_experience,
        amend_experience,
        list_unexplained,
        list_experiences,
    ),
)


# Values --------------------------------------------------------------------------------------------------


@command("list", "foreword values list --axis root_cause")
@click.option("--axis", type=click.Choice(AXES), help="Only of this axis.")
@limit_option
def list_values(call: CliCall, axis: str | None, limit: int) -> int:
    """List the values that stand, the newest first."""
    from foreword.knowledge.values import Values

    with open_engine(embedding=False) as engine:
        values = Values(engine).list(call.workspace, axis, limit)
    lines = (
        f"{one.id}  {_describe_value_origin(one)}\n  {show.shorten_to_line(one.text, 500)}" for one in values
    )
    see = f"see what experiences have in common: foreword values clusters{call.workspace_flag}"
    return call.print_values_or_note(
        list(map(asdict, values)), lambda: show.print_text("\n".join(lines)), f"no value yet; {see}"
    )


def _describe_value_origin(item: Item) -> str:
    """One line on where a value comes from: its author, or the experiences behind it."""
    metadata, date = item.metadata, show.format_date(item.created_at)
    if "axis" not in metadata:
        return f"said by {item.source.name}, {date}"
    return f"{metadata['axis']}, from {metadata.get('cluster_size', 0)} experiences, {date}"


@command("clusters", "foreword values clusters --axis root_cause")
@click.option("--axis", type=click.Choice(AXES), default="full", show_default=True, help="Alike in what.")
def show_clusters(call: CliCall, axis: str) -> int:
    """Show which experiences are alike on an axis, so that a value can be proposed for them."""
    from foreword.knowledge.values import MIN_EXPERIENCES, Values

    workspace = call.workspace
    with open_engine() as engine:
        make_vectors(engine, workspace)
        values = Values(engine)
        clustering = values.clusters(workspace, axis)
        members = {one.id: values.members(workspace, one.id) for one in clustering.clusters}
        wordings = {one.id: values.suggest(workspace, one.id) for one in clustering.clusters}
    count = number_with_noun(clustering.experiences, "experience")
    if call.as_json:
        show.print_json(_clustering_as_json(clustering))
    elif not clustering.has_enough:
        show.print_note(f"{count} on the axis {axis}; clusters need {MIN_EXPERIENCES}")
    elif not clustering.clusters:
        show.print_note(f"nothing in common on the axis {axis} among {count}")
    for one in () if call.as_json else clustering.clusters:
        show.print_text(
            f"{one.id}  {number_with_noun(one.size, 'experience')}, confidence {one.confidence:.2f}"
        )
        show.print_text(f"  {show.shorten_to_line(wordings[one.id], 200)}")
        for member in members[one.id][:_MAX_SHOWN_MEMBERS]:
            show.print_text(f"  {member.id}  {show.shorten_to_line(member.goal, 100)}")
    return 0 if clustering.clusters else 1


def _clustering_as_json(clustering: Clustering) -> dict[str, object]:
    clusters = [
        {
            "id": one.id,
            "size": one.size,
            "confidence": one.confidence,
            "mean_distance": one.centre.mean,
            "deviation": one.centre.deviation,
            "members": one.members,
        }
        for one in clustering.clusters
    ]
    return {"axis": clustering.axis, "experiences": clustering.experiences, "clusters": clusters}


@command(
    "propose",
    'foreword values propose root_cause_0 "Compare the clocks before anything else."\n'
    "foreword values propose root_cause_0",
)
@click.argument("cluster")
@click.argument("text", required=False, default="")
@click.option("--session", metavar="S", help="The session it was thought of in.")
def propose_value(call: CliCall, cluster: str, text: str, session: str | None) -> None:
    """Keep TEXT as a value of CLUSTER, if it speaks for it, and print its id.

    Without TEXT, the value is in the words of the member that is nearest to what all of them say. `-` reads
    it from stdin.
    """
    from foreword.knowledge.values import Values

    with open_engine() as engine:
        make_vectors(engine, call.workspace)
        values = Values(engine)
        wording = redact(read_argument_or_stdin(text)) or values.suggest(call.workspace, cluster)
        value = values.propose(call.workspace, wording, cluster, _USER, session)
    call.answer(asdict(value), value.id)


@command("review", "foreword values review")
def review_values(call: CliCall) -> int:
    """Weigh every value by what experiences have shown since, and print how it stands."""
    from foreword.knowledge.values import Values

    with open_engine() as engine:
        standings = Values(engine).review(call.workspace)
    lines = (
        f"{one.value.id}  confidence {one.confidence:.2f}, {len(one.supported_by)} for it and "
        f"{len(one.contradicted_by)} against it since\n  {show.shorten_to_line(one.value.text, 500)}"
        for one in standings
    )
    rows: list[object] = [asdict(one) for one in standings]
    return call.print_values_or_note(rows, lambda: show.print_text("\n".join(lines)), "no value yet")


@command("contradict", "foreword values contradict 9c1e5d7a2b3f4e60 3f9c2a7be1d04c58")
@click.argument("value")
@click.argument("experience")
def contradict_value(call: CliCall, value: str, experience: str) -> None:
    """Say that EXPERIENCE contradicts VALUE, which is believed less from now on."""
    from foreword.knowledge.values import Values

    with open_engine(embedding=False) as engine:
        browser = Browser(engine, call.workspace)
        ids = browser.find_item(value).id, browser.find_item(experience).id
        standing = Values(engine).contradict(call.workspace, *ids)
    call.answer(asdict(standing), f"confidence {standing.confidence:.2f}")


values = command_group(
    "values",
    "What many experiences have in common, and what was learnt from it.",
    "foreword values clusters --axis root_cause\n"
    'foreword values propose root_cause_0 "Compare the clocks before anything else."\n'
    "foreword values list",
    (list_values, show_clusters, propose_value, review_values, contradict_value),
)

"""Experiences: the commands that say what was tried, what was expected, and what came of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from foreword.edges.cli.common import (
    Call,
    Command,
    command,
    console,
    counted,
    day,
    embed,
    emit,
    opened,
    say,
    seen,
    shortened,
    tell,
    words_only,
)
from foreword.errors import EmbeddingError
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
from foreword.types import Source

if TYPE_CHECKING:
    from collections.abc import Sequence


_USER = Source("user", "user")


class Family(Command, click.Group):
    """Commands that belong together; its help lists them, and says an example last."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The commands as they were added."""
        return list(self.commands)


def family(name: str, text: str, example: str, members: Sequence[click.Command]) -> Family:
    """Commands under one name, with what their help says together."""
    shown = f"{text}\n\nEach of them takes --workspace and --json.\n\n\b\nExample:\n"
    return Family(
        name,
        {str(one.name): one for one in members},
        help=shown + "\n".join(f"  {x}" for x in example.split("\n")),
    )


# Experiences ---------------------------------------------------------------------------------------------


@command(
    "start",
    'foreword experience start --domain debugging --strategy read-the-error --goal "Log in again" \\\n'
    '    --hypothesis "The token expired" --action "Renew it" --prediction "200 instead of 401"',
)
@click.option("--domain", type=click.Choice(DOMAINS), required=True, help="What kind of work it is.")
@click.option("--strategy", type=click.Choice(STRATEGIES), required=True, help="How it is gone about.")
@click.option("--goal", required=True, metavar="T", help="What is wanted.")
@click.option("--hypothesis", required=True, metavar="T", help="What is believed.")
@click.option("--action", required=True, metavar="T", help="What is done about it.")
@click.option("--prediction", required=True, metavar="T", help="What will be seen if the belief is right.")
@click.option("--session", metavar="S", help="The session it belongs to.")
@click.option("--note", default="", metavar="T", help="Anything else worth keeping.")
def start(
    call: Call,
    domain: str,
    strategy: str,
    goal: str,
    hypothesis: str,
    action: str,
    prediction: str,
    session: str | None,
    note: str,
) -> None:
    """Begin an experience and print its id.

    A session has one open at a time: resolve the last before the next. Without --session any number may be
    open. The next test or build run that an agent's hook sees, and that speaks of it, resolves it.
    """
    from foreword.knowledge.experiences import Experiences

    with opened(embedding=False) as engine:
        experiences = Experiences(engine)
        begun = experiences.start(
            call.workspace,
            domain=domain,
            strategy=strategy,
            goal=goal,
            hypothesis=hypothesis,
            action=action,
            prediction=prediction,
            session=session,
            note=note,
            source=_USER,
        )
        unowned = len(experiences.open_for_run(call.workspace, None))
    _answer(call, begun)
    if session is None and unowned > 1:
        again = f"foreword experience list --status {OPEN}{call.again}"
        tell(f"{counted(unowned, 'experience')} without a session are open; see: {again}")


@command("update", 'foreword experience update 3f9c2a7be1d04c58 --hypothesis "The clock is wrong"')
@click.argument("experience", metavar="ID")
@click.option("--hypothesis", metavar="T", help="What is believed now.")
@click.option("--action", metavar="T", help="What is done now.")
@click.option("--prediction", metavar="T", help="What will be seen now.")
@click.option("--strategy", type=click.Choice(STRATEGIES), help="How it is gone about now.")
@click.option("--note", default="", metavar="T", help="Anything else worth keeping.")
def update(
    call: Call,
    experience: str,
    hypothesis: str | None,
    action: str | None,
    prediction: str | None,
    strategy: str | None,
    note: str,
) -> None:
    """Change an open experience; another hypothesis, action or prediction is another iteration."""
    from foreword.knowledge.experiences import Experiences

    with opened(embedding=False) as engine:
        changed = Experiences(engine).update(
            call.workspace,
            experience,
            hypothesis=hypothesis,
            action=action,
            prediction=prediction,
            strategy=strategy,
            note=note,
        )
    _answer(call, changed)


@command(
    "resolve",
    'foreword experience resolve 3f9c2a7be1d04c58 confirmed --result "200 at once"\n'
    'foreword experience resolve 3f9c2a7be1d04c58 falsified --result "401 still" \\\n'
    '    --surprise "The clock was ahead" --cause environment-issue --because "No time in the container"',
)
@click.argument("experience", metavar="ID")
@click.argument("status", type=click.Choice(STATUSES))
@click.option("--result", default="", metavar="T", help="What came of it.")
@click.option("--surprise", default="", metavar="T", help="What was not expected.")
@click.option("--cause", type=click.Choice(CAUSES), help="What kind of reason it failed for.")
@click.option("--because", default="", metavar="T", help="That reason, in words.")
@click.option("--lesson", default="", metavar="T", help="What worked.")
@click.option("--takeaway", default="", metavar="T", help="What to take from it.")
@click.option("--note", default="", metavar="T", help="Anything else worth keeping.")
@click.option("--no-embed", is_flag=True, help="Make no vectors now; a later command will.")
def resolve(
    call: Call,
    experience: str,
    status: str,
    result: str,
    surprise: str,
    cause: Cause | None,
    because: str,
    lesson: str,
    takeaway: str,
    note: str,
    no_embed: bool,
) -> None:
    """Say how an experience ended.

    One that is falsified needs its surprise and its cause. To resolve again with the same status adds to what
    is known; a status that a test run told can still be changed.
    """
    from foreword.knowledge.experiences import Experiences

    if (cause is None) == bool(because):
        raise click.UsageError("--cause and --because go together: the kind of reason, and the reason")
    if takeaway and not lesson:
        raise click.UsageError("--takeaway needs --lesson: what worked")
    workspace = call.workspace
    with opened(embedding=not no_embed) as engine:
        ended = Experiences(words_only(engine)).resolve(
            workspace,
            experience,
            status,
            result,
            surprise=surprise,
            root_cause=RootCause(cause, because) if cause else None,
            lesson=Lesson(lesson, takeaway) if lesson else None,
            note=note,
        )
        _answer(call, ended)
        try:
            embed(engine, workspace)
        except EmbeddingError as error:
            raise EmbeddingError(
                f"stored, and words find it; a later command will make its vectors, because now: {error}"
            ) from error


@command("list", "foreword experience list --status falsified --domain debugging")
@click.option("--domain", type=click.Choice(DOMAINS), help="Only of this kind of work.")
@click.option("--strategy", type=click.Choice(STRATEGIES), help="Only gone about like this.")
@click.option("--status", type=click.Choice([OPEN, *STATUSES]), help="Only those that stand so.")
@click.option("--tier", type=click.Choice(TIERS), help="Only those that are so sure.")
@click.option("--session", metavar="S", help="Only of this session.")
@click.option("--limit", type=int, default=20, show_default=True, metavar="N", help="At most so many.")
def list_experiences(
    call: Call,
    domain: str | None,
    strategy: str | None,
    status: str | None,
    tier: str | None,
    session: str | None,
    limit: int,
) -> int:
    """List experiences as they stand, the newest first."""
    from foreword.knowledge.experiences import Experiences

    with opened(embedding=False) as engine:
        found = Experiences(engine).list(
            call.workspace,
            domain=domain,
            strategy=strategy,
            status=status,
            tier=tier,
            session=session,
            limit=limit,
        )
    if call.as_json:
        emit([_facts(experience) for experience in found])
    elif found:
        _show(found)
    else:
        tell("no experience fits")
    return 0 if found else 1


def _facts(experience: Experience) -> dict[str, object]:
    return {**asdict(experience), "status": experience.status, "lacks": experience.lacks}


def _answer(call: Call, experience: Experience) -> None:
    if call.as_json:
        emit(_facts(experience))
        return
    say(experience.id)
    if experience.outcome is None and experience.iteration_count > 1:
        tell(f"iteration {experience.iteration_count}")
    elif experience.outcome is not None:
        tell(f"{experience.status}, {experience.tier}")


def _show(experiences: Sequence[Experience]) -> None:
    from rich import box
    from rich.table import Table

    screen = console()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=True)
    table.add_column("status", no_wrap=True)
    table.add_column("about", max_width=24, overflow="fold")
    table.add_column("date", no_wrap=True)
    table.add_column("goal, and what came of it", ratio=1)
    table.add_column("id", no_wrap=True)
    room = max(60, 2 * (screen.width - 70))
    for one in experiences:
        told = seen(shortened(one.goal, room))
        told.append(f"\n{shortened(one.hypothesis, room)}", style="dim")
        if one.outcome is not None:
            told.append(f"\n{shortened(one.outcome.result, room)}")
        if one.lacks:
            told.append(f"\nstill to be told: {', '.join(one.lacks)}", style="dim")
        status = f"{one.status}\n{one.tier}" if one.tier and one.tier != one.status else one.status
        table.add_row(status, f"{one.domain}\n{one.strategy}", day(one.created_at), told, seen(one.id))
    screen.print(table)


experience = family(
    "experience",
    "What was tried, what was expected, and what came of it.",
    'foreword experience start --domain testing --strategy check-assumptions --goal "…" …\n'
    'foreword experience resolve 3f9c2a7be1d04c58 confirmed --result "It passes."\n'
    "foreword experience list --status falsified",
    (start, update, resolve, list_experiences),
)

COMMANDS = (experience,)

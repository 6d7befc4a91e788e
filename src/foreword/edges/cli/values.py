"""Values: the commands that show what many experiences have in common, and keep what is said of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from foreword.capture.redact import redact
from foreword.edges.cli.common import Call, command, counted, day, embed, emit, opened, say, shortened, tell
from foreword.edges.cli.experience import family
from foreword.knowledge.axes import AXES
from foreword.types import Source

if TYPE_CHECKING:
    from foreword.knowledge.values import Clustering
    from foreword.types import Item

_USER = Source("user", "user")
_SHOWN_MEMBERS = 3


@command("list", "foreword values list --axis root_cause")
@click.option("--axis", type=click.Choice(AXES), help="Only of this axis.")
@click.option("--limit", type=int, default=20, show_default=True, metavar="N", help="At most so many.")
def list_values(call: Call, axis: str | None, limit: int) -> int:
    """List the values that stand, the newest first."""
    from foreword.knowledge.values import Values

    with opened(embedding=False) as engine:
        found = Values(engine).list(call.workspace, axis, limit)
    if call.as_json:
        emit([asdict(item) for item in found])
    elif found:
        for item in found:
            say(f"{item.id}  {_origin(item)}\n  {shortened(item.text, 500)}")
    else:
        tell(f"no value yet; see what experiences have in common: foreword values clusters{call.again}")
    return 0 if found else 1


def _origin(item: Item) -> str:
    """Where a value comes from, in a line."""
    held, said_at = item.metadata, day(item.created_at)
    if "axis" not in held:
        return f"said by {item.source.name}, {said_at}"
    return f"{held['axis']}, from {held.get('cluster_size', 0)} experiences, {said_at}"


@command("clusters", "foreword values clusters --axis root_cause")
@click.option("--axis", type=click.Choice(AXES), default="full", show_default=True, help="Alike in what.")
def clusters(call: Call, axis: str) -> int:
    """Show which experiences are alike on an axis, so that a value can be proposed for them."""
    from foreword.knowledge.values import MIN_EXPERIENCES, Values

    workspace = call.workspace
    with opened() as engine:
        embed(engine, workspace)
        values = Values(engine)
        found = values.clusters(workspace, axis)
        members = {one.id: values.members(workspace, one.id) for one in found.clusters}
    if call.as_json:
        emit(_clusters_json(found))
    elif not found.enough:
        tell(
            f"{counted(found.experiences, 'experience')} on the axis {axis}; clusters need {MIN_EXPERIENCES}"
        )
    elif not found.clusters:
        tell(f"nothing in common on the axis {axis} among {counted(found.experiences, 'experience')}")
    for one in () if call.as_json else found.clusters:
        say(f"{one.id}  {counted(one.size, 'experience')}, confidence {one.confidence:.2f}")
        for told in members[one.id][:_SHOWN_MEMBERS]:
            say(f"  {told.id}  {shortened(told.goal, 100)}")
    return 0 if found.clusters else 1


def _clusters_json(found: Clustering) -> dict[str, object]:
    every = [
        {
            "id": one.id,
            "size": one.size,
            "confidence": one.confidence,
            "mean_distance": one.centre.mean,
            "deviation": one.centre.deviation,
            "members": one.members,
        }
        for one in found.clusters
    ]
    return {"axis": found.axis, "experiences": found.experiences, "clusters": every}


@command("propose", 'foreword values propose root_cause_0 "Compare the clocks before anything else."')
@click.argument("cluster")
@click.argument("text")
@click.option("--session", metavar="S", help="The session it was thought of in.")
def propose(call: Call, cluster: str, text: str, session: str | None) -> None:
    """Keep TEXT as a value of CLUSTER, if it speaks for it, and print its id."""
    from foreword.knowledge.values import Values

    workspace = call.workspace
    with opened() as engine:
        embed(engine, workspace)
        kept = Values(engine).propose(workspace, redact(text), cluster, _USER, session)
    emit(asdict(kept)) if call.as_json else say(kept.id)


values = family(
    "values",
    "What many experiences have in common, and what was learnt from it.",
    "foreword values clusters --axis root_cause\n"
    'foreword values propose root_cause_0 "Compare the clocks before anything else."\n'
    "foreword values list",
    (list_values, clusters, propose),
)


COMMANDS = (values,)

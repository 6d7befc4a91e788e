"""The words by which `settling` tells a value from a story. Lists, and nothing that looks at a sentence."""

from __future__ import annotations


def _these(words: str) -> frozenset[str]:
    return frozenset(words.split())


DOUBT = _these(
    "additional ago also although and another any apparently aren't asked been believe both but can't "
    "cannot consider considering could doesn't don't e.g either eventually example except formerly "
    "generally guess hope hopefully ideally if isn't kind likely many maybe might most mostly neither "
    "never no nor not often or other perhaps plan planning plans possibly presumably previously probably "
    "propose proposed said says seem seems several should some someday sometimes soon sort suggest "
    "suggested suppose supposedly think though too typically unless until used usually versus vs wants "
    "was wasn't were when whenever while wish without won't would"
)
"""What makes a sentence a guess, a denial, a condition, a list, or a tale of other times."""

ATTRIBUTES = _these(
    "address birthday budget capital ceo chair count cto date deadline depth email endpoint height host "
    "hostname interval lead limit maintainer manager maximum minimum owner port price quota region size "
    "threshold timeout timezone ttl uri url version width zone"
)
"""What a thing has one of, if a name or a number tells it: the deadline is May 3, and it is tight."""

WORDED = _these(
    "branch bucket channel charset color colour convention currency domain editor encoding extension "
    "format indentation language licence license locale name namespace nickname os path platform prefix "
    "schedule shell style suffix target theme title username"
)
"""What a thing has one of, and any word may tell it: the default branch is trunk."""

THINGS = _these(
    "api backend broker bundler cache cdn ci cloud cluster compiler database datastore db encoder engine "
    "environment formatter framework frontend gateway host hosting image interpreter library linter model "
    "monorepo orm protocol provider proxy queue registry repo repository runner runtime scheduler server "
    "stack storage store tokenizer tool tracker wiki"
)
"""What a name tells all of: the database is Postgres."""

TALK = _these(
    "advantage advice alternative answer approach benefit bug candidate cause caveat challenge change "
    "concern conclusion difference error example fact feature fix goal hint idea issue lesson message "
    "news note option plan point problem proposal question reason requirement rest result risk rule "
    "solution status step story suggestion summary task thing tip todo trick truth warning way workaround"
)
"""What sentences are about, and the world is not."""

REASONS = _these(
    "clarity compatibility consistency convenience debugging everything fun it now performance reasons "
    "reliability safety simplicity speed that them this"
)
"""What something is used for without being it."""

NO_VALUE = _these(
    "a about an as at because being between by done down for from getting going her here his how in it "
    "its just less like more my off on only our out over per quite ready really so still that the their "
    "there these this those to too under up very we what where why with within your"
)
"""How a description begins that is no value."""

STATES = _these(
    "bad best better big blocked broken clean close closed consistent correct critical deprecated dirty "
    "down early easy empty enough essential false far fast fine fixed flaky flexible full good great hard "
    "high huge important inconsistent incorrect large late long low mandatory missing near new nice "
    "obvious odd ok okay old open optional outdated private public ready required right safe short slow "
    "small stable strange strict tight tiny true ugly unclear unknown unsafe unstable up weird worse "
    "worst wrong"
)
"""How a thing may be, beside whatever else it is."""

CLAUSE = _these("that which who whose where is are has have had we i you be do does")
"""What makes a subject a sentence of its own."""

LINK = _these("of in on for at from with to under by")
"""What stands between a noun and what belongs to it."""

PLAIN = _these("the our your s")
"""What does not tell one subject from another."""

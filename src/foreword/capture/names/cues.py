"""The words around a name that tell whose name it is, and the capitals that tell nothing.

Knows English: who speaks and acts is a person, one lives in a place, one works at an organisation.
"""

from __future__ import annotations

from foreword.text.words import STOPWORDS

_KIN = (
    "aunt boyfriend brother cousin dad daughter father fiance fiancee friend friends girlfriend grandma "
    "grandmother grandpa grandson husband mom mother mum nephew niece pal roommate sister son uncle wife"
)
_ROLES = (
    "accountant actor analyst architect artist assistant author boss buddy ceo cfo chef classmate coach "
    "colleague coworker cto customer dean dentist designer developer director doctor driver editor engineer "
    "founder guitarist intern investor journalist judge lawyer leader manager mayor mentor minister neighbor "
    "neighbour nurse officer owner painter partner photographer president professor recruiter salesman "
    "scientist secretary singer student supervisor teacher teammate tester therapist trainer tutor vet "
    "volunteer waiter writer"
)
_ADDRESSING = (
    "am ask asked asking bye call called calling cc cheers congratulate dear goodbye greet hello hey hi "
    "hire hired i'm invite invited love marry meet meeting met named ping pinged regards remind reminded "
    "replied said says sincerely tell telling text texted thank thanks told with"
)
_ACTING = (
    "ate became believes borrows bought broke brought buys cancelled chose claims comes cried decided "
    "decides drank drinks drives drove eats feels felt forgets forgot found gave gets gives goes got grew "
    "has hates knew knows leads led left lends lent made makes married meets met nodded paid pays plans "
    "quit reads remembers reports retired runs said sang sat saw says sees sells sends sent sewed shared "
    "sings sleeps sold speaks spoke started stayed studies swam swims takes taught teaches tells thinks "
    "thought told took travelled tries was wears went will woke won wonders works writes wrote"
)
_DOING = (
    "accept admit adopt advise agree apologise apologize argue ask bake call cancel collect complain "
    "confirm decline disagree earn enjoy explain fetch forgive handle help insist invite join knit learn "
    "like listen live love manage mend mention miss move need nod organise organize owe own play practise "
    "prefer prepare propose refuse remember remind report resign retire stay study suggest supervise thank "
    "translate volunteer wait want wash whisper wonder work"
)
_DID = (
    "answer attend book build chair clean cook dance demand doubt draft dream email hire hope hug iron joke "
    "kiss laugh message offer order paint phone ping promise rent repair reply request rob sew share shout "
    "sign smile smoke suspect talk text travel try tune visit vote walk warn watch wish worry"
)
_BEING = (
    "abroad absent afraid angry asleep away busy calling coming disappointed excited happy ill joining "
    "leaving married pregnant proud sad scared sick sorry sure tired travelling unwell upset waiting "
    "worried"
)
_TALKING = (
    "according apologised apologized belongs engaged gave give handed introduced lent listen listened "
    "married replied reply said sent speak speaking spoke spoken talk talked talking told written wrote"
)
_SPEAKING = (
    "agreed answered argued asked asks explained insisted mentioned promised replied said says thinks told "
    "wrote"
)
_OPENING = (
    "absolutely actually add after ah aha also although anyone anything anyway apparently apply are ask "
    "attached attendees awesome because best book both bring bump but buy bye call can candidates cc change "
    "check cheers cities clear close come commit compare congrats congratulations contact cool copy create "
    "dear definitely delete deploy did docs does don't edit email everybody everyone everything exactly "
    "excited explain fix files find finally first follow for forget forward from fun get give glad go good "
    "goodbye got great guess haha happy has have hello help here hey hi hmm honestly hope how however i'd "
    "i'll i'm i've if install instead interesting invite is it's join just keep kudos last later let let's "
    "like listen look lots love lovely make many maybe meanwhile meet meeting merge met more most move my "
    "need never next nice no nobody note nothing now oh ok okay omg once one only oops open options or "
    "our perhaps ping please plus pls probably push put read really regarding regards remember remind remove "
    "rename rent replace reply report revert review reviewers right run same say schedule second see send "
    "set share should show since sincerely so some somebody someone something sometimes sorry sounds start "
    "still stop subject sure take talk tell test thank thanks that's then there there's they're third this "
    "today today's totally true try two uh update urgent use very visit wait watch we we'll we're we've well "
    "what what's whatever when where where's while who who's whose why will wish without wonderful work wow "
    "write yay yeah yep yes yet you you're your yup"
)


def _forms(verb: str) -> tuple[str, str]:
    """What a regular verb is with somebody before it, now and then: `carries` and `carried`."""
    if verb.endswith("y") and verb[-2] not in "aeo":
        return f"{verb[:-1]}ies", f"{verb[:-1]}ied"
    sibilant = verb.endswith(("s", "sh", "ch"))
    return f"{verb}{'es' if sibilant else 's'}", f"{verb}{'d' if verb.endswith('e') else 'ed'}"


KIN = frozenset(_KIN.split())
ROLES = frozenset(_ROLES.split())
BEFORE_PERSON = frozenset(_ADDRESSING.split()) | KIN | ROLES
TALKING = frozenset(_TALKING.split())
"""What is done towards somebody, with a `to` before the name."""

BEING = frozenset(_BEING.split())
"""What only somebody is."""

OFF_WORK = frozenset({"call", "holiday", "leave", "maternity", "parental", "sick", "vacation"})
OWNERS = frozenset({"my", "our", "your", "his", "her", "their"})
AFTER_PERSON = (
    frozenset(_ACTING.split())
    | {form for verb in _DOING.split() for form in _forms(verb)}
    | {_forms(verb)[1] for verb in _DID.split()}
)
SPEAKING = frozenset(_SPEAKING.split())
BEFORE_PLACE = frozenset({"in", "near", "visit", "visited", "visiting", "around", "across", "leave", "left"})
ALONG = frozenset({"along", "at", "down", "from", "of", "off", "on", "the", "through", "to", "up"})
MOVING = frozenset(
    {
        *("back", "been", "bus", "drive", "driving", "drove", "flew", "flight", "fly", "flying", "go"),
        *("going", "move", "moved", "moving", "road", "sailed", "train", "travel", "traveled"),
        *("travelled", "travelling", "trip", "went"),
    }
)
BEFORE_ORGANISATION = frozenset({"at", "joined", "join", "joining"})
WORKING = ROLES | {"work", "works", "worked", "working", "job", "hired", "employed", "head"}
PLAIN = STOPWORDS | frozenset(_OPENING.split()) | {"morning", "afternoon", "evening", "birthday", "ph"}
"""Words whose capital only begins a sentence."""

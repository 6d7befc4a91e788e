"""The words around a name that tell whose name it is, and the capitals that tell nothing.

Knows English: who speaks and acts is a person, one lives in a place, one works at an organisation.
"""

from __future__ import annotations

from foreword.words import STOPWORDS

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
    "am ask asked asking bye called cheers dear goodbye greet hello hey hi i'm invite invited love meet "
    "meeting met named ping pinged regards remind reminded sincerely thank thanks tell telling told with"
)
_ACTING = (
    "agreed answered argued asked asks believes bought broke called calls claims cooked cried decided "
    "decides explained feels felt forgot found gave goes got grew handles has hates hired insisted invited "
    "joined joins knows laughed leads learned left lives lived loves likes made manages married mentioned "
    "met misses moved needs nodded owns painted plays prefers promised quit reads remembers replied reported "
    "reports retired runs said sat saw says sent shared signed sings sleeps speaks spoke started stayed "
    "studied studies suggested talked teaches tells thinks thought told took translates travelled traveled "
    "tried visited waited walked wants was went will woke won wonders works worked writes wrote"
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

KIN = frozenset(_KIN.split())
ROLES = frozenset(_ROLES.split())
BEFORE_PERSON = frozenset(_ADDRESSING.split()) | KIN | ROLES
AFTER_PERSON = frozenset(_ACTING.split())
SPEAKING = frozenset(_SPEAKING.split())
BEFORE_PLACE = frozenset({"in", "near", "visit", "visited", "visiting", "around", "across", "leave", "left"})
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

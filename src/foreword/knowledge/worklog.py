"""A session with an agent under five headings: asked, decided, done, noted, open; and the files it changed.

Knows who said a sentence (the user has goals, the agent conclusions, a command results) and the wordings by
which decisions, achievements and loose ends are known.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from foreword.knowledge.digest import Digest, cut, cut_lines
from foreword.knowledge.sentences import Sentence, sentences, weighed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from foreword.types import Item

ASKED, DECIDED, DONE, NOTED, OPEN, FILES = "Asked", "Decided", "Done", "Noted", "Open", "Files"
_ORDER = (ASKED, DECIDED, DONE, NOTED, OPEN, FILES)

_REPEATED = 0.6
_MOST_FILES = 6
_MOST_OPEN = 3
_LATE_TURNS = 2
_FEWEST_WORDS = 4
_GOAL_WORTH = 2.0
_USER_WORTH = {DECIDED: 0.25, ASKED: 0.1}
_AGENT_WORTH = {OPEN: 0.2, DECIDED: 0.15, DONE: 0.15, NOTED: 0.0}

_DECISION = re.compile(
    r"\b(?:decid(?:e|ed|ing)|decision|let'?s (?:go|use|keep|not|stick|switch|drop)|go(?:ing)? with|went with"
    r"|(?:we|i)(?:'ll| will| should) (?:use|keep|go with|not)|chose|chosen|settled on|stick (?:to|with)"
    r"|switch(?:ed)? to|agreed|must(?:n't)?|never|always|from now on|prefer\w*|rather than|instead|no longer"
    r"|policy|convention)\b"
    r"|^(?:no,? )?(?:please )?(?:use|keep|avoid|don'?t|do not|stop|only)\b|^(?:no|not)[,:]? \w",
    re.IGNORECASE,
)
_ACHIEVED = re.compile(
    r"\b(?:fixed|added|implemented|updated|removed|renamed|moved|created|wrote|changed|refactored|capped|done"
    r"|completed?|pass(?:es|ing|ed)?|works? now|merged|deployed|released|committed|resolved|replaced|rewrote"
    r"|installed|configured|migrated|split|extracted|now (?:uses?|returns?|handles?|runs?|supports?))\b",
    re.IGNORECASE,
)
_UNFINISHED = re.compile(
    r"\b(?:todo|to-do|still (?:fail|open|need|miss|broken|flak|to|not)\w*|not yet|remain(?:s|ing)?|left to do"
    r"|next steps?|follow[- ]ups?|unresolved|blocked|pending|unclear|waiting for|haven'?t|couldn'?t|could not"
    r"|unable to)\b",
    re.IGNORECASE,
)
_RESULT = re.compile(r"\b\d+ (?:passed|failed|errors?|failing|passing|tests?)\b|^test result:", re.IGNORECASE)
_BAD_RESULT = re.compile(r"\b[1-9]\d* (?:failed|errors?|failing)\b|FAILED", re.IGNORECASE)
_RUNNER = re.compile(
    r"\b(?:pytest|jest|vitest|mocha|rspec|phpunit|ctest|tox|nox|unittest|(?:cargo|go|npm|yarn|pnpm) test)\b"
)
_COMMITTED = re.compile(r"^\[[^\]\n]{1,80} [0-9a-f]{7,40}\] (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Line:
    """Something worth telling: its heading, its words, the turns they come from, and how much it says."""

    heading: str
    text: str
    turn: int
    place: int
    telling: frozenset[str]
    weight: float
    also: tuple[int, ...] = ()


def worklog(turns: Sequence[Item], places: list[int], words: int) -> Digest:
    """The session under its headings, in at most this many words."""
    said = weighed(sentences({at: turns[at].text for at in places if not _is_tool(turns[at])}))
    lines = [*_asked(turns, said), *_answered(turns, said), *_results(turns, places)]
    files = _files(turns, places)
    room = words - (len(files.text.split()) + 1 if files else 0)
    if files and room < words // 2:
        files, room = None, words
    chosen = _choose(lines, room, longest=max(6, words // 3))
    return _told([*chosen, files] if files else chosen, words)


def _is_tool(turn: Item) -> bool:
    return turn.source.trust in ("tool", "web")


def _asked(turns: Sequence[Item], said: Mapping[Sentence, float]) -> Iterable[_Line]:
    """What the user said: goals and decisions. The first goal and the last come before everything."""
    theirs = [sentence for sentence in said if turns[sentence.turn].source.trust == "user"]
    openings = [sentence for sentence in theirs if sentence.place < 2]
    ends = {sentence.turn for sentence in (*openings[:1], *openings[-1:])}
    goals = {max((one for one in openings if one.turn == turn), key=said.__getitem__) for turn in ends}
    for sentence in theirs:
        heading = DECIDED if _DECISION.search(sentence.text) else ASKED
        worth = _GOAL_WORTH if sentence in goals else _USER_WORTH[heading]
        yield _line(heading, sentence, said[sentence] + worth)


def _answered(turns: Sequence[Item], said: Mapping[Sentence, float]) -> Iterable[_Line]:
    """What the agent said: decisions, what it did, and, of its last words, what it left open."""
    its = [sentence for sentence in said if turns[sentence.turn].source.trust == "agent"]
    speaking = list(dict.fromkeys(sentence.turn for sentence in its))
    late = set(speaking[-_LATE_TURNS:])
    for sentence in its:
        last = sentence.turn == speaking[-1]
        unanswered = last and all(turn.source.trust != "user" for turn in turns[sentence.turn :])
        heading = _heading(sentence.text, late=sentence.turn in late, unanswered=unanswered)
        if heading != NOTED or sentence.length >= _FEWEST_WORDS:
            yield _line(heading, sentence, said[sentence] + _AGENT_WORTH[heading] + 0.2 * last)


def _heading(text: str, *, late: bool, unanswered: bool) -> str:
    """Under which heading a sentence of the agent belongs; early loose ends may since have been tied."""
    if unanswered if text.endswith("?") else late and _UNFINISHED.search(text):
        return OPEN
    if _DECISION.search(text):
        return DECIDED
    return DONE if _ACHIEVED.search(text) else NOTED


def _results(turns: Sequence[Item], places: list[int]) -> Iterable[_Line]:
    """What commands reported: the last result of each test run, and what was committed."""
    last_run: dict[str, _Line] = {}
    for at in places:
        turn = turns[at]
        if not _is_tool(turn) or not turn.text.startswith("$ "):
            continue
        command = turn.text.partition("\n")[0][2:]
        results = [line.strip(" =\t") for line in turn.text.split("\n")[1:] if _RESULT.search(line)]
        if results:
            heading = OPEN if _BAD_RESULT.search(results[-1]) else DONE
            told = f"{_short(command)}: {results[-1]}"
            runner = _runner(command)
            last_run[runner] = _Line(heading, told, at, 0, frozenset({f"$ {runner}"}), 0.6)
        for place, message in enumerate(_COMMITTED.findall(turn.text)):
            telling = frozenset(message.lower().split())
            yield _Line(DONE, f"committed “{message.strip()}”", at, place, telling, 0.4)
    yield from last_run.values()


def _runner(command: str) -> str:
    """What ran the tests, so that a later run takes the place of an earlier one."""
    known = _RUNNER.search(command)
    return known.group() if known else " ".join(_short(command).split()[:2])


def _short(command: str) -> str:
    """A command as one would mention it: its last step, without what follows a pipe."""
    step = re.split(r"\s*(?:&&|;)\s*", command)[-1] or command
    return " ".join(step.partition(" | ")[0].replace("2>&1", "").split()[:8])


def _files(turns: Sequence[Item], places: list[int]) -> _Line | None:
    """The files that were changed, the most often changed first."""
    changed: Counter[str] = Counter()
    changing: list[int] = []
    for at in places:
        path = turns[at].metadata.get("file")
        if isinstance(path, str) and path:
            changed[path] += 1
            changing.append(at)
    if not changed:
        return None
    names = [name for name, _ in changed.most_common(_MOST_FILES)]
    more = f" and {len(changed) - len(names)} more" if len(changed) > len(names) else ""
    return _Line(FILES, ", ".join(names) + more, changing[0], 0, frozenset(), 1.0, tuple(changing))


def _line(heading: str, sentence: Sentence, weight: float) -> _Line:
    return _Line(heading, sentence.text, sentence.turn, sentence.place, sentence.telling, weight)


def _choose(lines: Iterable[_Line], room: int, longest: int) -> list[_Line]:
    """The lines that say most in the room there is, none of them twice."""
    chosen: list[_Line] = []
    headings: Counter[str] = Counter()
    for line in sorted(lines, key=lambda line: (-line.weight, line.turn, line.place)):
        if (headings[line.heading] >= _MOST_OPEN and line.heading == OPEN) or not line.telling:
            continue
        text = cut(line.text, longest)
        cost = len(text.split()) + (0 if headings[line.heading] else 1)
        if cost > room or any(_alike(line.telling, other.telling) for other in chosen):
            continue
        room -= cost
        headings[line.heading] += 1
        chosen.append(replace(line, text=text))
    return chosen


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two sentences say nearly the same: most words of the shorter are in the longer."""
    return len(one & other) >= _REPEATED * min(len(one), len(other))


def _told(lines: list[_Line], words: int) -> Digest:
    """The lines under their headings, each heading's in the order in which they were said."""
    told: list[str] = []
    for heading in _ORDER:
        under = [line for line in lines if line.heading == heading]
        under.sort(key=lambda line: (line.turn, line.place))
        if under:
            told.append(f"{heading}: {'; '.join(line.text.rstrip(' .;:') for line in under)}")
    return Digest(
        cut_lines(told, words), tuple(sorted({turn for line in lines for turn in (line.turn, *line.also)}))
    )

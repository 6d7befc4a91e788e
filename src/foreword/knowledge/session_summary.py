"""Summarises a session in a few lines, in its own words.

Extractive, offline and always the same for the same turns. A session with an agent is summarised under seven
headings: open, decided, done, noted, what the user said, asked, and the files it changed. A conversation
between people is given in reported speech. Files, tools and pages are not quoted beside what the people and
the agent said, so that a summary cannot make foreign words look like theirs: of a tool's output only the
counts are reported.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from foreword.knowledge.command_results import is_tool_output, read_commit_messages, read_test_result
from foreword.knowledge.dialogue_summary import drop_openers, join_by_speaker
from foreword.knowledge.open_ends import find_open_ends, leaves_something_open
from foreword.knowledge.progress_cues import is_question, says_something_is_done
from foreword.knowledge.sentence_weights import (
    choose_complementary_sentences,
    find_weightiest_sentences,
    read_sentences_of_turns,
)
from foreword.knowledge.settled import is_decision
from foreword.knowledge.speech_acts import classify_speech_act
from foreword.text.shorten import keep_first_words
from foreword.text.words import is_english, share_most_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from foreword.knowledge.sentence_weights import Sentence
    from foreword.types import Item

SUMMARY_WORDS = 120
"""How many words the summary of a session has at most, unless the caller says otherwise."""


class Summariser(Protocol):
    """Anything that summarises turns; when it raises a ForewordError, the extractive summary is used."""

    def summarise(self, turns: Sequence[Item], words: int) -> str:
        """A summary of the turns in about this many words."""
        ...


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A summary, the indices of the turns that it quotes, and of those of which it only reports counts."""

    text: str
    quoted_turns: tuple[int, ...]
    reported_turns: tuple[int, ...] = ()


def summarise_session(turns: Sequence[Item], max_words: int = SUMMARY_WORDS) -> SessionSummary:
    """A summary in at most `max_words` words; its text is empty if there is nothing to report.

    What a session with an agent leaves open comes first and is not cut.
    """
    quotable = _quotable_turns(turns)
    if any(turns[index].source.trust in ("agent", "repository", "tool") for index in quotable):
        return _summarise_agent_work(turns, quotable, max_words, _HEADINGS)
    return _summarise_conversation(turns, quotable, max_words)


def summarise_outcome(turns: Sequence[Item], max_words: int) -> SessionSummary:
    """A summary of what a session did, without decisions and open ends; if it did nothing, of what was said.

    Lines are not cut, and questions are left out.
    """
    quotable = _quotable_turns(turns)
    outcome = _summarise_agent_work(turns, quotable, max_words, (_DONE,))
    return (
        outcome
        if outcome.text
        else _summarise_agent_work(turns, quotable, max_words, (_NOTED, _SAID, _ASKED))
    )


def _quotable_turns(turns: Sequence[Item]) -> list[int]:
    """The indices of the turns that may be quoted: all but those from the web, unless there are no others."""
    quotable = [index for index, turn in enumerate(turns) if turn.source.trust != "web"]
    return quotable or list(range(len(turns)))


def _join_lines_within_words(lines: list[str], max_words: int) -> str:
    """As many lines as fit, and the beginning of the first one that does not."""
    kept: list[str] = []
    for line in lines:
        room = max_words - sum(len(one.split()) for one in kept)
        if room < 1:
            break
        kept.append(keep_first_words(line, room))
    return "\n".join(kept)


# A conversation between people ---------------------------------------------------------------------------

_MAX_NAME_CHARACTERS = 40
_MIN_ROOM_WORDS = 3
_LANGUAGE_TURNS, _LANGUAGE_CHARACTERS = 50, 500


def _summarise_conversation(turns: Sequence[Item], quotable: list[int], max_words: int) -> SessionSummary:
    """A summary of the conversation by its best sentences, as they were said."""
    sample = " ".join(turns[index].text[:_LANGUAGE_CHARACTERS] for index in quotable[:_LANGUAGE_TURNS])
    english = is_english(sample)
    wording: dict[Sentence, str] = {}
    room = max_words

    def take_if_fits(sentence: Sentence) -> bool:
        """Take a sentence and the room for it, if there is enough left."""
        nonlocal room
        if room < _MIN_ROOM_WORDS:
            return False
        text = drop_openers(sentence.text) if english else sentence.text
        cost = len(text.split()) + 1  # a word more, for the speaker's name
        if cost > room:
            return False
        room -= cost
        wording[sentence] = text
        return True

    sentences = read_sentences_of_turns({index: turns[index].text for index in quotable})
    chosen = choose_complementary_sentences(find_weightiest_sentences(sentences).items(), take_if_fits)
    chosen.sort(key=lambda sentence: sentence.position)
    lines = join_by_speaker((_speaker_name(turns[one.turn]), wording[one]) for one in chosen)
    return SessionSummary(
        _join_lines_within_words(lines, max_words), tuple(sorted({one.turn for one in chosen}))
    )


def _speaker_name(turn: Item) -> str:
    """The name of a turn's speaker; empty when it is too long for a name."""
    name = turn.about.strip(" #:")
    return name if len(name) <= _MAX_NAME_CHARACTERS else ""


# Work with an agent --------------------------------------------------------------------------------------

_ASKED, _DECIDED, _DONE, _NOTED, _OPEN, _FILES = "Asked", "Decided", "Done", "Noted", "Open", "Files"
_SAID = "The user said"
_HEADINGS = (_OPEN, _DECIDED, _DONE, _NOTED, _SAID, _ASKED, _FILES)

_MAX_FILES = 6
_MAX_OPEN_LINES = 3
_MIN_NOTE_WORDS, _MIN_DONE_WORDS = 4, 2
_GOAL_WEIGHT, _OPEN_WEIGHT = 2.0, 4.0
_USER_WEIGHTS = {_DECIDED: 0.25, _SAID: 0.1, _ASKED: 0.1}
_AGENT_WEIGHTS = {_OPEN: _OPEN_WEIGHT, _DECIDED: 0.15, _DONE: 0.15, _NOTED: 0.0}


@dataclass(frozen=True, slots=True)
class _SummaryLine:
    """A line of the summary: its heading and text, where it comes from, and how much it says."""

    heading: str
    text: str
    turn: int
    place: int
    content_words: frozenset[str]
    weight: float
    other_turns: tuple[int, ...] = ()
    is_report: bool = False


def _summarise_agent_work(
    turns: Sequence[Item], quotable: list[int], max_words: int, headings: Sequence[str]
) -> SessionSummary:
    """A summary under these headings; questions are left out unless "Open" is one of the headings."""
    sentences = read_sentences_of_turns(
        {index: turns[index].text for index in quotable if not is_tool_output(turns[index])}
    )
    weights = find_weightiest_sentences(sentences)
    open_turns = {id(end.item) for end in find_open_ends(turns)}
    still_open = {index for index in quotable if id(turns[index]) in open_turns}
    lines = [
        *_lines_said_by_user(turns, weights, still_open),
        *_lines_said_by_agent(turns, weights, still_open),
        *_command_result_lines(turns, quotable),
    ]
    files = _changed_files_line(turns, quotable) if _FILES in headings else None
    room = max_words - (len(files.text.split()) + 1 if files else 0)
    if files and room < max_words // 2:
        files, room = None, max_words
    candidates = [
        line
        for line in lines
        if line.heading in headings and (_OPEN in headings or not is_question(line.text))
    ]
    longest = max(6, max_words // 3) if _OPEN in headings else max_words
    chosen = _choose_heaviest_lines(candidates, room, max_line_words=longest)
    return _write_under_headings([*chosen, files] if files else chosen, max_words)


def _lines_said_by_user(
    turns: Sequence[Item], weights: Mapping[Sentence, float], still_open: set[int]
) -> Iterable[_SummaryLine]:
    """The user's goals and decisions. The first and the last goal weigh more than everything else."""
    sentences = [sentence for sentence in weights if turns[sentence.turn].source.trust == "user"]
    openings = [sentence for sentence in sentences if sentence.place < 2]
    ends = {sentence.turn for sentence in (*openings[:1], *openings[-1:])}
    goals = {max((one for one in openings if one.turn == turn), key=weights.__getitem__) for turn in ends}
    for sentence in sentences:
        if leaves_something_open(sentence.text, turns[sentence.turn]):
            if sentence.turn in still_open:
                yield _line_from_sentence(_OPEN, sentence, weights[sentence] + _OPEN_WEIGHT)
            continue
        heading = _choose_user_heading(sentence.text)
        extra = _GOAL_WEIGHT if sentence in goals else _USER_WEIGHTS[heading]
        yield _line_from_sentence(heading, sentence, weights[sentence] + extra)


def _choose_user_heading(text: str) -> str:
    """The heading of a sentence by the user: a decision, a statement, or what the agent was asked for."""
    if is_decision(text):
        return _DECIDED
    return _SAID if classify_speech_act(text) == "statement" else _ASKED


def _lines_said_by_agent(
    turns: Sequence[Item], weights: Mapping[Sentence, float], still_open: set[int]
) -> Iterable[_SummaryLine]:
    """The agent's decisions, deeds and open ends, and its last question if nobody answered it."""
    sentences = [sentence for sentence in weights if turns[sentence.turn].source.trust == "agent"]
    for sentence in sentences:
        last = sentence.turn == sentences[-1].turn
        unanswered = last and all(turn.source.trust != "user" for turn in turns[sentence.turn :])
        left_open = leaves_something_open(sentence.text, turns[sentence.turn])
        if left_open and sentence.turn not in still_open:
            continue
        heading = _choose_agent_heading(sentence.text, left_open=left_open, is_unanswered=unanswered)
        if _says_enough(heading, sentence):
            weight = weights[sentence] + _AGENT_WEIGHTS[heading] + 0.2 * last
            yield _line_from_sentence(heading, sentence, weight)


def _says_enough(heading: str, sentence: Sentence) -> bool:
    """Whether a line tells something without its neighbours: a bare "Done." does not say what is done."""
    if heading == _DONE:
        return len(sentence.content_words) >= _MIN_DONE_WORDS
    return heading != _NOTED or sentence.word_count >= _MIN_NOTE_WORDS


def _choose_agent_heading(text: str, *, left_open: bool, is_unanswered: bool) -> str:
    """The heading of a sentence by the agent."""
    if left_open or (is_unanswered and text.endswith("?")):
        return _OPEN
    if is_decision(text, by_agent=True):
        return _DECIDED
    return _DONE if says_something_is_done(text) else _NOTED


def _command_result_lines(turns: Sequence[Item], quotable: list[int]) -> Iterable[_SummaryLine]:
    """The results of commands: the last result of each test runner, and the commits."""
    last_run: dict[str, _SummaryLine] = {}
    for index in quotable:
        result = read_test_result(turns[index])
        if result is not None:
            heading = _OPEN if result.failed else _DONE
            known = frozenset({f"$ {result.runner}"})
            last_run[result.runner] = _SummaryLine(heading, result.text, index, 0, known, 0.6, is_report=True)
        for place, message in enumerate(read_commit_messages(turns[index])):
            content = frozenset(message.lower().split())
            text = f"committed “{message}”"
            yield _SummaryLine(_DONE, text, index, place, content, 0.4, is_report=True)
    yield from last_run.values()


def _changed_files_line(turns: Sequence[Item], quotable: list[int]) -> _SummaryLine | None:
    """A line with the files that were changed, the most often changed first; None when there are none."""
    changes: Counter[str] = Counter()
    changing: list[int] = []
    for index in quotable:
        path = turns[index].metadata.get("file")
        if isinstance(path, str) and path:
            changes[path] += 1
            changing.append(index)
    if not changes:
        return None
    names = [name for name, _ in changes.most_common(_MAX_FILES)]
    more = f" and {len(changes) - len(names)} more" if len(changes) > len(names) else ""
    text = ", ".join(names) + more
    return _SummaryLine(_FILES, text, changing[0], 0, frozenset(), 1.0, tuple(changing), is_report=True)


def _line_from_sentence(heading: str, sentence: Sentence, weight: float) -> _SummaryLine:
    return _SummaryLine(heading, sentence.text, sentence.turn, sentence.place, sentence.content_words, weight)


def _choose_heaviest_lines(
    lines: Iterable[_SummaryLine], room: int, max_line_words: int
) -> list[_SummaryLine]:
    """The heaviest lines that fit into the room, without near repeats."""
    chosen: list[_SummaryLine] = []
    headings: Counter[str] = Counter()
    for line in sorted(lines, key=lambda line: (-line.weight, line.turn, line.place)):
        if (headings[line.heading] >= _MAX_OPEN_LINES and line.heading == _OPEN) or not line.content_words:
            continue
        text = line.text if line.heading == _OPEN else keep_first_words(line.text, max_line_words)
        cost = len(text.split()) + (0 if headings[line.heading] else 1)
        if cost > room or any(share_most_words(line.content_words, other.content_words) for other in chosen):
            continue
        room -= cost
        headings[line.heading] += 1
        chosen.append(replace(line, text=text))
    return chosen


def _write_under_headings(lines: list[_SummaryLine], max_words: int) -> SessionSummary:
    """The lines under their headings, each heading's in the order in which they were said."""
    written: list[str] = []
    for heading in _HEADINGS:
        under = [line for line in lines if line.heading == heading]
        under.sort(key=lambda line: (line.turn, line.place))
        if under:
            written.append(f"{heading}: {'; '.join(line.text.rstrip(' .;:') for line in under)}")
    quoted = {line.turn for line in lines if not line.is_report}
    reported = {turn for line in lines if line.is_report for turn in (line.turn, *line.other_turns)}
    text = _join_lines_within_words(written, max_words)
    return SessionSummary(text, tuple(sorted(quoted)), tuple(sorted(reported - quoted)))

"""The sentences of a conversation, and how much each of them says about it.

Knows words, positions, shapes and English wordings; no model and no tokens. The weights were fitted on
conversations with human summaries: what counts is to share words with other turns, to be long enough to say
something, to name things, and to come first. In a long conversation a decision is often made once and never
repeated, so what a sentence decides, requires, names or numbers is weighed separately.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from foreword.knowledge.answered import answers_question
from foreword.knowledge.word_lists import word_list
from foreword.text.sentences import split_sentences
from foreword.text.words import STOPWORDS, split_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from foreword.types import SpeechAct, Turn

    Weighed = tuple["Sentence", float]
    """A sentence and its weight."""

MAX_TURN_CHARACTERS = 2_000
"""At most this many characters of a turn are read."""

FIRST_TURNS, LAST_TURNS = 5, 15
"""How many turns at either end of a conversation are always read in full and looked at closely."""

MAX_CLOSE_SENTENCES = 300
"""At most this many of the other sentences are looked at closely."""

MAX_SHARED_TURNS = 12
"""At most this many of the turns that have a word add to its weight."""

_MAX_CHARACTERS = 60_000
_MIN_TURN_CHARACTERS = 100
_MAX_OVERLAP = 0.7
_OVERLAP_COST = 0.15


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence, its place in the conversation, and its content words."""

    text: str
    turn: int
    place: int
    content_words: frozenset[str]
    word_count: int

    @property
    def position(self) -> tuple[int, int]:
        """The number of its turn, and its place within the turn."""
        return self.turn, self.place

    @property
    def is_question(self) -> bool:
        """Whether it ends in a question mark."""
        return self.text.rstrip("\"'”’) ").endswith(("?", "？"))

    def overlap(self, others: frozenset[str]) -> float:
        """The fraction of its content words that are among the others; 1 when it has none."""
        return len(self.content_words & others) / len(self.content_words) if self.content_words else 1.0


# Reading -------------------------------------------------------------------------------------------------

_CODE_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
_BULLET = re.compile(r"^\s*(?:[-*+•>]\s+|\d{1,2}[.)]\s+|#{1,6}\s+|\|\s*)+")
_EMPHASIS = re.compile(r"\*\*|(?<!\w)\*(?=\w)|(?<=[\w.!?])\*(?!\w)")
_TABLE_RULE = re.compile(r"[\s|:=*_-]*")
SMALL_TALK = word_list("small_talk")


def read_sentences_of_turns(texts: Mapping[int, str]) -> list[Sentence]:
    """The sentences of numbered turns; turns between the two ends are cut, to bound the cost."""
    ends = {*list(texts)[:FIRST_TURNS], *list(texts)[-LAST_TURNS:]}
    share = max(_MIN_TURN_CHARACTERS, _MAX_CHARACTERS // max(1, len(texts)))
    between = min(MAX_TURN_CHARACTERS, share)
    return [
        sentence
        for turn, text in texts.items()
        for sentence in read_turn_sentences(text, turn, MAX_TURN_CHARACTERS if turn in ends else between)
    ]


def read_turn_sentences(text: str, turn: int, max_characters: int = MAX_TURN_CHARACTERS) -> list[Sentence]:
    """The sentences of a turn without code and decoration; of a long turn, only those at both ends."""
    if "```" in text or "~~~" in text:
        text = _CODE_FENCE.sub("\n", text[: max_characters * 20])
    if len(text) > max_characters:
        beginning, end = text[: max_characters * 3 // 5], text[-(max_characters * 2 // 5) :]
        text = f"{beginning.rpartition(' ')[0]}\n{end.partition(' ')[2]}"
    sentences: list[Sentence] = []
    for written in text.split("\n"):
        line = _BULLET.sub("", written).strip()
        if "*" in line:
            line = _EMPHASIS.sub("", line)
        if line and not _TABLE_RULE.fullmatch(line):
            first = len(sentences)
            # The sentences of a line are two places apart: a place below 2 begins a line, and the turn.
            sentences += (
                _read_sentence(part, turn, first + 2 * at) for at, part in enumerate(split_sentences(line))
            )
    return sentences


def _read_sentence(text: str, turn: int, place: int) -> Sentence:
    """A sentence with its content words, which are neither stop words nor small talk."""
    every = split_words(text)
    content = frozenset(
        word for word in every if len(word) > 1 and word not in STOPWORDS and word not in SMALL_TALK
    )
    return Sentence(text, turn, place, content, len(every))


# Weighing ------------------------------------------------------------------------------------------------

_SHARED_WEIGHTS = (0.0, *(math.log(turns) for turns in range(1, MAX_SHARED_TURNS + 1)))
"""The weight of a word by the number of turns that have it."""

_PLEASANTRY = re.compile(
    r"(?:hi|hello|hey|good (?:morning|evening|afternoon)|thank|thanks|bye|goodbye|sure|ok|okay|yes|no|oh"
    r"|sorry|really|you're welcome|excuse me|i'm sorry|see you|how are you|nice to|perfect|great|got it"
    r"|of course)\b[^.!?]{0,25}[.!?]*$",
    re.IGNORECASE,
)
_NAMED_THING = re.compile(r"(?<=[a-z,] )[A-Z][a-z]|\b\w+[./_]\w{2,}|`[^`]+`|\b[a-z]+[A-Z]\w|\b[A-Z]{2,}-?\d")
_CONCLUSION = re.compile(
    r"\b(?:decid\w+|agreed?|because|instead|rather than|must|prefer|recommend|suggest|plan|problem|important"
    r"|root cause|conclu\w+|turned out|fixed|failed|passed|broke|never|always)\b",
    re.IGNORECASE,
)


def find_weightiest_sentences(sentences: Sequence[Sentence]) -> dict[Sentence, float]:
    """The sentences that say most about the conversation, in its order, with their weights.

    All are weighed by words and places; only the best are also weighed by their shape, which costs more.
    """
    by_turn: dict[int, set[str]] = {}
    for sentence in sentences:
        by_turn.setdefault(sentence.turn, set()).update(sentence.content_words)
    turn_counts = Counter(word for content in by_turn.values() for word in content)
    order = {turn: at for at, turn in enumerate(by_turn)}
    rough = {one: _weigh_words(one, order[one.turn], turn_counts) for one in sentences}
    if len(rough) > MAX_CLOSE_SENTENCES:
        ends = {*list(by_turn)[:FIRST_TURNS], *list(by_turn)[-LAST_TURNS:]}
        least = sorted(rough.values(), reverse=True)[MAX_CLOSE_SENTENCES]
        rough = {one: weight for one, weight in rough.items() if weight > least or one.turn in ends}
    return {sentence: weight + _weigh_shape(sentence) for sentence, weight in rough.items()}


def _weigh_words(sentence: Sentence, turn_order: int, turn_counts: Mapping[str, int]) -> float:
    """The weight of a sentence's words, length and place, given in how many turns each word stands.

    The sum is exact: in whichever order its words come, a sentence weighs the same.
    """
    shared = math.fsum(
        _SHARED_WEIGHTS[min(turn_counts[word], MAX_SHARED_TURNS)] for word in sentence.content_words
    )
    shared /= math.sqrt(sentence.word_count) + 1
    return 0.3 * shared + 0.05 * min(sentence.word_count, 25) / 25 + 0.08 / (1 + turn_order)


def _weigh_shape(sentence: Sentence) -> float:
    """What a sentence's shape adds: more for names and conclusions, less for pleasantries and scraps."""
    text, weight = sentence.text, 0.0
    if _NAMED_THING.search(text):
        weight += 0.06
    if _CONCLUSION.search(text):
        weight += 0.05
    if sentence.word_count < 4:
        weight -= 0.05
    if _PLEASANTRY.match(text):
        weight -= 0.05
    return weight


def choose_complementary_sentences(
    weighed: Iterable[Weighed],
    fits: Callable[[Sentence], bool],
    is_full: Callable[[], bool] = lambda: False,
) -> list[Sentence]:
    """Sentences that fit, best first, until `is_full`; each adds most to those chosen before it.

    What the chosen cover can only grow, so a weight worked out earlier is never too low: only the sentence on
    top of the heap is weighed anew.
    """
    waiting = [(-weight, at, sentence, weight) for at, (sentence, weight) in enumerate(weighed)]
    waiting = [entry for entry in waiting if entry[2].content_words]
    heapq.heapify(waiting)
    chosen: list[Sentence] = []
    covered = frozenset[str]()
    while waiting and not is_full():
        before, at, sentence, weight = waiting[0]
        overlap = sentence.overlap(covered)
        now = _OVERLAP_COST * overlap - weight
        if now > before:
            heapq.heapreplace(waiting, (now, at, sentence, weight))
            continue
        heapq.heappop(waiting)
        if not (chosen and overlap > _MAX_OVERLAP) and fits(sentence):
            covered |= sentence.content_words
            chosen.append(sentence)
    return chosen


def drop_sentences_covered_by(weighed: Iterable[Weighed], chosen: Sequence[Sentence]) -> list[Weighed]:
    """The sentences that say something the chosen ones do not."""
    covered = frozenset[str]().union(*(sentence.content_words for sentence in chosen))
    return [pair for pair in weighed if not chosen or pair[0].overlap(covered) <= _MAX_OVERLAP]


# How important a sentence is -----------------------------------------------------------------------------

_FLAGS = re.IGNORECASE | re.VERBOSE
_DECISION = re.compile(
    r"""\b(?: decided | decision | agreed\ (?:on|to|that) | settled\ (?:on|for) | chose | opted | correction
      | (?:is|are|was|were|has|have|['’]ve|['’]s|i|we)\ (?:now\ )?
        (?:booked|confirmed|cancell?ed|approved|rejected|signed|scheduled|postponed|moved\ to|due)
      | instead\ of | from\ now\ on | no\ longer | any\ ?more | after\ all
      | (?:go|going|went|stick|stay)\ with | call(?:ed|ing)?\ (?:it\ )?off | deadline | (?:i|we)\ promised
      | (?:we|they)\ (?:won['’]t|will\ not|will\ (?:use|skip|drop|keep|take|start|stop|move|leave))
      | let['’]s\ (?:use|skip|drop|keep|take|move|cancel|postpone)
      | (?:i|we)(?:['’]m|['’]re|\ am|\ are)\ (?:moving|leaving|quitting|selling|buying|switching|expecting)
      | (?:raised|lowered|changed|moved|extended|cut)\ (?:\w+\ ){1,4}(?:to|until) )\b""",
    _FLAGS,
)
_REQUIREMENT = re.compile(
    r"""\b(?: (?:may|must|can)\ not | mustn['’]t | nobody\ (?:may|can) | not\ allowed | forbidden | required
      | at\ (?:most|least) | allerg(?:y|ic|ies) | diabet(?:es|ic) | vegetarian | vegan | pregnant
      | intoleran\w+ | \w+sick | afraid\ of | can['’]t\ (?:eat|drink|drive|swim|stand) | i\ hate
      | (?:i|we)\ prefer | expires? | owns | reports\ to | works\ (?:at|for) | blocks | responsible\ for )\b
      | ^(?:please\ )?(?:do\ not|don['’]t|never)\b""",
    _FLAGS,
)
_FIRM = re.compile(r"\b(?:must|never|always|only)\b", re.IGNORECASE)
_LASTING_FACT = re.compile(
    r"""\b(?:my|our|the)\ (?:[a-z]+\ ){1,3}(?:is|are|will\ be|starts?|ends?|expires?|costs?)\b
      | \bmy\ (?:son|daughter|wife|husband|partner|boss|mother|father|sister|brother|doctor|landlord)\b""",
    _FLAGS,
)
_FORM_OF_ADDRESS = re.compile(r"^(?:\w{1,8},?\s)?[A-Z]\w+[,!]\s|,\s[A-Z]\w+\s*[.!?]*$")
_NUMBER = re.compile(r"(?<![\w.])[#$€£]?\d[\d.,:/-]*\w*|\b[A-Z]{2,}-?\d+\b")
_NAME = re.compile(r"(?<=[\w,;:] )(?!I\b)[A-Z][\w'’-]+|^[A-Z][\w'’-]+(?= [A-Z])")
_MONTHS_AND_DAYS = frozenset(
    {*("January", "February", "March", "April", "May", "June", "July", "August", "September", "October")}
    | {"November", "December", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
)
_FEELING = re.compile(
    r"""\b(?: awesome | amazing | wow | congrat\w+ | thanks | thank\ you | glad | proud | great | wonderful
      | lovely | so\ (?:cool|sweet|happy|nice) | sounds | feel(?:s|ing)? | love[ds]? | inspir\w+ | excited
      | keep\ it\ up | how\ about\ you )\b | !\s*$""",
    _FLAGS,
)
_ASKS_FOR_FACT = re.compile(
    r"\b(?:who|whose|when|where|which|how\ (?:much|many|long|often)|shall|should|may)\b", _FLAGS
)
_COUNT_WEIGHTS = (0.0, 1.0, 1.4)
"""The weight of no, one, or two and more names or numbers: a second adds less than the first."""

_FULL_WEIGHT_WORDS = 16
"""A sentence of more words than this weighs less the longer it is."""

_MIN_CONTENT_WORDS = 2


def weigh_importance(sentence: Sentence) -> float:
    """How important a statement is: 0 for most, above 1 for a dated decision about somebody."""
    text = _FORM_OF_ADDRESS.sub(" ", sentence.text)
    names = len({name for name in _NAME.findall(text) if name.removesuffix("s") not in _MONTHS_AND_DAYS})
    numbers = len(_NUMBER.findall(text))
    weight = 0.3 * _COUNT_WEIGHTS[min(numbers, 2)] + 0.25 * _COUNT_WEIGHTS[min(names, 2)]
    if _DECISION.search(text):
        weight += 0.4
    if _REQUIREMENT.search(text):
        weight += 0.3
    if weight:
        weight += 0.15 * bool(_LASTING_FACT.search(text)) + 0.15 * bool(_FIRM.search(text))
    if weight and _FEELING.search(text):
        weight *= 0.5
    return weight * min(1.0, _FULL_WEIGHT_WORDS / max(1, sentence.word_count))


def asks_for_fact(sentence: Sentence) -> bool:
    """Whether a question asks who, when or how much, and has content words of its own."""
    return len(sentence.content_words) >= _MIN_CONTENT_WORDS and bool(_ASKS_FOR_FACT.search(sentence.text))


# A conversation, turn by turn ----------------------------------------------------------------------------

_ACT_WEIGHTS: Mapping[SpeechAct, float] = {
    "decision": 0.1,
    "promise": 0.06,
    "correction": 0.05,
    "greeting": -0.15,
    "thanks": -0.15,
    "apology": -0.15,
}
_PROMISE = re.compile(r"\b(?:i|we)(?:'ll| will| promise|(?:'m| am|'re| are) going to)\b", re.IGNORECASE)
_OPEN_QUESTION, _ANSWERED_QUESTION = 0.05, -0.02
_SHORT_CONVERSATION_TURNS = 40
"""In at most this many turns, shared words show what they are about; in more turns, mere repetition."""

_MAX_IMPORTANT, _MAX_UNUSUAL = 120, 100
_MIN_IMPORTANCE, _OPEN_IMPORTANCE = 0.2, 0.3
_QUESTION_IMPORTANCE = 0.01
"""Marks a question that is important only as long as it is open."""

_ACT_IMPORTANCE: Mapping[SpeechAct, float] = {"decision": 0.4, "correction": 0.4, "refusal": 0.2}
_MAX_TURNS_TO_REPLY = 3
_MAX_ACT_SENTENCES = 2
"""In a turn of more sentences it is unclear which of them its speech act belongs to."""


class ConversationWeights:
    """The sentences of one conversation and their weights, updated turn by turn; not thread-safe.

    A turn more or less changes the weight of few sentences: those that share its words, unless many turns
    share them already. Only these are weighed anew, and the result is what reading everything again would
    give. What a turn does (it decides, promises, asks, greets) counts beside its words: as the turn itself
    says, or as far as a sentence shows it.
    """

    def __init__(self, read: Callable[[str], Sequence[Sentence]]) -> None:
        """`read` gives the sentences of a text; their turn does not matter."""
        self.turns: list[Turn] = []
        self.read_sentences = read
        self._sentences: list[Sentence] = []
        self._weights: list[float] = []
        self._importance: dict[int, float] = {}
        self._first_sentences: list[int] = []
        self._turn_counts: Counter[str] = Counter()
        self._sentences_with: defaultdict[str, list[int]] = defaultdict(list)
        self._stale: set[int] = set()
        self._shapes: dict[int, float] = {}
        self._since: Sequence[Turn] = ()
        self._words_since: set[str] = set()

    def update(self, turns: Sequence[Turn], since: Sequence[Turn] = ()) -> None:
        """Replace the turns by these; the turns that both begin with are not read again.

        The turns `since` have no weights; they only show which questions were answered.
        """
        same = _count_same_at_start(self.turns, turns)
        while len(self.turns) > same:
            self._remove_last_turn()
        for turn in turns[same:]:
            self._add_turn(turn)
        self._since = since
        later = (sentence for turn in since for sentence in self.read_sentences(turn.text))
        self._words_since = {word for sentence in later for word in sentence.content_words}

    def sentences_of_turn(self, turn: int) -> Sequence[Sentence]:
        """The sentences of a turn, in their order."""
        return self._sentences[self._first_sentences[turn] : self._first_sentence_of_turn(turn + 1)]

    def is_open(self, question: Sentence) -> bool:
        """Whether a question is open: nobody else has stated anything since, or nobody took it up.

        One that says nothing of its own ("How about you?") is never open.
        """
        if len(question.content_words) < _MIN_CONTENT_WORDS:
            return False
        if question.turn >= self._first_turn_with_open_questions():
            return True
        return asks_for_fact(question) and self._is_left_open(question)

    def weigh(self) -> list[Weighed]:
        """The sentences that say most about the conversation, in its order, with their weights."""
        self._weigh_stale_sentences()
        first_open = self._first_turn_with_open_questions()
        return [
            (self._sentences[at], self._weights[at] + self._weigh_shape_and_openness(at, first_open))
            for at in self._notable_sentences()
        ]

    def important_sentences(self) -> list[Weighed]:
        """What a long conversation must not lose: decisions, demands, names, numbers, open questions."""
        if len(self.turns) <= _SHORT_CONVERSATION_TURNS:
            return []
        importance = {
            at: _OPEN_IMPORTANCE if weight == _QUESTION_IMPORTANCE else weight
            for at, weight in self._importance.items()
            if weight != _QUESTION_IMPORTANCE or self._is_left_open(self._sentences[at])
        }
        best = heapq.nlargest(_MAX_IMPORTANT, importance, key=importance.__getitem__)
        return [(self._sentences[at], importance[at]) for at in sorted(best)]

    def unusual_sentences(self) -> list[Weighed]:
        """The sentences that share least with the rest of a long conversation; no questions, no scraps."""
        if len(self._sentences) <= MAX_CLOSE_SENTENCES:
            return []
        self._weigh_stale_sentences()
        least = heapq.nsmallest(_MAX_UNUSUAL, range(len(self._sentences)), key=self._weights.__getitem__)
        found = ((self._sentences[at], self._shape_score(at)) for at in sorted(least))
        return [(one, weight) for one, weight in found if weight >= 0.0 and not one.is_question]

    def _weigh_stale_sentences(self) -> None:
        """Weigh anew the sentences whose words are in more or fewer turns than before."""
        for at in self._stale:
            sentence = self._sentences[at]
            self._weights[at] = _weigh_words(sentence, sentence.turn, self._turn_counts)
        self._stale.clear()

    def _is_left_open(self, question: Sentence) -> bool:
        """Whether no later turn has one of the question's content words, and the reply does not answer it."""
        if not self._words_since.isdisjoint(question.content_words):
            return False
        last = (self._sentences_with[word][-1] for word in question.content_words)
        if not all(self._sentences[at].turn == question.turn for at in last):
            return False
        reply = self._find_reply_to_question(question)
        return reply is None or not answers_question(
            question.text, self._statements_of_turn(reply), by_assistant=reply.role == "assistant"
        )

    def _find_reply_to_question(self, question: Sentence) -> Turn | None:
        """The next turn of another speaker after a question, among the next few turns."""
        later = self.turns[question.turn + 1 : question.turn + 1 + _MAX_TURNS_TO_REPLY]
        speaker = self.turns[question.turn].speaker
        later += self._since[: _MAX_TURNS_TO_REPLY - len(later)]
        return next((turn for turn in later if turn.speaker != speaker), None)

    def _statements_of_turn(self, turn: Turn) -> str:
        """The sentences of a turn that are no questions."""
        return " ".join(one.text for one in self.read_sentences(turn.text) if not one.is_question)

    def _add_turn(self, turn: Turn) -> None:
        """Add a turn's sentences, and mark those whose weights it changes as stale."""
        number = len(self.turns)
        self.turns.append(turn)
        self._first_sentences.append(len(self._sentences))
        sentences = self.read_sentences(turn.text)
        act = turn.speech_act if len(sentences) <= _MAX_ACT_SENTENCES else None
        of_act = _ACT_IMPORTANCE.get(act, 0.0) if act else 0.0
        for sentence in sentences:
            at = len(self._sentences)
            self._sentences.append(replace(sentence, turn=number))
            self._weights.append(0.0)
            importance = max(_importance_when_said(sentence), of_act)
            if importance == _QUESTION_IMPORTANCE or importance >= _MIN_IMPORTANCE:
                self._importance[at] = importance
            self._stale.add(at)
            for word in sentence.content_words:
                self._sentences_with[word].append(at)
        self._adjust_turn_counts_of_words(self._words_of_last_turn(), 1)

    def _remove_last_turn(self) -> None:
        """Remove the last turn's sentences, and mark those whose weights it changes as stale."""
        first = self._first_sentences[-1]
        lost = self._words_of_last_turn()
        for word in lost:
            places = self._sentences_with[word]
            while places and places[-1] >= first:
                places.pop()
        self._adjust_turn_counts_of_words(lost, -1)
        for at in range(first, len(self._sentences)):
            self._stale.discard(at)
            self._shapes.pop(at, None)
            self._importance.pop(at, None)
        del self._sentences[first:], self._weights[first:], self._first_sentences[-1]
        self.turns.pop()

    def _words_of_last_turn(self) -> set[str]:
        last = self._sentences[self._first_sentences[-1] :]
        return {word for sentence in last for word in sentence.content_words}

    def _adjust_turn_counts_of_words(self, changed: set[str], change: int) -> None:
        """Count one turn more or less for these words, and mark the sentences that this changes as stale."""
        for word in changed:
            before = self._turn_counts[word]
            self._turn_counts[word] = before + change
            if min(before, before + change) < MAX_SHARED_TURNS:
                self._stale.update(self._sentences_with[word])
            if not self._turn_counts[word]:
                del self._turn_counts[word], self._sentences_with[word]

    def _notable_sentences(self) -> list[int]:
        """The places of the sentences worth a closer look: the heaviest, and those at both ends."""
        count = len(self._sentences)
        if count <= MAX_CLOSE_SENTENCES:
            return list(range(count))
        least = heapq.nlargest(MAX_CLOSE_SENTENCES, self._weights)[-1]
        best = [at for at, weight in enumerate(self._weights) if weight >= least]
        beginning, end = (
            self._first_sentence_of_turn(FIRST_TURNS),
            self._first_sentence_of_turn(len(self.turns) - LAST_TURNS),
        )
        return sorted({*best, *range(beginning), *range(end, count)})

    def _first_sentence_of_turn(self, turn: int) -> int:
        """The place of a turn's first sentence; 0 before the first turn, and the end after the last."""
        if turn >= len(self._first_sentences):
            return len(self._sentences)
        return self._first_sentences[turn] if turn > 0 else 0

    def _weigh_shape_and_openness(self, at: int, first_open: int) -> float:
        """The weight that a sentence's shape, its speech act and, for a question, its being open add."""
        sentence = self._sentences[at]
        if not sentence.is_question:
            return self._shape_score(at)
        return self._shape_score(at) + (_ANSWERED_QUESTION if sentence.turn < first_open else _OPEN_QUESTION)

    def _shape_score(self, at: int) -> float:
        """The weight of a sentence's shape and speech act, worked out once."""
        if at not in self._shapes:
            sentence = self._sentences[at]
            act = self.turns[sentence.turn].speech_act
            if act is None and _PROMISE.search(sentence.text):
                act = "promise"
            self._shapes[at] = _weigh_shape(sentence) + (_ACT_WEIGHTS.get(act, 0.0) if act else 0.0)
        return self._shapes[at]

    def _first_turn_with_open_questions(self) -> int:
        """The first turn whose questions are open: no other speaker has made a statement since."""
        answering = {turn.speaker for turn in self._since if self._statements_of_turn(turn)}
        for turn in range(len(self.turns) - 1, -1, -1):
            if answering - {self.turns[turn].speaker}:
                return turn + 1
            if not all(sentence.is_question for sentence in self.sentences_of_turn(turn)):
                answering.add(self.turns[turn].speaker)
        return 0


def _importance_when_said(sentence: Sentence) -> float:
    """The importance of a statement; for a question about a fact a mark, as it matters only while open."""
    if not sentence.is_question:
        return weigh_importance(sentence)
    return _QUESTION_IMPORTANCE if asks_for_fact(sentence) else 0.0


def _count_same_at_start(known: Sequence[Turn], turns: Sequence[Turn]) -> int:
    """How many turns both begin with; mostly they are the very same objects, which is quick to see."""
    same = 0
    for one, other in zip(known, turns, strict=False):
        if one is not other and one != other:
            break
        same += 1
    return same

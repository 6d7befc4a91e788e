"""Find the sentences of a message that ask something, and separate them from pasted text.

People paste logs, tracebacks and diffs before, after and around a question. A search and a model give most
weight to the beginning of a long text, so `shorten_with_question_first` puts the question there. Pasted lines
are recognised by their form alone; no programming language is known here.
"""

from __future__ import annotations

import re

from foreword.text.sentences import split_sentences
from foreword.text.shorten import replace_middle_by_ellipsis

MAX_QUESTION_CHARACTERS = 2_000
"""A search is made with at most this many characters of a message; more words would blur its meaning."""

MAX_SHORT_CHARACTERS = 400
"""A message of at most this length is used unchanged."""

_MAX_LOOKED_AT = 100_000
"""At most this many characters of a message, from its two ends, are examined for a question."""

_MAX_QUESTION_SHARE = 0.5
"""At most this share of a shortened message is the question; the rest is text around it."""

_QUESTION_MARK = re.compile(r"[?？؟]!*[\"'”’»)\]*_]*\s*(?:[:;]-?[)(D])?\s*\Z")
_BEGINS_LIKE_A_QUESTION = re.compile(
    r"""\W*
        (?:(?:and|so|ok|okay|but|also|then|well|or|yes|no|hi|hello|hey|now|btw|sorry|thanks|thx|thank\ you|lol
            |great|good|perfect|cool|fine)\b\W*)*
        (?:(?:about|after|at|before|by|for|from|in|of|on|since|till|to|until|with)\s+)?
        (?:(?:what|when|where|who|whom|whose|which|why|how)(?:['’](?:s|re|d|ll))?\b(?!\s+(?:a|an)\b)
          |(?:am|are|is|was|were|do|does|did|can|could|may|might|must|should|shall|will|would|has|have|had)
            (?:n['’]t)?\s+(?:i|we|you|he|she|it|they|there|this|that|these|those|the|my|our|your|his|her|their
            |anyone|anybody|someone|somebody|any|one)\b)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_REQUEST = re.compile(
    r"""\b(?:can|could|would|will)\s+(?:you|u)\b | \b(?:please|pls|plz)\b | \bhelp\s+me\b
      | \b(?:i|we)\s+(?:need|want|would\ like|['’]d\ like)\s+(?:you\s+)?to\s+know\b
      | \A\W*(?:explain|tell|show|find|fix|help|describe|summari[sz]e|compare|check|debug|review|look\s+at
        |list|suggest|write|rewrite|translate|give\s+me|make|add|remove|change|update|refactor|implement)\s+\S
    """,
    re.IGNORECASE | re.VERBOSE,
)

_DIFF = re.compile(r"^(?:diff --git |@@ .*@@|\+\+\+ \S|Index: \S)", re.MULTILINE)
_DIFF_LINE = re.compile(r"[+\- @]|diff |index [0-9a-f]|Index: |new file |deleted file |rename |similarity ")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_PRINTED = re.compile(
    r"""(?:\t|\ {2,})\S                                           # indented
      | [\[(]?(?:\d{4}[-/]\d\d[-/]\d\d|\d\d:\d\d(?::\d\d)?|\w{3}\s+\d+\s\d\d:\d\d)\b   # a time
      | [\[<(]?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|PANIC|SEVERE)\b
      | (?:Traceback|Caused\ by:|Exception\ in|During\ handling\ of|The\ above\ exception|goroutine\ \d)
      | (?:[\w$]+\.)*[A-Z]\w*(?:Error|Exception|Warning|Failure)\b(?::|\s*\Z)
      | (?:error|warning|fatal|panic|failed)(?:\[\w+\])?:\s
      | (?:at|in|from)\s+\S+[(:]\S*\d | File\ " | E\s{2,} | [>|$%\#]\s*\S | \#\d+\s
      | (?:FAILED|PASSED)\b | npm\ (?:ERR|WARN) | make(?:\[\d+\])?: | [=*_~-]{3,}
    """,
    re.VERBOSE,
)
_PROSE_CHARACTER = re.compile(r"[^\W\d_]|[\s,.'’?!\"¿¡。、，！？-]")
_MIN_PROSE_SHARE = 0.86
"""A line with a smaller share of letters, blanks and plain punctuation was not written by a person."""


def asks_or_requests(text: str) -> bool:
    """Whether a message asks or requests something, with a question mark or without one."""
    return bool(find_asking_sentences(text))


def find_asking_sentences(text: str) -> list[str]:
    """The sentences of a message that ask or request something, in order, without pasted text."""
    return [
        sentence
        for sentence in split_sentences(_blank_pasted_lines(text))
        if _is_question_or_request(sentence)
    ]


def shorten_with_question_first(text: str, max_characters: int = MAX_QUESTION_CHARACTERS) -> str:
    """A long message, shortened to `max_characters`, with its question on the first line; else unchanged.

    If nothing is asked, the text that a person wrote beside pasted text counts as the question. Of the rest,
    the two ends are kept.
    """
    text = text.strip()
    if len(text) <= min(MAX_SHORT_CHARACTERS, max_characters):
        return text
    text = replace_middle_by_ellipsis(text, _MAX_LOOKED_AT)
    written = _blank_pasted_lines(text)
    asked = " ".join(find_asking_sentences(text)) or ("" if written == text else " ".join(written.split()))
    if not asked:
        return replace_middle_by_ellipsis(text, max_characters)
    asked = replace_middle_by_ellipsis(" ".join(asked.split()), int(max_characters * _MAX_QUESTION_SHARE))
    if text.startswith(asked):
        return replace_middle_by_ellipsis(text, max_characters)
    return f"{asked}\n{replace_middle_by_ellipsis(text, max_characters - len(asked) - 1)}"


def _is_question_or_request(sentence: str) -> bool:
    """Whether a sentence asks or requests something."""
    if _QUESTION_MARK.search(sentence):
        return True
    if sentence.rstrip().endswith("!"):
        return bool(_REQUEST.search(sentence))  # "How nice!" asks nothing
    return bool(_BEGINS_LIKE_A_QUESTION.match(sentence) or _REQUEST.search(sentence))


def _blank_pasted_lines(text: str) -> str:
    """The text with blank lines in place of fenced code, diffs and lines that a program printed."""
    if "\n" not in text:
        return text
    is_diff, fenced = bool(_DIFF.search(text)), False
    kept: list[str] = []
    for line in text.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
            kept.append("")
            continue
        pasted = fenced or (is_diff and _DIFF_LINE.match(line)) or _is_code_or_output(line)
        kept.append("" if pasted else line)
    return "\n".join(kept).strip()


def _is_code_or_output(line: str) -> bool:
    """Whether a line looks like code or like the output of a program."""
    if not line.strip():
        return False
    if _PRINTED.match(line):
        return True
    if _QUESTION_MARK.search(line) and " " in line.strip():
        return False
    return len(_PROSE_CHARACTER.findall(line)) < _MIN_PROSE_SHARE * len(line)

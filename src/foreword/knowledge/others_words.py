"""Tells a turn's own words from those that it only reports or hands over to be worked on.

    My friend said: I am gluten intolerant.             the friend's
    She said "I'm allergic to eggs".                    hers
    Translate to French: I live in Boston.              a text, whoever wrote it
    I live in Boston. Please translate that.            the same

What speakers quote of themselves ("I told them: I'm vegan") is their own. Where an unquoted report in the
first person ends cannot be seen, so it goes on to the end of its paragraph; a text to be worked on goes on to
the end of the turn.
"""

from __future__ import annotations

import re

from foreword.knowledge.user_cues import find_cue, matches_cue
from foreword.text.clean import plain_line
from foreword.text.sentences import sentence_spans, split_sentences

_QUOTATION = re.compile(
    r"""(?P<double>"[^"]{1,1000}"|“[^”"]{1,1000}[”"]|„[^“”"]{1,1000}[“”"]|«[^»]{1,1000}»)
      | (?<!\w)['‘](?=\S)[^\n]{1,300}?(?<=\S)['’](?!\w)""",
    re.VERBOSE,
)
_MIN_WORDS_QUOTED = 3
"""A shorter quotation without a word for its speaker is a name: call me "Big Sam"."""

_CHARACTERS_BEFORE = 60
_PARAGRAPH_END = re.compile(r"\n\s*\n|\Z")


def hide_others_words(text: str) -> str:
    """The text with blanks in place of all words that are not its speaker's own; as long as the text."""
    return _hide_texts_to_work_on(_hide_reported_speech(_QUOTATION.sub(_hide_quotation_of_others, text)))


def _hide_quotation_of_others(match: re.Match[str]) -> str:
    """Blanks between the marks of a quotation; unchanged if it is a name or the speaker's own words."""
    inner = match.group()[1:-1]
    before = match.string[max(0, match.start() - _CHARACTERS_BEFORE) : match.start()]
    speaks = matches_cue("speaker", plain_line(inner))
    is_short = not speaks and len(inner.split()) < _MIN_WORDS_QUOTED
    if is_short or matches_cue("says_oneself", plain_line(before)):
        return match.group()
    end = inner[-1] if inner[-1] in ".!?" else " "  # a stop that ends the quotation may end the sentence, too
    return match.group()[0] + _blanks_of_same_length(inner[:-1]) + end + match.group()[-1]


def _hide_reported_speech(text: str) -> str:
    """The text without what somebody else is said to have said, in the first person and without quotes."""
    for start, end in sentence_spans(text):
        sentence = text[start:end]
        if matches_cue("said_by", plain_line(sentence)):
            text = text[:start] + _blanks_of_same_length(sentence) + text[end:]
        elif report := find_cue("says", sentence):
            stop = _end_of_reported_speech(text, start + report.end())
            text = text[:start] + _blanks_of_same_length(text[start:stop]) + text[stop:]
    return text


def _end_of_reported_speech(text: str, start: int) -> int:
    """Where a report that begins at `start` ends: with its first sentence, or with its paragraph.

    After "I", every following "I" may be the same person's.
    """
    start += len(text[start:]) - len(text[start:].lstrip())
    paragraph = _PARAGRAPH_END.search(text, start)
    stop = paragraph.start() if paragraph else len(text)
    first = next(iter(split_sentences(text[start:stop])), "")
    return stop if matches_cue("speaker", plain_line(first)) else start + len(first)


def _hide_texts_to_work_on(text: str) -> str:
    """The text without what is to be translated, rewritten or checked, before or after the request for it."""
    for start, end in sentence_spans(text):
        plain = plain_line(text[start:end])
        is_previous = matches_cue("works_on_previous", plain)
        if matches_cue("works_on_following", plain) or (is_previous and not text[:start].strip()):
            return text[:start] + _blanks_of_same_length(text[start:])
        if is_previous:
            text = _blanks_of_same_length(text[:end]) + text[end:]
        elif matches_cue("works_on_same", plain):
            text = text[:start] + _blanks_of_same_length(text[start:end]) + text[end:]
    return text


def _blanks_of_same_length(text: str) -> str:
    """As many blanks as the text has characters, with its line breaks."""
    return "".join("\n" if character == "\n" else " " for character in text)

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foreword.text.sentences import sentence_spans, split_sentences

PROSE = [
    # Plain stops.
    ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
    ("Really?! Yes... Good… Done", ["Really?!", "Yes...", "Good…", "Done"]),
    ("yes. we deploy on friday. no tests", ["yes.", "we deploy on friday.", "no tests"]),
    ("Well... maybe not. Wait… what?", ["Well... maybe not.", "Wait… what?"]),
    ("No. We never did.", ["No.", "We never did."]),
    ("no. we never did", ["no.", "we never did"]),
    ("Here 4! = 24. Next", ["Here 4! = 24.", "Next"]),
    ("lg 5.6 cu . ft range", ["lg 5.6 cu . ft range"]),
    ("The max. value is in Fig. 3.", ["The max. value is in Fig. 3."]),
    ("So did I. Then we left.", ["So did I.", "Then we left."]),
    ("It costs 5. Then it stops.", ["It costs 5.", "Then it stops."]),
    # What a stop belongs to.
    ("Dr. Smith and Mrs. Lee met. They agreed.", ["Dr. Smith and Mrs. Lee met.", "They agreed."]),
    ("Use a cache, e.g. Redis. It helps.", ["Use a cache, e.g. Redis.", "It helps."]),
    ("J. R. Smith wrote it. It works.", ["J. R. Smith wrote it.", "It works."]),
    ("See No. 5 and Fig. 2. Both fit.", ["See No. 5 and Fig. 2.", "Both fit."]),
    ("It began on Jan. 3 and ended in Feb. Then silence.", None),
    ("At 5 p.m. we left. At 6 p.m. They came.", ["At 5 p.m. we left.", "At 6 p.m.", "They came."]),
    ("Logs, metrics, etc. are kept. Traces etc. Not more.", None),
    ("Acme Inc. bought it. So did Foo Ltd. It was cheap.", None),
    ("The U.S. office opened. It is small.", ["The U.S. office opened.", "It is small."]),
    ("Ask the U.S. Post Office. He is in the U.S. They left.", None),
    ("Meet at 7 p. m. or 2 a. m. Bye, Ann.", ["Meet at 7 p. m. or 2 a. m.", "Bye, Ann."]),
    ("Oats, rye, etc. , and salt.", ["Oats, rye, etc. , and salt."]),
    ("Upgrade to v1.2 or 3.5 now. Then test.", ["Upgrade to v1.2 or 3.5 now.", "Then test."]),
    ("Edit file.py. Then run Node.js. Done.", ["Edit file.py.", "Then run Node.js.", "Done."]),
    ("We moved to 3.12. It is faster.", ["We moved to 3.12.", "It is faster."]),
    ("See https://a.example/x?y=1.5&z. It helps.", ["See https://a.example/x?y=1.5&z.", "It helps."]),
    ("Write to a.b@c.example. Thanks.", ["Write to a.b@c.example.", "Thanks."]),
    ("Call `a. B` and ``c. `D`. E``. Then stop.", ["Call `a. B` and ``c. `D`. E``.", "Then stop."]),
    ("A lone ` is no code. Really.", ["A lone ` is no code.", "Really."]),
    # Quotes and brackets after the stop.
    ('He said "Go." Then he left.', ['He said "Go."', "Then he left."]),
    ('"Stop!" he said. (Twice.) "Why?"', ['"Stop!" he said.', "(Twice.)", '"Why?"']),
    ("It works (finally!) and is fast. **Good.** Next.", None),
    ("It is “done.” ‘Yes.’ [No.] Right", ["It is “done.”", "‘Yes.’", "[No.]", "Right"]),
    # Other scripts.
    ("我们用SQLite。测试很快！真的吗？是", ["我们用SQLite。", "测试很快！", "真的吗？", "是"]),
    ("「行こう。」と彼は言った。次。", ["「行こう。」", "と彼は言った。", "次。"]),
    ("هل هذا صحيح؟ نعم. حسنا", ["هل هذا صحيح؟", "نعم.", "حسنا"]),
]
EXPECTED = {
    "Ask the U.S. Post Office. He is in the U.S. They left.": [
        "Ask the U.S. Post Office.",
        "He is in the U.S.",
        "They left.",
    ],
    "It began on Jan. 3 and ended in Feb. Then silence.": [
        "It began on Jan. 3 and ended in Feb.",
        "Then silence.",
    ],
    "Logs, metrics, etc. are kept. Traces etc. Not more.": [
        "Logs, metrics, etc. are kept.",
        "Traces etc.",
        "Not more.",
    ],
    "Acme Inc. bought it. So did Foo Ltd. It was cheap.": [
        "Acme Inc. bought it.",
        "So did Foo Ltd.",
        "It was cheap.",
    ],
    "It works (finally!) and is fast. **Good.** Next.": [
        "It works (finally!) and is fast.",
        "**Good.**",
        "Next.",
    ],
}


@pytest.mark.parametrize(("text", "sentences"), PROSE)
def test_prose_is_cut_where_its_sentences_end(text, sentences):
    assert split_sentences(text) == (sentences or EXPECTED[text])


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Hello Bob\nThe deploy failed\nTry again", ["Hello Bob", "The deploy failed", "Try again"]),
        ("The first\nhalf of it. Next", ["The first\nhalf of it.", "Next"]),
        (
            "A line that was only broken because it was as long as a line can be in\nEmacs. Next",
            ["A line that was only broken because it was as long as a line can be in\nEmacs.", "Next"],
        ),
        ("one paragraph\n\nand another", ["one paragraph", "and another"]),
        ("Steps:\n- build\n- test it\n  well\n* ship", ["Steps:", "- build", "- test it\n  well", "* ship"]),
        ("1. Build. Then test.\n2. Ship.", ["1. Build.", "Then test.", "2. Ship."]),
        ("### 1. **Check it**\nThen go.", ["### 1. **Check it**", "Then go."]),
        ("# The title\nbegins here", ["# The title", "begins here"]),
        ("Title\n=====\nText", ["Title", "=====", "Text"]),
        ("| a | b. C |\n|---|---|\n| c | d |", ["| a | b.", "C |", "|---|---|", "| c | d |"]),
        ("they said\n> no way\n> ever", ["they said", "> no way", "> ever"]),
        (
            "Run this:\n```sh\na. B\n\nc\n```\nthen stop.",
            ["Run this:", "```sh\na. B\n\nc\n```", "then stop."],
        ),
        ("~~~\nnever. Closed", ["~~~\nnever. Closed"]),
        ("windows\r\n\r\nlines", ["windows", "lines"]),
        ("", []),
        (" \n\t\n ", []),
    ],
)
def test_lines_and_blocks_end_sentences(text, sentences):
    assert split_sentences(text) == sentences


PIECES = (
    *(
        "a",
        "Bc",
        "e.g",
        ".",
        "...",
        "! ",
        "?",
        " ",
        "\n",
        "\n\n",
        "`",
        "``",
        "```",
        "~~~\n",
        "- ",
        "1. ",
        "# ",
    ),
    *("|", '"', "”", ")", "。", "」", "3.5", "https://x.y/z", "Dr", "\r", "\x1c", "\u2028", "…", "*", "\0"),
)


@given(st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=60).map("".join)))
@example("\x1c.")
def test_spans_are_ordered_apart_and_cover_all_that_is_not_blank(text):
    spans = sentence_spans(text)
    covered = set()
    before = 0
    for start, end in spans:
        assert before <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        covered.update(range(start, end))
        before = end
    assert all(text[at].isspace() for at in range(len(text)) if at not in covered)


UNITS = (
    *(
        ".",
        "?",
        "`",
        "``a",
        "`a`` ",
        "```\n",
        "~~~",
        "\n",
        " ",
        " \n",
        "a",
        "(",
        '."',
        "。",
        "| ",
        "- ",
        "\n```",
    ),
    *("Dr. ", "e.", "1.", "*", "...a", "# ", "x\n", "_", " .", ". ", '"', "\n>"),
)


@pytest.mark.parametrize("unit", UNITS)
def test_no_long_text_keeps_it_busy(unit):
    """Anything but one pass over a hundred thousand characters would take a minute."""
    text = unit * (100_000 // len(unit))
    spans = sentence_spans(text)
    assert len(text.strip()) == 0 or (spans[0][0] >= 0 and spans[-1][1] == len(text.rstrip()))

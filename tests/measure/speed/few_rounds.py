"""One task of a part of the bench as its own process runs it, but with few rounds of few questions.

Started in the interpreter's place, with the words that it would be given: -P -m foreword_measure.speed PART …
"""

from __future__ import annotations

import runpy
import sys

from foreword_measure.speed import assemble, corpus, dialogue, gap, proxy, searching

QUESTIONS = 1
"""How many questions of each shape are asked."""


def main():
    searching._ROUNDS = assemble._ROUNDS = assemble._FIRST_CALLS = 1
    assemble._QUESTIONS, assemble._COMPARED, assemble._REPEATED = QUESTIONS, 40, 2
    # Twenty exchanges leave a part of every prompt empty.
    dialogue._RUNS, dialogue._WARM_UP_RUNS, dialogue._OPENINGS = 40, 1, 2
    gap._RUNS, gap._WARM_UP_RUNS, gap._MESSAGES = 3, 1, 100
    proxy._RUNS, proxy._WARM_UP_RUNS = 4, 1
    ask = corpus.invent_questions
    corpus.invent_questions = lambda size, each=QUESTIONS: ask(size, each)
    del sys.argv[1:4]
    runpy.run_module("foreword_measure.speed", run_name="__main__")


if __name__ == "__main__":
    main()

r"""Teach the reader, which judges whether a statement helps with a prompt, and write its weights.

    python tools/teach_reader.py --lessons measure/lessons --more ../shared/data/relevance \
        --test h9 --out reader.onnx

Reads the histories of all hands in the folders and teaches on all hands but the one that is kept for the
test: first a teacher of twelve layers, from the bundled ms-marco-MiniLM-L-12-v2, then a student with half of
its layers, which is what is written, in int8. Prints for both how they do on the test hand, with and without
what was said before and after a statement: how much of what a prompt needs is found, how much of what is told
is noise, how often something outdated is told, and how often nothing where nothing helps. What the pages say
of it is in docs/reader.md.

Needs torch and onnx (`pip install '.[teach]'`), which nothing else does, and takes six minutes on one
graphics card. New weights are put in their place by hand: the file, its digest in `foreword.spaces.bundled`,
and the curve in `foreword.recall.read`.
"""

from __future__ import annotations

import argparse
import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import reader_data as data
from tokenizers import Tokenizer

from foreword.pipeline import FLOOR
from foreword.recall.read import probability
from foreword.spaces.bundled import MINILM, VOCABULARY, WEIGHTS, BundledEmbeddingProvider, read_model_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

    from reader_data import History, Prompt, Row

    Judge = Callable[[Sequence[Row]], list[float]]

_PUBLISHED = Path(__file__).parent.parent / "src/foreword/spaces/models" / MINILM.name / WEIGHTS
_KEPT_LAYERS = (1, 3, 5, 7, 9, 11)
_TEACHER_EPOCHS, _TEACHER_RATE = 5, 7e-5
_STUDENT_EPOCHS, _STUDENT_RATE = 6, 1.2e-4
_SILENCES = (0.5, 0.65, 0.75, 0.85, 0.95)
"""For the curve: in what share of the prompts that nothing helps nothing is to be told."""


@dataclass(frozen=True, slots=True)
class Scores:
    """How well a threshold chooses what is told on the test hand; all are shares."""

    found: float
    noise: float
    stale: float
    silent: float

    def __str__(self) -> str:
        """All four on a line."""
        return (
            f"found {self.found:.3f} noise {self.noise:.3f} stale {self.stale:.3f} silent {self.silent:.3f}"
        )


@dataclass(frozen=True, slots=True)
class JudgedPrompt:
    """A prompt of the test hand, with the logit of every statement by its number."""

    prompt: Prompt
    logits: dict[int, float]

    @property
    def wants_silence(self) -> bool:
        """Whether nothing helps with it."""
        return not self.prompt.needs | self.prompt.helps


def main() -> None:
    """Read, teach, try, write."""
    asked = _parse()
    teaching, weights = _import("reader_teaching"), _import("reader_weights")
    tokenizer = Tokenizer.from_str(read_model_file(MINILM, VOCABULARY).decode())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    encoder = BundledEmbeddingProvider()
    hands = data.find_hands([asked.lessons, *asked.more])
    if asked.test not in [path.stem for path in hands]:
        raise SystemExit(f"no {asked.test}.jsonl among {', '.join(path.stem for path in hands) or 'nothing'}")
    histories = [one for path in hands for one in data.read_hand(path, tokenizer, encoder)]
    test = [one for one in histories if one.hand == asked.test]
    taught = [one for one in histories if one.hand != asked.test]
    _print(f"{len(taught)} histories to teach, {len(test)} to test")
    published = weights.read_weights(_PUBLISHED)
    teacher = teaching.teach_teacher(taught, published, asked.teacher_epochs, _TEACHER_RATE)
    print_report("teacher", test, lambda rows: teaching.read_logits(teacher, rows))
    student = teaching.teach_student(teacher, taught, _KEPT_LAYERS, asked.student_epochs, _STUDENT_RATE)
    print_report("student", test, lambda rows: teaching.read_logits(student, rows))
    weights.write_model(teaching.read_out(student), _KEPT_LAYERS, _PUBLISHED, asked.out)
    _print(f"{asked.out}: {asked.out.stat().st_size:,} bytes")


def _parse() -> argparse.Namespace:
    usage, _, _ = __doc__.partition("\n\nReads")
    parser = argparse.ArgumentParser(description=usage, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lessons", type=Path, required=True, help="a folder of hands, one .jsonl each")
    parser.add_argument("--more", type=Path, action="append", default=[], help="another such folder")
    parser.add_argument("--test", required=True, help="the hand that is tested on and not taught, as h9")
    parser.add_argument("--out", type=Path, required=True, help="the file for the student's weights")
    parser.add_argument("--teacher-epochs", type=int, default=_TEACHER_EPOCHS)
    parser.add_argument("--student-epochs", type=int, default=_STUDENT_EPOCHS)
    return parser.parse_args()


def _import(name: str) -> ModuleType:
    """A module beside this one that needs torch or onnx."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise SystemExit(f"{error.name} is missing: pip install '.[teach]'") from error


# How well it reads ----------------------------------------------------------------------------------------


def print_report(name: str, histories: Sequence[History], judge: Judge) -> None:
    """Print how a model does on histories that it was not taught on."""
    for context in (True, False):
        judged = judge_prompts(histories, judge, context=context)
        _print(f"{name} on the test hand, {'with' if context else 'without'} context")
        _print(f"   shipped floor {FLOOR:.2f}: {measure(judged, lambda logit: probability(logit) >= FLOOR)}")
        for wanted, least, scores in curve(judged):
            _print(f"   silence {wanted:.2f}: above {least:.3f}, {probability(least):.3f}: {scores}")


def judge_prompts(histories: Sequence[History], judge: Judge, *, context: bool) -> list[JudgedPrompt]:
    """Every prompt of the histories with all statements of its history."""
    asked = [(history, prompt) for history in histories for prompt in history.prompts]
    rows = [
        data.pair_row(prompt, one, before=context, later=context)
        for history, prompt in asked
        for one in history.statements
    ]
    logits = iter(judge(rows))
    return [
        JudgedPrompt(prompt, {one.number: next(logits) for one in history.statements})
        for history, prompt in asked
    ]


def curve(judged: Sequence[JudgedPrompt]) -> Iterator[tuple[float, float, Scores]]:
    """For each share of silence the logit above which things are told then, and how that does."""
    loudest = [max(one.logits.values()) for one in judged if one.wants_silence]
    for wanted in _SILENCES:
        least = float(np.quantile(loudest, wanted))
        yield wanted, least, measure(judged, lambda logit, least=least: logit > least)  # type: ignore[misc]


def measure(judged: Sequence[JudgedPrompt], tells: Callable[[float], bool]) -> Scores:
    """How it does if everything is told that `tells` lets through."""
    found, noise, stale, silent = [], [], [], []
    for one in judged:
        told = {number for number, logit in one.logits.items() if tells(logit)}
        prompt = one.prompt
        if prompt.needs:
            found.append(len(told & prompt.needs) / len(prompt.needs))
        if prompt.outdated:
            stale.append(bool(told & prompt.outdated))
        if one.wants_silence:
            silent.append(not told)
        elif told:
            noise.append(len(told - prompt.needs - prompt.helps) / len(told))
    return Scores(*(float(np.mean(shares)) if shares else 0.0 for shares in (found, noise, stale, silent)))


def _print(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()

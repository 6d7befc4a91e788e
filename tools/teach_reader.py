r"""Teach the reader, which judges whether a statement helps with a prompt, and write its weights.

    python tools/teach_reader.py --lessons measure/lessons --more ../shared/data/relevance \
        --base MPNET --continue READER --out reader.onnx \
        --test h9 --test h16 --test h31 --test p3 --test p10 --test p13 --test p16 --test h25

Reads the histories of all writers in the folders, and the pairs of statements in their folders `pairs`, and
trains on all files but those that are kept for the test. First a teacher of twelve layers is taught from each
base, side by side: a published cross-encoder or encoder in int8, or MPNet's `model.safetensors`. Then a
student with fewer and narrower layers, which reads a prompt once for all statements, learns from the mean of
the teachers. It begins with layers of the first teacher, which then must not be MPNet, or continues a
finished reader. What replaces what it learns from the labels as well. It is written in int8. A base that is
named twice is trained twice, with different seeds.

Prints for the teachers together and for the student how they do on the test: how much of what a prompt needs
is found, how much of what is shown is noise, how often something outdated is shown; and how well replacements
are recognised. docs/reader.md describes the results.

Needs torch and onnx (`pip install '.[teach]'`), which nothing else does, and a graphics card to finish within
minutes. New weights are installed by hand: the file, its digest in `foreword.spaces.reader`, and the curve in
`foreword.recall.read`.
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

from foreword.spaces.bundled import (
    MINILM,
    VOCABULARY,
    WEIGHTS,
    WORDPIECE,
    BundledEmbeddingProvider,
    read_model_file,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

    from reader_data import Comparison, History, Lessons, Prompt, Row

    Judge = Callable[[Sequence[Row], str], np.ndarray]
    """What a head says of each row: logits of `helps`, probabilities of `relations`."""

_CROSS_ENCODER = Path(__file__).parent.parent / "src/foreword/spaces/models" / MINILM.name / WEIGHTS
_KEPT_LAYERS, _STUDENT_WIDE, _GLANCE_AFTER = (0, 2, 3, 5, 6, 8, 9, 11), 1024, 3
_TEACHER_EPOCHS = 2
_STUDENT_EPOCHS, _STUDENT_RATE = 3, 1.2e-4
_SILENCES = (0.5, 0.65, 0.75, 0.85, 0.95)
"""For the curve: for which shares of the prompts without a helpful statement nothing is to be shown."""

_MOST_TOLD = 5
_DEPTHS = (3, 5)
_CHANCES = (0.2, 0.3, 0.5, 0.7)
"""The probabilities from which on a statement counts as replacing another."""


@dataclass(frozen=True, slots=True)
class Scores:
    """How well a threshold chooses the statements to show, on the test; all are shares."""

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
    """A prompt of the test, with the logit of every statement by its number."""

    prompt: Prompt
    logits: dict[int, float]

    @property
    def wants_silence(self) -> bool:
        """Whether no statement helps with it."""
        return not self.prompt.needs | self.prompt.helps

    def best(self, most: int) -> list[int]:
        """The numbers of the statements with the highest logits, the best first."""
        return sorted(self.logits, key=lambda number: -self.logits[number])[:most]


def main() -> None:
    """Read the lessons, train the teachers and the student, test them, and write the student."""
    asked = _parse_arguments()
    teaching, weights, graph = (
        _import_or_exit(f"reader_{name}") for name in ("teaching", "weights", "graph")
    )
    taught, test = read_all([asked.lessons, *asked.more], asked.test)
    _print(f"{len(taught.histories)} histories and {len(taught.comparisons)} pairs to teach")
    _print(f"{len(test.histories)} histories and {len(test.comparisons)} pairs to test")
    teachers = teaching.teach_teachers(taught, asked.base or [_CROSS_ENCODER], asked.teacher_epochs)
    print_report("teachers", test, lambda rows, head: teaching.judge(teachers, rows, head))
    if asked.continued is None:
        student = teaching.shrink_teacher(teachers[0], _KEPT_LAYERS, _STUDENT_WIDE, _GLANCE_AFTER)
    else:
        student = teaching.continue_reader(weights.read_reader(asked.continued), _GLANCE_AFTER)
    student = teaching.teach_student(student, teachers, taught, asked.student_epochs, _STUDENT_RATE)
    print_report("student", test, lambda rows, head: teaching.judge([student], rows, head))
    graph.write_model(teaching.export_weights(student), _GLANCE_AFTER, asked.out)
    if asked.continued is not None:
        graph.keep_requests(asked.out, asked.continued, asked.out)
    _print(f"{asked.out}: {asked.out.stat().st_size:,} bytes")


def _parse_arguments() -> argparse.Namespace:
    usage, _, _ = __doc__.partition("\n\nReads")
    parser = argparse.ArgumentParser(description=usage, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lessons", type=Path, required=True, help="a folder of hands, one .jsonl each")
    parser.add_argument("--more", type=Path, action="append", default=[], help="another such folder")
    base = "the published model of a teacher, once for each (default: one teacher, the bundled cross-encoder)"
    parser.add_argument("--base", type=Path, action="append", help=base)
    test = "a file that is not taught but tested on, as h9; may be given more than once"
    parser.add_argument("--test", action="append", required=True, help=test)
    continued = "a finished reader that the student continues, with its embedding and layers for requests"
    parser.add_argument("--continue", type=Path, dest="continued", help=continued)
    parser.add_argument("--out", type=Path, required=True, help="the file for the student's weights")
    parser.add_argument("--teacher-epochs", type=int, default=_TEACHER_EPOCHS)
    parser.add_argument("--student-epochs", type=int, default=_STUDENT_EPOCHS)
    return parser.parse_args()


def _import_or_exit(name: str) -> ModuleType:
    """A module beside this one that needs torch or onnx."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise SystemExit(f"{error.name} is missing: pip install '.[teach]'") from error


def read_all(folders: Sequence[Path], kept: Sequence[str]) -> tuple[Lessons, Lessons]:
    """The lessons to train on and those kept for the test; SystemExit if a file to keep is missing."""
    files = data.find_files(folders)
    names = [path.stem for path in files]
    if missing := set(kept).difference(names):
        raise SystemExit(f"no {', '.join(sorted(missing))} among {', '.join(names) or 'nothing'}")
    tokenizer = Tokenizer.from_str(read_model_file(WORDPIECE, VOCABULARY).decode())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    encoder = BundledEmbeddingProvider()
    taught, test = (
        data.read_lessons([path for path in files if (path.stem in kept) == tested], tokenizer, encoder)
        for tested in (False, True)
    )
    return taught, test


# How well it reads ----------------------------------------------------------------------------------------


def print_report(name: str, test: Lessons, judge: Judge) -> None:
    """Print how a model does on the test."""
    judged = judge_prompts(test.histories, judge)
    _print(f"{name}, at most {_MOST_TOLD} told of {len(judged)} prompts")
    for wanted, least, scores in curve(judged):
        _print(f"   silence {wanted:.2f}: above {least:.3f}: {scores}")
    _print("   needed and among the best " + ", ".join(f"{n}: {recall(judged, n):.3f}" for n in _DEPTHS))
    compared = [one for history in test.histories for one in data.compare_all(history)]
    for what, pairs in (("all pairs of the histories", compared), ("pairs alone", test.comparisons)):
        if pairs:
            _print(f"   replaces, {what}")
        for least, precision, found in measure_replacements(pairs, judge):
            _print(f"      above {least:.1f}: precision {precision:.2f} recall {found:.2f}")


def judge_prompts(histories: Sequence[History], judge: Judge) -> list[JudgedPrompt]:
    """Every prompt of the histories with all statements of its history, without context."""
    asked = [(history, prompt) for history in histories for prompt in history.prompts]
    rows = [data.pair_row(prompt, one) for history, prompt in asked for one in history.statements]
    logits = iter(judge(rows, "helps")[:, 0].tolist())
    return [
        JudgedPrompt(prompt, {one.number: next(logits) for one in history.statements})
        for history, prompt in asked
    ]


def curve(judged: Sequence[JudgedPrompt]) -> Iterator[tuple[float, float, Scores]]:
    """For each share of silence, the logit above which statements are shown, and the scores with it."""
    loudest = [max(one.logits.values()) for one in judged if one.wants_silence]
    for wanted in _SILENCES:
        least = float(np.quantile(loudest, wanted))
        yield wanted, least, measure(judged, least)


def measure(judged: Sequence[JudgedPrompt], least: float) -> Scores:
    """The scores if the best few statements with logits above `least` are shown."""
    found, noise, stale, silent = [], [], [], []
    for one in judged:
        told = {number for number in one.best(_MOST_TOLD) if one.logits[number] > least}
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


def recall(judged: Sequence[JudgedPrompt], most: int) -> float:
    """The mean share of the needed statements that are among so many of the best."""
    needing = [one for one in judged if one.prompt.needs]
    shares = [len(one.prompt.needs.intersection(one.best(most))) / len(one.prompt.needs) for one in needing]
    return float(np.mean(shares))


def measure_replacements(pairs: Sequence[Comparison], judge: Judge) -> Iterator[tuple[float, float, float]]:
    """For some probabilities, precision and recall of the replacements above them; empty without pairs."""
    if not pairs:
        return
    right = np.array([what == data.REPLACES for _, what in pairs])
    chances = judge([row for row, _ in pairs], "relations")[:, data.REPLACES]
    for least in _CHANCES:
        said = chances > least
        hits = (said & right).sum()
        yield least, float(hits / max(1, said.sum())), float(hits / max(1, right.sum()))


def _print(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()

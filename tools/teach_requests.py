r"""Teach the reader to hear whether a sentence asks for something that its speaker lacks.

    python tools/teach_requests.py prepare rows.jsonl.gz
    python tools/teach_requests.py teach rows.jsonl.gz --reader reader.onnx --out taught.npz [--test w4]
    python tools/teach_requests.py write taught.npz --reader reader.onnx --out taught.onnx

The first step reads the messages that tools/fit_requests.py learns from, and writes their sentences as the
reader will see them: each within its passage, as token numbers. The second needs torch, onnx and, to finish
within minutes, a graphics card (`pip install '.[teach]'`). It starts from the layers of the reader, teaches
all of them but keeps the embedding of tokens, and writes their weights in half precision, which are small
enough to travel. The third needs onnx, and writes the reader's graph with these layers beside its own, in
place of those that it had. What the reader says of statements stays the same to the bit.

A message that is labelled as asking somewhere teaches by the sentence that the model finds likeliest so far,
of those marked. Writers named by --test are left out, and it prints how well they are judged. New weights are
installed by hand: the file, and its digest in `foreword.spaces.reader`. docs/reader.md has the results.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import random
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from reader_data import Row

    Judge = Callable[[Sequence[Row]], list[float]]
    """From rows to the logits that the model gives them so far."""

_LAYERS = (0, 1, 2, 4, 5, 7)
_EPOCHS, _RATE, _SEED = 5, 8e-5, 0
_BATCH = 96
_MAX_SENTENCE_TOKENS, _MAX_PASSAGE_TOKENS = 96, 254
_START, _END = 101, 102
_MAX_CALM, _MAX_CALM_INSIDE = 12, 2
"""At most how many sentences of a message that ask nothing are learned from in an epoch; and of a message
that stands among reports."""

_WEIGHT, _SHORT_WEIGHT, _ORDINARY_WEIGHT, _ASKING = 1.0, 0.5, 0.25, 2.0
"""How much a sentence counts: of a lesson with marked sentences, of another, of an ordinary text; and how
many times more if it asks."""

_KEPT_PARTS = ("words.", "positions.", "segments.", "norm.")
"""The weights that are not taught: the embedding of tokens."""

_SURE = 0.99
"""The probability that is aimed at for a sentence that asks; for others the rest."""

_LEAST = (-1.0, 0.0, 1.0, 2.0)
"""The logits for which precision and recall are printed."""


@dataclass(frozen=True, slots=True)
class Message:
    """The sentences of a message as rows, and for each whether it may be one that asks."""

    rows: list[Row]
    asks: list[bool]
    writer: str
    is_ordinary: bool
    is_marked: bool
    is_inside: bool


def main() -> None:
    """Prepare the rows, teach with them, or write what was taught into the reader's graph."""
    asked = _parse_arguments()
    if asked.step == "prepare":
        prepare(asked.rows)
    elif asked.step == "teach":
        teach(asked.rows, asked.reader, asked.out, asked.test, asked.seed)
    else:
        write(asked.weights, asked.reader, asked.out)


def _parse_arguments() -> argparse.Namespace:
    usage, _, _ = __doc__.partition("\n\nThe first")
    parser = argparse.ArgumentParser(description=usage, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    preparing, teaching, writing = map(steps.add_parser, ("prepare", "teach", "write"))
    for step in (preparing, teaching):
        step.add_argument("rows", type=Path, help="the file of rows, compressed")
    writing.add_argument("weights", type=Path, help="the weights that were taught")
    for step, made in ((teaching, "weights"), (writing, "graph with requests")):
        step.add_argument("--reader", type=Path, required=True, help="the reader's graph")
        step.add_argument("--out", type=Path, required=True, help=f"the file for the {made}")
    teaching.add_argument("--test", action="append", default=[], help="a writer to leave out and test on")
    teaching.add_argument("--seed", type=int, default=_SEED)
    return parser.parse_args()


# Preparing ------------------------------------------------------------------------------------------------


def prepare(out: Path) -> None:
    """Write all messages, one line each."""
    fit_requests, judge = _import("fit_requests"), _import("foreword.recipes.gap.request_judge")
    to_english = _import("foreword.text.translate").to_english
    encode = _load_tokenizer()
    with gzip.open(out, "wt", encoding="utf-8") as file:
        for one in fit_requests.read_examples():
            sentences = [to_english(sentence) for sentence in one.sentences]
            passages = [judge.passage_around(sentences, at) for at in one.learned]
            line = {
                "sentences": [encode(sentences[at])[:_MAX_SENTENCE_TOKENS] for at in one.learned],
                "passages": [encode(passage)[:_MAX_PASSAGE_TOKENS] for passage in passages],
                "asks": [one.asks[at] for at in one.learned],
                "writer": one.writer,
                "is_ordinary": one.is_ordinary,
                "is_marked": not all(one.asks[at] for at in one.learned),
                "is_inside": one.inside,
            }
            file.write(json.dumps(line) + "\n")


def _load_tokenizer() -> Any:  # noqa: ANN401  (a function from a text to its token numbers)
    bundled = _import("foreword.spaces.bundled")
    known = bundled.read_model_file(bundled.WORDPIECE, bundled.VOCABULARY).decode()
    tokenizer = _import("tokenizers").Tokenizer.from_str(known)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def read_rows(path: Path) -> list[Message]:
    """The messages of a file of rows."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        given = [json.loads(line) for line in file]
    return [
        Message(
            [_make_row(*texts) for texts in zip(one["passages"], one["sentences"], strict=True)],
            one["asks"],
            one["writer"],
            one["is_ordinary"],
            one["is_marked"],
            one["is_inside"],
        )
        for one in given
    ]


def _make_row(passage: list[int], sentence: list[int]) -> Row:
    tokens = [_START, *passage, _END, *sentence, _END]
    return tokens, [0] * (len(passage) + 2) + [1] * (len(sentence) + 1)


# Teaching -------------------------------------------------------------------------------------------------


def teach(rows: Path, reader: Path, out: Path, tested: Sequence[str], seed: int) -> None:
    """Teach the layers, print how the writers that were left out are judged, and write the weights."""
    teaching, weights = (_import(f"reader_{name}") for name in ("teaching", "weights"))
    messages = read_rows(rows)
    taught = [one for one in messages if one.writer not in tested]
    model = teaching.begin_from_reader(weights.read_reader(reader), _LAYERS, seed)
    draw = random.Random(seed)  # noqa: S311  (a sample, not a secret)

    def judge(rows: Sequence[Row]) -> list[float]:
        model.eval()
        logits: list[float] = teaching.judge([model], rows, "helps")[:, 0].tolist()
        model.train()
        return logits

    def plan() -> list[Any]:
        steps: list[Any] = teaching.make_shuffled_steps(_BATCH, {"helps": _examples(taught, judge, draw)})
        return steps

    teaching.train("requests", model, plan, _EPOCHS, _RATE)
    for writer in tested:
        _print_quality(writer, [one for one in messages if one.writer == writer], judge)
    taught = teaching.export_weights(model).items()
    halves = {name: values.astype(np.float16) for name, values in taught if not name.startswith(_KEPT_PARTS)}
    np.savez_compressed(out, **halves)
    _print(f"{out}: {out.stat().st_size:,} bytes")


def write(weights: Path, reader: Path, out: Path) -> None:
    """Write the reader's graph with the layers that were taught."""
    with np.load(weights) as halves:
        taught = {name: halves[name].astype(np.float32) for name in halves.files}
    _import("reader_graph").add_requests(reader, taught, out)
    _print(f"{out}: {out.stat().st_size:,} bytes")


def _examples(
    messages: Sequence[Message], judge: Judge, draw: random.Random
) -> list[tuple[Row, float, float]]:
    """The rows of one epoch, with what is right and how much each counts."""
    marked = [[at for at, asks in enumerate(one.asks) if asks] for one in messages]
    asking = [one.rows[at] for one, places in zip(messages, marked, strict=True) for at in places]
    said = iter(judge(asking))
    examples = []
    for one, places in zip(messages, marked, strict=True):
        logits = {at: next(said) for at in places}
        weight = _ORDINARY_WEIGHT if one.is_ordinary else _WEIGHT if one.is_marked else _SHORT_WEIGHT
        if logits:
            likeliest = max(logits, key=lambda at: logits[at])
            examples.append((one.rows[likeliest], _SURE, weight * _ASKING))
        near = {other for at in places for other in (at - 1, at, at + 1)}
        calm = [at for at in range(len(one.rows)) if at not in near]
        most = _MAX_CALM_INSIDE if one.is_inside else _MAX_CALM
        chosen = draw.sample(calm, min(most, len(calm)))
        examples += [(one.rows[at], 1 - _SURE, weight) for at in chosen]
    return examples


def _print_quality(writer: str, messages: Sequence[Message], judge: Judge) -> None:
    """Print precision and recall of a writer's messages, by their surest sentences."""
    alone = [one for one in messages if not one.is_inside]
    logits = judge([row for one in alone for row in one.rows])
    ends = accumulate((len(one.rows) for one in alone), initial=0)
    surest = [max(logits[start:end]) for start, end in pairwise(ends)]
    for least in _LEAST:
        heard = [one for one, logit in zip(alone, surest, strict=True) if logit >= least]
        right, asking = sum(any(one.asks) for one in heard), sum(any(one.asks) for one in alone)
        shares = f"precision {right / max(1, len(heard)):.3f} recall {right / max(1, asking):.3f}"
        _print(f"{writer}, {len(alone)} messages, from {least:g}: {shares}")


def _import(name: str) -> ModuleType:
    """A module that only one of the steps needs."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise SystemExit(f"{error.name} is missing: pip install '.[teach,learn]'") from error


def _print(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()

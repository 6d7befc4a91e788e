"""The reader in torch, and its training: teachers, and a student with fewer layers.

A teacher learns from the labels which statements help a prompt, and which statement replaces which. The
student starts from some layers of the first teacher, or from a finished reader, and learns to judge as all
teachers do on average, on many more pairs; what replaces what it learns from the labels as well. It also
learns to say after a few layers whether a statement helps: most do not, and need not be read to the end.
Needs torch, and a graphics card to finish within minutes.
"""

from __future__ import annotations

import multiprocessing
import random
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import reader_data as data
import torch
from reader_mpnet import Mpnet, read_mpnet
from reader_weights import LAYERS, keep_layers, read_weights
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import TypeAlias, TypeVar

    from reader_data import Lessons, Row
    from reader_weights import Weights

    Teacher: TypeAlias = "CrossEncoder | Mpnet"
    Model = TypeVar("Model", "CrossEncoder", "Mpnet")

    Example = tuple[Row, Any, float]
    """A row, what is right, and how much that counts."""
    Step = tuple[str, list[Example]]
    """The name of a head, and a batch of examples for it."""

_WORDS, _POSITIONS, _WIDTH, _WIDE, _HEADS = 30522, 512, 384, 1536, 12
_DROPOUT, _EPSILON, _WEIGHT_DECAY, _WARM_SHARE = 0.1, 1e-12, 0.01, 0.1
_NEW_HEADS_FASTER = 5
"""How much faster the heads learn that a published model lacks."""

_SHARED_PARTS = ("words", "positions", "segments", "norm", "pool")
"""What layers that are added to a reader take over from it, beside some of its layers."""

_TEACHER_BATCH, _STUDENT_BATCH, _READ_BATCH = 384, 512, 1024
_LENGTH_JITTER = 8
"""By how many tokens the rows of a batch may differ in length, so that batches are random."""

_TEACHER_EASY, _TEACHER_FOREIGN, _STUDENT_FOREIGN = 5, 2, 4
_TEACHER_ALIKE, _TEACHER_OTHERS, _STUDENT_ALIKE, _STUDENT_OTHERS = 14, 6, 10, 6
"""How many unrelated statements of a history are compared: those with most words in common, and any."""

_TEACHER_BEFORE, _TEACHER_LATER, _STUDENT_BEFORE = 0.5, 0.25, 0.2
"""How often a statement is shown with the line before it, or with later ones."""

_TEACHER_REPEATS, _STUDENT_REPEATS = 2, 3
"""How often in an epoch a teacher, or the student, sees the pairs that have no history."""

_SAID_SHARE = 1 / 3
"""The share of what users said that stands for prompts of the student."""

_STUDENT_SEED = 1
_LABEL_SHARE, _TALK_LABEL_SHARE, _TALK_REPEATS = 0.6, 0.95, 2
"""How much the labels of relations count beside the teachers' judgement for the student, elsewhere and in
talks, and how often it sees the talks in an epoch."""

_HELPS_WEIGHT, _RELATIONS_WEIGHT = 3.0, 1.5
_GLANCE_WEIGHT = 0.3
_LARGEST_LOGIT, _LOGIT_WEIGHT = 8.0, 0.1
_DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


# The network ----------------------------------------------------------------------------------------------


class Layer(nn.Module):
    """One layer of BERT; `wide` is the width of its feed-forward part."""

    def __init__(self, wide: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(_WIDTH, _WIDTH) for _ in range(3))
        self.attended = nn.Linear(_WIDTH, _WIDTH)
        self.attended_norm = nn.LayerNorm(_WIDTH, eps=_EPSILON)
        self.widened, self.narrowed = nn.Linear(_WIDTH, wide), nn.Linear(wide, _WIDTH)
        self.narrowed_norm = nn.LayerNorm(_WIDTH, eps=_EPSILON)

    def forward(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The states of all tokens after this layer."""
        dropout = _DROPOUT if self.training else 0.0
        heads = [self._split(part(states)) for part in (self.query, self.key, self.value)]
        seen = functional.scaled_dot_product_attention(*heads, attn_mask=mask, dropout_p=dropout)
        seen = self.attended(seen.transpose(1, 2).reshape(states.shape))
        states = self.attended_norm(states + functional.dropout(seen, _DROPOUT, self.training))
        thought = self.narrowed(functional.gelu(self.widened(states)))
        return self.narrowed_norm(states + functional.dropout(thought, _DROPOUT, self.training))

    def _split(self, states: torch.Tensor) -> torch.Tensor:
        return states.view(*states.shape[:2], _HEADS, _WIDTH // _HEADS).transpose(1, 2)


class CrossEncoder(nn.Module):
    """BERT with heads: whether a statement helps, and whether it replaces another.

    With `one_way`, the tokens of the first text attend only to each other; the first token and those of the
    second text attend to everything. Then a question's states do not depend on the statement, so that a
    question is read once for all its statements. With `glance_after`, whether a statement helps is judged
    after so many layers already, by a head of its own.
    """

    new_heads = ("relations",)
    teacher_rate = 9e-5

    def __init__(
        self, layers: int, wide: int = _WIDE, *, one_way: bool = False, glance_after: int | None = None
    ) -> None:
        super().__init__()
        self.one_way, self.glance_after = one_way, glance_after
        self.words, self.positions = nn.Embedding(_WORDS, _WIDTH), nn.Embedding(_POSITIONS, _WIDTH)
        self.segments = nn.Embedding(2, _WIDTH)
        self.norm = nn.LayerNorm(_WIDTH, eps=_EPSILON)
        self.layers = nn.ModuleList(Layer(wide) for _ in range(layers))
        self.pool, self.helps = nn.Linear(_WIDTH, _WIDTH), nn.Linear(_WIDTH, 1)
        self.relations = nn.Linear(_WIDTH, 3)
        if glance_after is not None:
            self.glance_pool, self.glance = nn.Linear(_WIDTH, _WIDTH), nn.Linear(_WIDTH, 1)

    def forward(self, rows: Sequence[Row]) -> tuple[torch.Tensor, torch.Tensor | None]:
        """One vector for each row, and one after the first few layers if this model glances."""
        tokens, segments, mask = _pad_batch(rows)
        with torch.autocast(_DEVICE, dtype=torch.bfloat16):
            places = self.positions(torch.arange(tokens.shape[1], device=_DEVICE))
            states = self.norm(self.words(tokens) + places + self.segments(segments))
            states = functional.dropout(states, _DROPOUT, self.training)
            seen = _make_one_way_mask(segments, mask) if self.one_way else mask[:, None, None, :]
            early = None
            for number, layer in enumerate(self.layers, 1):
                states = layer(states, seen)
                if number == self.glance_after:
                    early = torch.tanh(self.glance_pool(states[:, 0])).float()
            return torch.tanh(self.pool(states[:, 0])).float(), early


def _pad_batch(rows: Sequence[Row]) -> list[torch.Tensor]:
    """Tokens, segments and mask of a batch."""
    arrays = np.zeros((3, len(rows), max(len(tokens) for tokens, _ in rows)), np.int64)
    for at, (tokens, segments) in enumerate(rows):
        arrays[:, at, : len(tokens)] = tokens, segments, [1] * len(tokens)
    tokens, segments, mask = (torch.tensor(array, device=_DEVICE) for array in arrays)
    return [tokens, segments, mask.bool()]


def _make_one_way_mask(segments: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Which tokens each token attends to, if those of the first text attend only to each other."""
    first = segments == 0
    first[:, 0] = False  # the heads read the first token, so it attends to both texts
    hidden = first[:, :, None] & ~first[:, None, :]
    return (mask[:, None, :] & ~hidden)[:, None]


@torch.no_grad()
def judge(models: Sequence[Teacher], rows: Sequence[Row], head: str) -> np.ndarray:
    """The mean output of a head of the models for each row: probabilities of classes, logits of others."""
    order = sorted(range(len(rows)), key=lambda at: len(rows[at][0]))
    batches = [order[start : start + _READ_BATCH] for start in range(0, len(order), _READ_BATCH)]
    found = np.zeros((len(rows), getattr(models[0], head).out_features), np.float32)
    for batch in batches:
        for model in models:
            read, early = model([rows[at] for at in batch])
            logits = getattr(model, head)(early if head == "glance" else read)
            said = torch.softmax(logits, -1) if head == "relations" else logits
            found[batch] += said.cpu().numpy() / len(models)
    return found


def export_weights(model: Teacher) -> Weights:
    """The weights of a model, by our names."""
    return {name: values.float().cpu().numpy() for name, values in model.state_dict().items()}


# The lessons ----------------------------------------------------------------------------------------------


def teach_teachers(lessons: Lessons, bases: Sequence[Path], epochs: int) -> list[Teacher]:
    """A teacher from each published model, each with a seed of its own, in processes side by side."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(len(bases), mp_context=spawn) as processes:
        taught = processes.map(_teach_teacher, repeat(lessons), bases, repeat(epochs), range(len(bases)))
        return [_load_state(begin_teacher(base), state) for base, state in zip(bases, taught, strict=True)]


def _teach_teacher(lessons: Lessons, base: Path, epochs: int, seed: int) -> dict[str, np.ndarray]:
    """The weights of a published model that was trained on the labels."""
    chance = _seed_random(seed)
    model = begin_teacher(base)
    train(f"teacher {seed}", model, lambda: _teacher_steps(lessons, chance), epochs, model.teacher_rate)
    return export_weights(model)


def begin_teacher(base: Path) -> Teacher:
    """A published model with the heads that it lacks, not taught yet."""
    if base.suffix == ".safetensors":
        return read_mpnet(base)
    model = CrossEncoder(LAYERS)
    model.load_state_dict(_to_torch(keep_layers(read_weights(base), range(LAYERS))), strict=False)
    return model


def _load_state(model: Teacher, state: Mapping[str, np.ndarray]) -> Teacher:
    """The model with these weights, ready to judge."""
    model.load_state_dict({name: torch.tensor(values) for name, values in state.items()})
    return model.to(_DEVICE).eval()


def shrink_teacher(teacher: CrossEncoder, kept: Sequence[int], wide: int, glance_after: int) -> CrossEncoder:
    """A student with some layers of a teacher, narrower and one-way."""
    _seed_random(_STUDENT_SEED)
    model = CrossEncoder(len(kept), wide, one_way=True, glance_after=glance_after)
    state = teacher.state_dict()
    model.load_state_dict({n: v for n, v in state.items() if not n.startswith("layers.")}, strict=False)
    for layer, source in zip(model.layers, kept, strict=True):
        layer.load_state_dict(narrow_layer(teacher.layers[source].state_dict(), wide))
    return model


def teach_student(
    student: CrossEncoder, teachers: Sequence[Teacher], lessons: Lessons, epochs: int, rate: float
) -> CrossEncoder:
    """The student, trained to judge as all teachers do on average, and as the labels of relations say."""
    tasks = _student_tasks(teachers, lessons, _seed_random(_STUDENT_SEED))
    return train("student", student, lambda: make_shuffled_steps(_STUDENT_BATCH, tasks), epochs, rate)


def continue_reader(weights: Weights, glance_after: int) -> CrossEncoder:
    """A student that is a finished reader, whose embedding of tokens will not be trained."""
    _seed_random(_STUDENT_SEED)
    layers = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("layers."))
    wide = weights["layers.0.widened.bias"].shape[0]
    model = CrossEncoder(layers, wide, one_way=True, glance_after=glance_after)
    model.load_state_dict(_to_torch(weights), strict=False)
    return _keep_embedding(model)


def begin_from_reader(weights: Weights, kept: Sequence[int], seed: int) -> CrossEncoder:
    """A model with some layers of a finished reader, whose embedding of tokens will not be trained."""
    _seed_random(seed)
    wide = weights["layers.0.widened.bias"].shape[0]
    model = CrossEncoder(len(kept), wide, one_way=True)
    state = {name: weights[name] for name in weights if name.split(".")[0] in _SHARED_PARTS}
    for at, source in enumerate(kept):
        start = f"layers.{source}."
        own = {name.removeprefix(start): v for name, v in weights.items() if name.startswith(start)}
        state |= {f"layers.{at}.{name}": values for name, values in own.items()}
    model.load_state_dict(_to_torch(state), strict=False)
    return _keep_embedding(model)


def _keep_embedding(model: CrossEncoder) -> CrossEncoder:
    """The model, ready for training of all but its embedding of tokens."""
    for part in (model.words, model.positions, model.segments, model.norm):
        part.requires_grad_(requires_grad=False)
    return model.to(_DEVICE)


def _classes(what: int) -> np.ndarray:
    """The probabilities of the three relations if one is certain."""
    return np.eye(3, dtype=np.float32)[what]


def narrow_layer(state: Mapping[str, torch.Tensor], wide: int) -> dict[str, torch.Tensor]:
    """The weights of a layer with a feed-forward part of this width: the units with the largest weights."""
    strength = state["widened.weight"].norm(dim=1) * state["narrowed.weight"].norm(dim=0)
    kept = strength.topk(wide).indices
    return {
        **state,
        "widened.weight": state["widened.weight"][kept],
        "widened.bias": state["widened.bias"][kept],
        "narrowed.weight": state["narrowed.weight"][:, kept],
    }


def _seed_random(seed: int) -> random.Random:
    random.seed(seed)
    torch.manual_seed(seed)
    return random.Random(seed)  # noqa: S311  (a sample, not a secret)


def _teacher_steps(lessons: Lessons, chance: random.Random) -> list[Step]:
    """The steps of one epoch of a teacher."""
    histories = lessons.histories
    pairs = data.make_pairs(histories, _TEACHER_EASY, _TEACHER_FOREIGN, chance)
    compared = data.make_comparisons(histories, _TEACHER_ALIKE, _TEACHER_OTHERS, chance)
    compared += lessons.comparisons * _TEACHER_REPEATS
    tasks: dict[str, list[Example]] = {
        "helps": [(_teacher_row(one, chance), one.answers, one.weight * _HELPS_WEIGHT) for one in pairs],
        "relations": [(row, what, _RELATIONS_WEIGHT) for row, what in compared],
    }
    return make_shuffled_steps(_TEACHER_BATCH, tasks)


def _teacher_row(pair: data.Pair, chance: random.Random) -> Row:
    before, later = chance.random() < _TEACHER_BEFORE, chance.random() < _TEACHER_LATER
    return data.pair_row(pair.prompt, pair.statement, before=before, later=later)


def _student_tasks(
    teachers: Sequence[Teacher], lessons: Lessons, chance: random.Random
) -> dict[str, list[Example]]:
    """The student's examples by task: what the teachers say, and for relations the labels as well."""
    pairs = [
        data.pair_row(one.prompt, one.statement, before=chance.random() < _STUDENT_BEFORE)
        for one in data.make_pairs(lessons.histories, None, _STUDENT_FOREIGN, chance)
    ]
    said = data.make_said_rows(lessons.histories)
    pairs += chance.sample(said, int(len(said) * _SAID_SHARE))
    helps = [(row, aim, 1.0) for row, aim in zip(pairs, judge(teachers, pairs, "helps"), strict=True)]
    compared = _student_comparisons(lessons, chance)
    judged = judge(teachers, [row for row, *_ in compared], "relations")
    relations = [
        (row, share * _classes(what) + (1 - share) * aim, _RELATIONS_WEIGHT)
        for (row, what, share), aim in zip(compared, judged, strict=True)
    ]
    return {"helps": helps, "relations": relations}


def _student_comparisons(lessons: Lessons, chance: random.Random) -> list[tuple[Row, int, float]]:
    """Pairs of statements with their labels, and how much a label counts beside the teachers' judgement.

    Without pairs that are near in meaning, and those of other worlds, it would take likeness for replacement.
    """
    alike = data.make_comparisons(lessons.histories, _STUDENT_ALIKE, _STUDENT_OTHERS, chance)
    compared = [(*one, _LABEL_SHARE) for one in alike + lessons.comparisons * _STUDENT_REPEATS]
    for history in lessons.histories:
        share, repeats = (_TALK_LABEL_SHARE, _TALK_REPEATS) if history.is_talk else (_LABEL_SHARE, 1)
        compared += [(*one, share) for one in data.compare_near(history)] * repeats
    return compared + [(row, data.NEITHER, 1.0) for row in lessons.strangers]


def make_shuffled_steps(size: int, tasks: Mapping[str, Sequence[Example]]) -> list[Step]:
    """The examples of the tasks in batches of similar length, in random order."""
    steps: list[Step] = []
    for task, examples in tasks.items():
        chance = random.random  # the global generator, so that every epoch has another order
        ordered = sorted(examples, key=lambda one: len(one[0][0]) + chance() * _LENGTH_JITTER)
        steps += [(task, ordered[start : start + size]) for start in range(0, len(ordered), size)]
    random.shuffle(steps)
    return steps


def train(name: str, model: Model, plan: Callable[[], list[Step]], epochs: int, rate: float) -> Model:
    """Train a model for all steps of all epochs; returns it."""
    model.to(_DEVICE).train()
    steps = plan()
    optimiser, schedule = _make_optimiser(model, rate, len(steps) * epochs)
    started = time.monotonic()
    for epoch in range(epochs):
        losses: dict[str, list[torch.Tensor]] = defaultdict(list)
        for task, batch in steps if epoch == 0 else plan():
            loss = _loss(model, task, batch)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            losses[task].append(loss.detach())
        means = " ".join(f"{task} {torch.stack(seen).mean():.4f}" for task, seen in sorted(losses.items()))
        print(f"{name} epoch {epoch + 1}: {means} {time.monotonic() - started:.0f} s", flush=True)  # noqa: T201
    return model.eval()


def _make_optimiser(model: Teacher, rate: float, steps: int) -> tuple[Any, Any]:
    """AdamW and its schedule: the rate rises for a tenth of the steps and then falls to zero."""
    new = [p for name, p in model.named_parameters() if name.split(".")[0] in model.new_heads]
    old = [p for name, p in model.named_parameters() if name.split(".")[0] not in model.new_heads]
    groups = [{"params": old}, {"params": new, "lr": rate * _NEW_HEADS_FASTER}]
    adam = torch.optim.AdamW(groups, lr=rate, weight_decay=_WEIGHT_DECAY, fused=_DEVICE == "cuda")
    warm = _WARM_SHARE * steps
    schedule = torch.optim.lr_scheduler.LambdaLR(
        adam, lambda step: min((step + 1) / warm, max(0.0, (steps - step) / (steps - warm)))
    )
    return adam, schedule


def _loss(model: Teacher, head: str, batch: Sequence[Example]) -> torch.Tensor:
    """The mean loss of the model on a batch."""
    read, early = model([row for row, *_ in batch])
    right = torch.tensor(np.array([right for _, right, _ in batch]), device=_DEVICE)
    weights = torch.tensor([weight for *_, weight in batch], device=_DEVICE)
    said = getattr(model, head)(read)
    if head == "relations":  # the target is a class's number, or the probabilities of all classes
        losses = functional.cross_entropy(said, right, reduction="none")
    elif right.ndim == 1:  # labels
        losses = functional.binary_cross_entropy_with_logits(said[:, 0], right.float(), reduction="none")
    else:  # the teachers' logits
        losses = _imitation_losses(said, right)
        if head == "helps" and early is not None:
            losses = losses + _GLANCE_WEIGHT * _imitation_losses(model.glance(early), right)
    return (losses * weights).mean()


def _imitation_losses(logits: torch.Tensor, teachers: torch.Tensor) -> torch.Tensor:
    """The loss of each logit against the teachers', as a probability and, with less weight, as a number."""
    judged = functional.binary_cross_entropy_with_logits(logits, torch.sigmoid(teachers), reduction="none")
    most = _LARGEST_LOGIT
    apart = functional.mse_loss(logits.clamp(-most, most), teachers.clamp(-most, most), reduction="none")
    return (judged * _HELPS_WEIGHT + apart * _LOGIT_WEIGHT)[:, 0]


def _to_torch(weights: Weights) -> dict[str, torch.Tensor]:
    return {name: torch.tensor(values) for name, values in weights.items()}

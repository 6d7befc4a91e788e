"""The reader as torch sees it, and its two lessons: a teacher of twelve layers, and a student of fewer.

The teacher learns from the labels which statements help a prompt and, because it helps with that, what type a
statement is and which one replaces which. The student starts from some of its layers and learns to give the
same logits, for many more pairs. Needs torch, and a graphics card to be done within minutes.
"""

from __future__ import annotations

import random
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import reader_data as data
import torch
from reader_weights import LAYERS, keep_layers
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reader_data import History, Row
    from reader_weights import Weights

    Example = tuple[Row, Any, float]
    """A row, what is right, and how much that counts."""
    Step = tuple[str, list[Example]]
    """A task, and a batch of examples for it."""

_WORDS, _POSITIONS, _WIDTH, _WIDE, _HEADS = 30522, 512, 384, 1536, 12
_DROPOUT, _EPSILON, _WEIGHT_DECAY, _WARM_SHARE = 0.1, 1e-12, 0.01, 0.1
_NEW_HEADS = ("types", "relations")
"""Parts that are not in the published model; they learn ten times as fast."""

_TEACHER_BATCH, _STUDENT_BATCH, _READ_BATCH = 96, 128, 512
_LENGTH_JITTER = 12
"""By how many tokens rows of a batch may differ in length for chance's sake."""

_TEACHER_EASY, _TEACHER_FOREIGN, _STUDENT_FOREIGN = 7, 3, 10
_CONTEXT_DROPPED = 0.15
"""How often the teacher sees a statement without what came before it, or without what was said later."""

_LARGEST_LOGIT = 8.0
_DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


# The network ----------------------------------------------------------------------------------------------


class Layer(nn.Module):
    """One layer of BERT."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(_WIDTH, _WIDTH) for _ in range(3))
        self.attended = nn.Linear(_WIDTH, _WIDTH)
        self.attended_norm = nn.LayerNorm(_WIDTH, eps=_EPSILON)
        self.widened, self.narrowed = nn.Linear(_WIDTH, _WIDE), nn.Linear(_WIDE, _WIDTH)
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
    """BERT with a head for whether a statement helps, and two for what the teacher learns beside it."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.words, self.positions = nn.Embedding(_WORDS, _WIDTH), nn.Embedding(_POSITIONS, _WIDTH)
        self.segments = nn.Embedding(2, _WIDTH)
        self.norm = nn.LayerNorm(_WIDTH, eps=_EPSILON)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.pool, self.helps = nn.Linear(_WIDTH, _WIDTH), nn.Linear(_WIDTH, 1)
        self.types, self.relations = nn.Linear(_WIDTH, len(data.TYPES)), nn.Linear(_WIDTH, 3)

    def forward(self, rows: Sequence[Row]) -> torch.Tensor:
        """One vector for each row."""
        tokens, segments, mask = _pad(rows)
        with torch.autocast(_DEVICE, dtype=torch.bfloat16):
            places = self.positions(torch.arange(tokens.shape[1], device=_DEVICE))
            states = self.norm(self.words(tokens) + places + self.segments(segments))
            states = functional.dropout(states, _DROPOUT, self.training)
            for layer in self.layers:
                states = layer(states, mask[:, None, None, :])
        # What is learnt in low precision is judged in full.
        with torch.autocast(_DEVICE, dtype=torch.bfloat16, enabled=self.training):
            return torch.tanh(self.pool(states[:, 0])).float()


def _pad(rows: Sequence[Row]) -> list[torch.Tensor]:
    """Tokens, segments and mask of a batch."""
    arrays = np.zeros((3, len(rows), max(len(tokens) for tokens, _ in rows)), np.int64)
    for at, (tokens, segments) in enumerate(rows):
        arrays[:, at, : len(tokens)] = tokens, segments, [1] * len(tokens)
    tokens, segments, mask = (torch.tensor(array, device=_DEVICE) for array in arrays)
    return [tokens, segments, mask.bool()]


@torch.no_grad()
def read_logits(model: CrossEncoder, rows: Sequence[Row]) -> list[float]:
    """How much each statement helps its prompt, in the order of the rows."""
    logits = [0.0] * len(rows)
    order = sorted(range(len(rows)), key=lambda at: len(rows[at][0]))
    for start in range(0, len(order), _READ_BATCH):
        batch = order[start : start + _READ_BATCH]
        found = model.helps(model([rows[at] for at in batch]))[:, 0].tolist()
        for at, logit in zip(batch, found, strict=True):
            logits[at] = logit
    return logits


def read_out(model: CrossEncoder) -> Weights:
    """The weights of a model, by our names, without those that only the teacher needs."""
    state = model.state_dict().items()
    return {name: v.float().cpu().numpy() for name, v in state if name.split(".")[0] not in _NEW_HEADS}


# The lessons ----------------------------------------------------------------------------------------------


def teach_teacher(
    histories: Sequence[History], published: Weights, epochs: int, rate: float, seed: int = 0
) -> CrossEncoder:
    """The published model, taught from the labels."""
    chance = random.Random(seed)  # noqa: S311  (a sample, not a secret)
    random.seed(seed)
    torch.manual_seed(seed)
    model = CrossEncoder(LAYERS)
    model.load_state_dict(_as_state(keep_layers(published, range(LAYERS))), strict=False)
    return _teach("teacher", model, lambda: _teacher_steps(histories, chance), epochs, rate)


def teach_student(
    teacher: CrossEncoder,
    histories: Sequence[History],
    kept: Sequence[int],
    epochs: int,
    rate: float,
    seed: int = 1,
) -> CrossEncoder:
    """Some layers of the teacher, taught to judge as all of them do."""
    chance = random.Random(seed)  # noqa: S311
    random.seed(seed)
    torch.manual_seed(seed)
    model = CrossEncoder(len(kept))
    state = teacher.state_dict()
    model.load_state_dict({n: v for n, v in state.items() if not n.startswith("layers.")}, strict=False)
    for layer, source in zip(model.layers, kept, strict=True):
        layer.load_state_dict(teacher.layers[source].state_dict())
    pairs = data.make_pairs(histories, None, _STUDENT_FOREIGN, chance)
    rows = [data.pair_row(pair.prompt, pair.statement) for pair in pairs]
    examples = [(row, logit, 1.0) for row, logit in zip(rows, read_logits(teacher, rows), strict=True)]
    return _teach("student", model, lambda: _shuffled(distil=(examples, _STUDENT_BATCH)), epochs, rate)


def _teacher_steps(histories: Sequence[History], chance: random.Random) -> list[Step]:
    """All steps of one epoch of the teacher."""
    pairs = [
        (_row_with_gaps(pair, chance), pair.answers, pair.weight)
        for pair in data.make_pairs(histories, _TEACHER_EASY, _TEACHER_FOREIGN, chance)
    ]
    relations = [
        (data.relation_row(later, earlier), what, 1.0)
        for later, earlier, what in data.make_relations(histories, chance)
    ]
    types = [
        (data.type_row(one), data.TYPES.index(one.type), 1.0)
        for history in histories
        for one in history.statements
    ]
    size = _TEACHER_BATCH
    return _shuffled(helps=(pairs, size), relations=(relations, size), types=(types, size))


def _row_with_gaps(pair: data.Pair, chance: random.Random) -> Row:
    before, later = (chance.random() > _CONTEXT_DROPPED for _ in range(2))
    return data.pair_row(pair.prompt, pair.statement, before=before, later=later)


def _shuffled(**tasks: tuple[Sequence[Example], int]) -> list[Step]:
    """The examples of the tasks in batches of like length, in random order."""
    steps: list[Step] = []
    for task, (examples, size) in tasks.items():
        chance = random.random  # every epoch draws on
        ordered = sorted(examples, key=lambda one: len(one[0][0]) + chance() * _LENGTH_JITTER)
        batches = [ordered[start : start + size] for start in range(0, len(ordered), size)]
        random.shuffle(batches)
        steps += [(task, batch) for batch in batches]
    random.shuffle(steps)
    return steps


def _teach(
    name: str, model: CrossEncoder, plan: Callable[[], list[Step]], epochs: int, rate: float
) -> CrossEncoder:
    """Take all steps of all epochs."""
    model.to(_DEVICE).train()
    optimiser, schedule = _optimiser(model, rate, len(plan()) * epochs)
    started = time.monotonic()
    for epoch in range(epochs):
        losses: dict[str, list[torch.Tensor]] = defaultdict(list)
        for task, batch in plan():
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


def _optimiser(model: CrossEncoder, rate: float, steps: int) -> tuple[Any, Any]:
    """AdamW, whose rate rises for a tenth of the steps and then falls to nothing."""
    new = [p for name, p in model.named_parameters() if name.split(".")[0] in _NEW_HEADS]
    old = [p for name, p in model.named_parameters() if name.split(".")[0] not in _NEW_HEADS]
    groups = [{"params": old}, {"params": new, "lr": rate * 10}]
    adam = torch.optim.AdamW(groups, lr=rate, weight_decay=_WEIGHT_DECAY, fused=_DEVICE == "cuda")
    warm = _WARM_SHARE * steps
    schedule = torch.optim.lr_scheduler.LambdaLR(
        adam, lambda step: min((step + 1) / warm, max(0.0, (steps - step) / (steps - warm)))
    )
    return adam, schedule


def _loss(model: CrossEncoder, task: str, batch: Sequence[Example]) -> torch.Tensor:
    """How far the model is from what is right."""
    vectors = model([row for row, *_ in batch])
    right = torch.tensor([right for _, right, _ in batch], device=_DEVICE)
    if task == "types":
        return functional.cross_entropy(model.types(vectors), right) * 0.5
    if task == "relations":
        return functional.cross_entropy(model.relations(vectors), right)
    logits = model.helps(vectors)[:, 0]
    if task == "helps":
        weights = torch.tensor([weight for *_, weight in batch], device=_DEVICE)
        return functional.binary_cross_entropy_with_logits(logits, right, weights) * 3
    judged = functional.binary_cross_entropy_with_logits(logits, torch.sigmoid(right))
    most = _LARGEST_LOGIT
    return judged * 3 + functional.mse_loss(logits.clamp(-most, most), right.clamp(-most, most)) * 0.1


def _as_state(weights: Weights) -> dict[str, torch.Tensor]:
    return {name: torch.tensor(values) for name, values in weights.items()}

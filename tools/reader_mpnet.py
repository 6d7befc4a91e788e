"""A larger teacher for the reader: MPNet, of 110 million parameters, with the heads of our cross-encoder.

It reads the same rows as the other teachers. Its vocabulary is BERT's with four tokens before it, so that
numbers of tokens are only moved. Its layers see how far apart two tokens are, and it has no segments: two
marks stand between the texts. The weights are read from the published `model.safetensors`. Needs torch and
safetensors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import reader_data as data
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from reader_data import Row

_WORDS, _POSITIONS, _WIDTH, _WIDE, _HEADS, _LAYERS = 30527, 514, 768, 3072, 12, 12
_DROPOUT, _EPSILON = 0.1, 1e-5
_BEGIN, _PAD, _END = 0, 1, 2
_MOVED_BY = 4
"""By how much the number of a token is larger than in BERT's vocabulary."""

_BUCKETS, _MAX_DISTANCE = 32, 128
"""Into how many groups the distances between two tokens fall, and from which distance on all are alike."""

_LAYER_PARTS = {
    "attention.attn.q": "query",
    "attention.attn.k": "key",
    "attention.attn.v": "value",
    "attention.attn.o": "attended",
    "attention.LayerNorm": "attended_norm",
    "intermediate.dense": "widened",
    "output.dense": "narrowed",
    "output.LayerNorm": "narrowed_norm",
}
_OTHER_PARTS = {
    "embeddings.word_embeddings": "words",
    "embeddings.position_embeddings": "positions",
    "embeddings.LayerNorm": "norm",
    "encoder.relative_attention_bias": "distances",
}


class MpnetLayer(nn.Module):
    """One layer of MPNet."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(_WIDTH, _WIDTH) for _ in range(3))
        self.attended = nn.Linear(_WIDTH, _WIDTH)
        self.attended_norm = nn.LayerNorm(_WIDTH, eps=_EPSILON)
        self.widened, self.narrowed = nn.Linear(_WIDTH, _WIDE), nn.Linear(_WIDE, _WIDTH)
        self.narrowed_norm = nn.LayerNorm(_WIDTH, eps=_EPSILON)

    def forward(self, states: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        """The states of all tokens after this layer; `seen` is added to the attention."""
        dropout = _DROPOUT if self.training else 0.0
        heads = [self._split(part(states)) for part in (self.query, self.key, self.value)]
        looked = functional.scaled_dot_product_attention(*heads, attn_mask=seen, dropout_p=dropout)
        looked = self.attended(looked.transpose(1, 2).reshape(states.shape))
        states = self.attended_norm(states + functional.dropout(looked, _DROPOUT, self.training))
        thought = self.narrowed(functional.gelu(self.widened(states)))
        return self.narrowed_norm(states + functional.dropout(thought, _DROPOUT, self.training))

    def _split(self, states: torch.Tensor) -> torch.Tensor:
        return states.view(*states.shape[:2], _HEADS, _WIDTH // _HEADS).transpose(1, 2)


class Mpnet(nn.Module):
    """MPNet with heads: whether a statement helps, and whether it replaces another."""

    new_heads = ("pool", "helps", "relations")
    teacher_rate = 6e-5

    def __init__(self) -> None:
        super().__init__()
        self.words, self.positions = nn.Embedding(_WORDS, _WIDTH), nn.Embedding(_POSITIONS, _WIDTH)
        self.norm = nn.LayerNorm(_WIDTH, eps=_EPSILON)
        self.distances = nn.Embedding(_BUCKETS, _HEADS)
        self.layers = nn.ModuleList(MpnetLayer() for _ in range(_LAYERS))
        self.pool, self.helps = nn.Linear(_WIDTH, _WIDTH), nn.Linear(_WIDTH, 1)
        self.relations = nn.Linear(_WIDTH, 3)

    def forward(self, rows: Sequence[Row]) -> tuple[torch.Tensor, None]:
        """One vector for each row; this model does not judge after the first few layers."""
        device = self.words.weight.device
        tokens = pad_tokens([move_tokens(row) for row in rows]).to(device)
        length = tokens.shape[1]
        with torch.autocast(device.type, dtype=torch.bfloat16):
            places = self.positions(torch.arange(_END, _END + length, device=device))
            states = self.norm(self.words(tokens) + places)
            states = functional.dropout(states, _DROPOUT, self.training)
            near = self.distances(_group_distances(length).to(device)).permute(2, 0, 1)[None]
            hidden = torch.zeros(tokens.shape, device=device).masked_fill(tokens == _PAD, -1e4)
            seen = (near + hidden[:, None, None, :]).to(torch.bfloat16)
            for layer in self.layers:
                states = layer(states, seen)
            return torch.tanh(self.pool(states[:, 0])).float(), None


def move_tokens(row: Row) -> list[int]:
    """The numbers of a row's tokens in MPNet's vocabulary, with two marks between the texts."""
    marks = {data.START: [_BEGIN], data.END: [_END]}
    tokens, segments = row
    moved: list[int] = []
    for token, segment, following in zip(tokens, segments, [*segments[1:], 0], strict=True):
        moved += marks.get(token, [token + _MOVED_BY])
        if token == data.END and following > segment:
            moved.append(_END)
    return moved


def pad_tokens(rows: Sequence[Sequence[int]]) -> torch.Tensor:
    """The rows as one array, padded to the longest."""
    array = np.full((len(rows), max(map(len, rows))), _PAD, np.int64)
    for at, row in enumerate(rows):
        array[at, : len(row)] = row
    return torch.tensor(array)


def _group_distances(length: int) -> torch.Tensor:
    """For each pair of places, the group that their distance belongs to."""
    places = torch.arange(length)
    apart = places[:, None] - places[None, :]  # by how much the token that looks stands after the other
    half = _BUCKETS // 2
    exact = half // 2
    distance = apart.abs().clamp(min=1)
    far = exact + (torch.log(distance / exact) / np.log(_MAX_DISTANCE / exact) * (half - exact)).long()
    groups = torch.where(apart.abs() < exact, apart.abs(), far.clamp(max=half - 1))
    return groups + (apart < 0).long() * half


def read_mpnet(path: Path) -> Mpnet:
    """The published model, with heads that are still to be taught."""
    model = Mpnet()
    stored = {name.removeprefix("mpnet."): values.float() for name, values in load_file(path).items()}
    lacking = model.load_state_dict(_rename(stored), strict=False).missing_keys
    if unknown := [name for name in lacking if not name.startswith(model.new_heads)]:
        raise SystemExit(f"{path} lacks {', '.join(unknown)}: it is no MPNet")
    return model


def _rename(stored: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The published weights by our names; those that we have no use for are left out."""
    names = dict(_OTHER_PARTS)
    for at in range(_LAYERS):
        names |= {
            f"encoder.layer.{at}.{theirs}": f"layers.{at}.{ours}" for theirs, ours in _LAYER_PARTS.items()
        }
    renamed = {}
    for name, values in stored.items():
        part, _, end = name.rpartition(".")
        if part in names:
            renamed[f"{names[part]}.{end}"] = values
    return renamed

"""Count and cut tokens: exactly (o200k, cl100k, from bundled ranks), by words × 1.3, or by characters / 4.

Knows nothing of budgets. Never uses the network: tiktoken's own loader would, so the ranks are read from the
package and passed to it.
"""

from __future__ import annotations

import functools
import math
import re
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from foreword.errors import ValidationError

if TYPE_CHECKING:
    import tiktoken


@runtime_checkable
class Tokenizer(Protocol):
    """Anything that counts the tokens of a text, and converts between text and token ids."""

    def count(self, text: str) -> int:
        """How many tokens the text has."""

    def encode(self, text: str) -> list[int]:
        """The text as token ids."""

    def decode(self, tokens: list[int]) -> str:
        """The text that these ids stand for."""


_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_PATTERNS = {
    # How each encoding splits text before merging; part of the encoding's definition, like its ranks.
    "o200k_base": "|".join(
        [
            rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTION}?",
            rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTION}?",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        ]
    ),
    "cl100k_base": "|".join(
        [
            r"'(?i:[sdmt]|ll|ve|re)",
            r"[^\r\n\p{L}\p{N}]?+\p{L}++",
            r"\p{N}{1,3}+",
            r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
            r"\s++$",
            r"\s*[\r\n]",
            r"\s+(?!\S)",
            r"\s",
        ]
    ),
}
_CL100K_MODELS = ("gpt-4-", "gpt-3.5", "text-embedding")


def encoding_for_model(model: str) -> str:
    """The name of the encoding that a model (or an encoding's own name) uses."""
    if model in _PATTERNS:
        return model
    return "cl100k_base" if model == "gpt-4" or model.startswith(_CL100K_MODELS) else "o200k_base"


def _read_bundled_ranks(encoding: str) -> dict[bytes, int]:
    """Read bundled ranks: a count, one length byte per token, then the tokens' bytes in rank order."""
    data = (Path(__file__).parent / "ranks" / f"{encoding}.bin").read_bytes()
    count = int.from_bytes(data[:4], "little")
    # No loop of our own: there are 200,000 of them, and the first context of a process waits for this.
    sizes = [f"{size}s" for size in range(256)]
    tokens = struct.unpack_from("".join(map(sizes.__getitem__, data[4 : 4 + count])), data, 4 + count)
    return dict(zip(tokens, range(count), strict=True))


@functools.cache
def _load_encoding(name: str) -> tiktoken.Encoding:
    """An encoding of tiktoken, built from the bundled ranks and cached."""
    import tiktoken

    return tiktoken.Encoding(
        name, pat_str=_PATTERNS[name], mergeable_ranks=_read_bundled_ranks(name), special_tokens={}
    )


_LINE_START = re.compile(r"(?<=\n)(?=[^\s/])")
"""Where a text can be cut so that the tokens of its parts add up exactly. Both patterns end a token at a line
break, unless blanks follow it or, after punctuation, a slash."""

_MAX_COUNTED_LINES, _MAX_LINE_CHARACTERS = 8192, 2000
"""At most how many lines have their counts cached, and how long such a line may be."""


class TiktokenTokenizer:
    """Exact counts, as OpenAI's models make them; the ranks are loaded on first use.

    A prompt is counted many times while it grows, and most of its lines come again in the next one. So lines
    are counted one by one, and the counts are cached.
    """

    def __init__(self, model: str = "o200k_base") -> None:
        self.encoding = encoding_for_model(model)

    def count(self, text: str) -> int:
        """How many tokens the text has."""
        return sum(
            _count_tokens_of_line(self.encoding, line)
            if len(line) <= _MAX_LINE_CHARACTERS
            else len(self.encode(line))
            for line in _LINE_START.split(text)
        )

    def encode(self, text: str) -> list[int]:
        """The text as token ids; text that looks like a special token is ordinary text."""
        return _load_encoding(self.encoding).encode_ordinary(text)

    def decode(self, tokens: list[int]) -> str:
        """The text that these ids stand for."""
        return _load_encoding(self.encoding).decode(tokens)


@functools.lru_cache(_MAX_COUNTED_LINES)
def _count_tokens_of_line(encoding: str, line: str) -> int:
    """How many tokens a line has."""
    return len(_load_encoding(encoding).encode_ordinary(line))


class CharacterTokenizer:
    """Counts a token for every four characters."""

    def count(self, text: str) -> int:
        """A quarter of the characters, rounded up."""
        return math.ceil(len(text) / 4)

    def encode(self, text: str) -> list[int]:
        """The code points of the characters, as token ids."""
        return [ord(character) for character in text]

    def decode(self, tokens: list[int]) -> str:
        """The characters with these code points."""
        return "".join(map(chr, tokens))


class WordTokenizer(CharacterTokenizer):
    """Counts 1.3 tokens a word; `encode` gives code points, as there is no vocabulary."""

    def count(self, text: str) -> int:
        """Words × 1.3, rounded up."""
        return math.ceil(len(text.split()) * 1.3)


def tokenizer_by_name(name: str) -> Tokenizer:
    """A tokenizer by name: `o200k`, `cl100k`, a model's name, `words` or `chars`."""
    if name in ("words", "chars"):
        return WordTokenizer() if name == "words" else CharacterTokenizer()
    if not re.fullmatch(r"[\w.:-]+", name):
        raise ValidationError(
            f"no tokenizer named {name!r}; use o200k, cl100k, words, chars or a model's name"
        )
    return TiktokenTokenizer(f"{name}_base" if name in ("o200k", "cl100k") else name)


def cut_to_tokens(text: str, max_tokens: int, counter: Tokenizer) -> str:
    """The longest beginning of the text that counts to at most `max_tokens`, never inside a character."""
    if max_tokens <= 0:
        return ""
    if counter.count(text) <= max_tokens:
        return text
    low, high = 0, len(text)
    while low < high:  # counts nearly always grow with length; the loop below handles the exceptions
        middle = (low + high + 1) // 2
        low, high = (middle, high) if counter.count(text[:middle]) <= max_tokens else (low, middle - 1)
    while low and counter.count(text[:low]) > max_tokens:
        low -= 1
    return text[:low]

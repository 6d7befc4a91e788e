"""The parts of a message that is more than text: texts, images and files, in their order.

Reads parts in the formats of OpenAI's and Anthropic's APIs, and writes them in either. In plain text an image
is a mark such as `[image]`. The tokens of an image follow the rules that both providers document, and the
higher number counts, so that a prompt is within its window whichever model answers. Sizes are read from the
first bytes of the image; an image that is only an address may be of any size, and counts as the largest.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foreword.compose.quoting import indent_after_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from foreword.types import Turn

Part = Mapping[str, Any]

_TEXT_TYPES = frozenset({"text", "input_text", "output_text"})
_IMAGE_TYPES = frozenset({"image", "image_url", "input_image"})
_DATA_URL = re.compile(r"data:(?P<type>image/[\w.+-]+);base64,", re.IGNORECASE)
_HEAD_CHARACTERS = 1 << 17
"""At most how many characters of an image's base64 are read for its size; a JPEG may begin with a preview."""

_LOW_DETAIL_TOKENS = 85
_TILE, _TILE_TOKENS, _SQUARE, _SHORT_SIDE = 512, 170, 2048, 768
_PATCH, _MAX_PATCHES = 32, 1536
_PIXELS_A_TOKEN, _LONG_EDGE, _MAX_ANTHROPIC_TOKENS = 750, 1568, 1600
_UNKNOWN_SIZE = (_SHORT_SIDE, _SQUARE)


@dataclass(frozen=True, slots=True)
class Image:
    """An image of a message: its address, or its type and bytes in base64; its size where it is known."""

    url: str = ""
    media_type: str = ""
    data: str = ""
    detail: str = ""
    size: tuple[int, int] | None = None

    @property
    def address(self) -> str:
        """The image as OpenAI's API takes it: a URL, which may hold the bytes themselves."""
        return self.url or f"data:{self.media_type};base64,{self.data}"


def find_image_in_part(part: Part) -> Image | None:
    """The image of a part; None if it has none."""
    if part.get("type") not in _IMAGE_TYPES:
        return None
    given = part.get("image_url", part.get("source", part))
    if isinstance(given, str):
        given = {"url": given}
    if not isinstance(given, Mapping):
        return None
    url = str(given.get("url") or "")
    data = str(given.get("data") or given.get("base64") or "")
    media_type = str(given.get("media_type") or given.get("mime_type") or "image/png")
    if inline := _DATA_URL.match(url):
        media_type, data, url = inline["type"].lower(), url[inline.end() :], ""
    if not url and not data:
        return None
    detail = str(given.get("detail") or part.get("detail") or "")
    return Image(url, "" if url else media_type, data, detail, _image_size(data))


def part_text(part: Part) -> str:
    """The text of a part; for anything but text, a mark such as `[image]` or `[file]`."""
    if part.get("type") in _TEXT_TYPES and isinstance(part.get("text"), str):
        return str(part["text"])
    image = find_image_in_part(part)
    if image is not None:
        size = f", {image.size[0]} × {image.size[1]}" if image.size else ""
        return f"[image{size}]"
    kind = str(part.get("type") or "part").removeprefix("input_").replace("_", " ")
    return f"[{kind}]"


def parts_text(parts: Iterable[Part]) -> str:
    """The parts as one text, each on a line of its own."""
    return "\n".join(filter(None, map(part_text, parts)))


def parts_to_send(turn: Turn) -> Sequence[Part]:
    """The parts that are sent with a turn of a user; none for others, of which APIs take text alone."""
    return turn.parts if turn.role == "user" else ()


def has_more_than_text(parts: Iterable[Part]) -> bool:
    """Whether any part is not a text."""
    return any(part.get("type") not in _TEXT_TYPES for part in parts)


# For an API ----------------------------------------------------------------------------------------------


def openai_parts(turn: Turn, text: str) -> list[dict[str, Any]]:
    """The content of a turn for OpenAI's chat API; `text` is its text as the prompt words it."""
    return [_openai_part(part) for part in _merge_prompt_text_into_parts(turn, text)]


def anthropic_parts(turn: Turn, text: str) -> list[dict[str, Any]]:
    """The content of a turn for Anthropic's API; `text` is its text as the prompt words it."""
    return [_anthropic_part(part) for part in _merge_prompt_text_into_parts(turn, text)]


def _merge_prompt_text_into_parts(turn: Turn, text: str) -> list[Part]:
    """The turn's parts after the lead of the text, if it ends with all they say; else text and images."""
    told = parts_text(turn.parts).strip()
    if told and text.endswith(told):
        return _prepend_text(text.removesuffix(told), turn.parts)
    if told and text.endswith(after_label := indent_after_label(told)):
        return _prepend_text(text.removesuffix(after_label), [*_indent_texts_after_label(turn.parts)])
    images = [part for part in turn.parts if find_image_in_part(part) is not None]
    return [*([{"type": "text", "text": text}] if text.strip() else []), *images]


def _indent_texts_after_label(parts: Sequence[Part]) -> Iterator[Part]:
    """The parts with their texts as they stand after a speaker's label, each on lines of its own."""
    for at, part in enumerate(parts):
        if part.get("type") in _TEXT_TYPES:
            text = indent_after_label(f"\n{part_text(part)}" if at else part_text(part))
            yield {"type": "text", "text": text.removeprefix("\n")}
        else:
            yield part


def _prepend_text(lead: str, parts: Sequence[Part]) -> list[Part]:
    """The parts with a text before them, joined to the first part if that is a text."""
    if not lead.strip():
        return list(parts)
    first, *rest = parts
    if first.get("type") in _TEXT_TYPES:
        return [{"type": "text", "text": lead + part_text(first)}, *rest]
    return [{"type": "text", "text": lead.rstrip("\n")}, *parts]


def _openai_part(part: Part) -> dict[str, Any]:
    image = find_image_in_part(part)
    if image is not None:
        detail = {"detail": image.detail} if image.detail else {}
        return {"type": "image_url", "image_url": {"url": image.address, **detail}}
    if part.get("type") in ("input_audio", "file"):
        return dict(part)
    return {"type": "text", "text": part_text(part)}


def _anthropic_part(part: Part) -> dict[str, Any]:
    image = find_image_in_part(part)
    if image is not None:
        if image.url:
            return {"type": "image", "source": {"type": "url", "url": image.url}}
        source = {"type": "base64", "media_type": image.media_type, "data": image.data}
        return {"type": "image", "source": source}
    if part.get("type") == "document":
        return dict(part)
    return {"type": "text", "text": part_text(part)}


# What images cost ----------------------------------------------------------------------------------------


def count_image_tokens(parts: Sequence[Part]) -> int:
    """The tokens of the images among some parts, without those of their marks."""
    images = (find_image_in_part(part) for part in parts) if parts else ()
    return sum(estimate_image_tokens(image) for image in images if image is not None)


def estimate_image_tokens(image: Image) -> int:
    """The tokens of an image by the more expensive of the two documented rules."""
    return max(openai_image_tokens(image), anthropic_image_tokens(image))


def openai_image_tokens(image: Image) -> int:
    """The tokens of an image by OpenAI's rules: tiles of 512 pixels or patches of 32, whichever is more."""
    if image.detail == "low":
        return _LOW_DETAIL_TOKENS
    width, height = _scale_within(image.size or _UNKNOWN_SIZE, _SQUARE)
    patches = min(_MAX_PATCHES, math.ceil(width / _PATCH) * math.ceil(height / _PATCH))
    scale = min(1.0, _SHORT_SIDE / max(1, min(width, height)))
    tiles = math.ceil(width * scale / _TILE) * math.ceil(height * scale / _TILE)
    return max(_LOW_DETAIL_TOKENS + _TILE_TOKENS * tiles, patches)


def anthropic_image_tokens(image: Image) -> int:
    """The tokens of an image by Anthropic's rule: one for 750 pixels, the long edge at most 1,568."""
    if image.size is None:
        return _MAX_ANTHROPIC_TOKENS
    width, height = _scale_within(image.size, _LONG_EDGE)
    return min(_MAX_ANTHROPIC_TOKENS, math.ceil(width * height / _PIXELS_A_TOKEN))


def _scale_within(size: tuple[int, int], edge: int) -> tuple[float, float]:
    """The size scaled down so that neither side is longer than the edge."""
    scale = min(1.0, edge / max(1, *size))
    return size[0] * scale, size[1] * scale


# Sizes ---------------------------------------------------------------------------------------------------


def _image_size(data: str) -> tuple[int, int] | None:
    """The width and height from the first bytes of a PNG, GIF, JPEG or WebP; None if they are not there."""
    head = data[:_HEAD_CHARACTERS]
    try:
        read = base64.b64decode(head[: len(head) // 4 * 4])
    except (binascii.Error, ValueError):
        return None
    if read.startswith(b"\x89PNG\r\n\x1a\n") and len(read) >= 24:
        size = int.from_bytes(read[16:20]), int.from_bytes(read[20:24])
    elif read[:6] in (b"GIF87a", b"GIF89a") and len(read) >= 10:
        size = int.from_bytes(read[6:8], "little"), int.from_bytes(read[8:10], "little")
    elif read.startswith(b"\xff\xd8"):
        size = _jpeg_size(read)
    elif read[:4] == b"RIFF" and read[8:12] == b"WEBP":
        size = _webp_size(read)
    else:
        return None
    return size if min(size) > 0 else None


def _jpeg_size(data: bytes) -> tuple[int, int]:
    """The size in the first frame header; (0, 0) if it is not among the bytes."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4])
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(data[at + 7 : at + 9]), int.from_bytes(data[at + 5 : at + 7])
        at += 2 + length
    return 0, 0


def _webp_size(data: bytes) -> tuple[int, int]:
    """The size in the first chunk of a WebP; (0, 0) if it is none of the three kinds."""
    kind = data[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == b"VP8 ":
        width, height = int.from_bytes(data[26:28], "little"), int.from_bytes(data[28:30], "little")
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return 0, 0

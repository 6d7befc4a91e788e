"""What is said in a session and tells nothing: acknowledgements, housekeeping, boot text, progress bars.

Knows wordings and shapes, not worth: a short answer that says something (`use tabs`, `no, port 8081`) stays.
A text is junk only when all of it is. Wordings are listed in `junk_phrases.toml`.
"""

from __future__ import annotations

import hashlib
import re
import threading
import tomllib
from collections import OrderedDict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from foreword.text.words import fold_case, split_words

if TYPE_CHECKING:
    from datetime import datetime

_MAX_WORDS = 10
_COMMAND = re.compile(r"/([A-Za-z][\w:.-]*)(?=\s|$)")

_TAGS = (
    "system-reminder|command-name|command-message|command-contents|local-command-stdout|local-command-stderr|"
    "local-command-caveat|bash-input|bash-stdout|bash-stderr|user-prompt-submit-hook|environment_context|"
    "user_instructions|INSTRUCTIONS|task-notification|ide_opened_file|ide_selection|ide_diagnostics|persisted-output"
)
_TAG = re.compile(rf"<(/?)({_TAGS})(?:\s[^<>]{{0,200}})?>")
_ARGUMENTS = re.compile(r"</?command-args>")
_BOOT_LINE = re.compile(
    r"""^(?:
        \[Request\ interrupted\ by\ user[^\]\n]*\]
      | Caveat:\ The\ messages\ below\ were\ generated\ by\ the\ user\ while\ running\ local\ commands.*
      | \[Image(?:\ \#\d+|:\ source:\ [^\]\n]*)?\]
      | Base\ directory\ for\ this\ skill:.*
    )$""",
    re.VERBOSE | re.MULTILINE,
)
_BOOT_TEXT = re.compile(
    r"""\s*(?:
        \#\ (?:AGENTS|CLAUDE|GEMINI)(?:\.local)?\.md\ instructions\b
      | \#\ claudeMd\b
      | Codebase\ and\ user\ instructions\ are\ shown\ below
      | As\ you\ answer\ the\ user's\ questions,\ you\ can\ use\ the\ following\ context
      | Contents\ of\ \S*(?:AGENTS|CLAUDE|GEMINI)(?:\.local)?\.md\b
      | This\ session\ is\ being\ continued\ from\ a\ previous\ conversation
    )""",
    re.VERBOSE,
)

_NOISE = re.compile(
    r"""^\s*(?:
        \(?no\ output\)? | \(no\ content\) | \[?no\ matches\ found\]?\.? | no\ files\ found
      | undefined | null | none
      | command\ running\ in\ background.* | tool\ ran\ without\ output.*
      | shell\ cwd\ was\ reset\ to\ .* | wall\ time:.* | output:
      # pip, uv, poetry
      | collecting\ \S+(?:\ \(.*\))? | (?:downloading|using\ cached)\ \S+[-_./]\S+(?:\ \(.*\))?
      | (?:requirement\ already\ satisfied|installing\ collected\ packages|stored\ in\ directory
          |attempting\ uninstall|found\ existing\ installation):.*
      | (?:preparing\ metadata|building\ wheels?|getting\ requirements\ to|installing\ build\ dependencies
          |created\ wheel\ for|obtaining\ file|checking\ if\ build\ backend)\b.*
      | \[notice\].* | (?:resolved|prepared|installed|audited|uninstalled)\ \d+\ packages?\ in\ .*
      # npm, yarn, pnpm, cargo, go, apt, docker
      | npm\ (?:warn|notice|http)\b.* | (?:added|removed|changed)\ \d+\ packages?.*
      | run\ `npm\ (?:fund|audit).* | \d+\ packages?\ are\ looking\ for\ funding | progress:\ resolved\ \d.*
      | warning\ ".*"\ has\ unmet\ peer.* | go:\ downloading\ .*
      | (?:compiling|checking|downloaded|fresh|updating|adding)\ \S+\ v\d\S*(?:\ [(-].*)?
      | (?:get|hit|ign):\d+\ \S+\ .* | (?:unpacking|setting\ up)\ \S+\ \([^)]*\)\ .*
      | reading\ (?:package\ lists|database|state\ information).* | building\ dependency\ tree.*
      | [0-9a-f]{12}:\ (?:pulling|waiting|download|verifying|extracting|pull\ complete|already\ exists).*
      # git transfers
      | (?:remote:\ )?(?:enumerating|counting|compressing|receiving|writing|resolving|updating)\ [\w ]+
          :\s+\d+%.*
      | remote:\s* | delta\ compression\ using.*
      # tests that passed: the summary at the end counts them
      | \S+::\S+\ PASSED.* | test\ \S+\ \.\.\.\ ok | [✓√✔]\ .*\(\d[^)]*\) | [.sx]+\s+\[\s*\d+%\]
      | ---\ PASS:\ .* | ===\ RUN\ .*
      # bars, counters, dots
      | (?:\S.{0,60}?)?\d{1,3}(?:\.\d+)?%\s*(?:\||\[|[█▏▎▍▌▋▊▉━╸#=>-]{3}).*
      | .{0,60}\[[\s=>#.█━-]{8,}\].{0,60} | [\W_]*[█━▉▊▋▌▍▎▏╸]{4,}.{0,80}
      | [.\-=_*~#⠀-⣿|/\\ ]*
    )\s*$""",
    re.VERBOSE | re.IGNORECASE,
)
_CHANGING = re.compile(
    r"\d\d\d\d-\d\d-\d\d[t ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?z?|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"
    r"|\b\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|sec|seconds|minutes)\b|\b0x[0-9a-f]{6,16}\b|\bpid[ =:]+\d+\b"
)


@cache
def _read_phrases() -> tuple[frozenset[tuple[str, ...]], frozenset[str]]:
    """The acknowledgements, each as its words, and the housekeeping commands; read on first use."""
    table = tomllib.loads(Path(__file__).with_name("junk_phrases.toml").read_text(encoding="utf-8"))
    said = re.split(r"[|\n]", table["acknowledgements"].strip())
    return frozenset(tuple(split_words(one)) for one in said), frozenset(table["commands"].split())


def remove_wrappers(text: str) -> str:
    """The text without what an agent's own machinery put around it; a command's arguments stay."""
    if "<" in text:
        text = _ARGUMENTS.sub(" ", _remove_tagged_blocks(text.strip()))
    return _BOOT_LINE.sub("", text).strip()


def _remove_tagged_blocks(text: str) -> str:
    """The text without tagged blocks. One that never ends counts only when the text begins with it.

    One pass over the tags: a text of a hundred thousand opening tags costs no more than any other.
    """
    tags = list(_TAG.finditer(text))
    last = {tag.group(2): tag.end() for tag in tags if tag.group(1)}
    kept: list[str] = []
    here, inside = 0, ""
    for tag in tags:
        closing, name = bool(tag.group(1)), tag.group(2)
        if inside and closing and name == inside:
            here, inside = tag.end(), ""
        elif not inside and not closing and (tag.start() == 0 or last.get(name, -1) > tag.end()):
            kept.append(text[here : tag.start()])
            inside = name
    return " ".join([*kept, "" if inside else text[here:]])


def is_progress_line(line: str) -> bool:
    """Whether a line of output only says that something is going on."""
    return _NOISE.match(line[:300]) is not None


def junk_reason(text: str) -> str | None:
    """Why a text tells nothing, or None when it may tell something."""
    stripped = text.strip()
    if not stripped:
        return "empty"
    said = remove_wrappers(stripped)
    if not said or _BOOT_TEXT.match(said):
        return "boot text"
    if _is_housekeeping_command(said):
        return "slash command"
    if _is_acknowledgement(said):
        return "acknowledgement"
    if all(map(is_progress_line, said.splitlines())):
        return "no more than progress or an empty output"
    return None


def _is_housekeeping_command(text: str) -> bool:
    """A slash command with nothing after it, or one that only tends the agent itself."""
    match = _COMMAND.match(text)
    _, commands = _read_phrases()
    return match is not None and (match.end() == len(text) or fold_case(match.group(1)) in commands)


def _is_acknowledgement(text: str) -> bool:
    """Whether the whole text is made of phrases that say yes, no, thanks or go on, or of no words at all."""
    if len(text) > 120:
        return False
    said = split_words(text)
    if len(said) > _MAX_WORDS:
        return False
    if len(said) <= 1 and len("".join(said)) <= 1:  # a thumb, a question mark, the number of an option
        return True
    phrases, _ = _read_phrases()
    reached = {0}
    for end in range(1, len(said) + 1):
        if any(tuple(said[start:end]) in phrases for start in reached):
            reached.add(end)
    return len(said) in reached


class RecentTexts:
    """Remembers what a session has lately seen, so that the same text again is not kept again.

    Bounded in both directions: the oldest texts of a session and the oldest sessions are let go. The same
    text at the same moment is the same event, told twice, and no repeat: a second try must not be lost.
    Safe to share between threads.
    """

    def __init__(self, texts: int = 512, sessions: int = 64) -> None:
        self._texts = texts
        self._sessions = sessions
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, OrderedDict[bytes, datetime]] = OrderedDict()

    def is_repeat(self, session: str, text: str, at: datetime, *, loosely: bool = False) -> bool:
        """Whether this session had the same text at another moment; from now on, it had.

        Loosely the same are texts that differ in times, durations and addresses only, as outputs do.
        """
        gist = " ".join((_CHANGING.sub(" ", fold_case(text)) if loosely else fold_case(text)).split())
        key = hashlib.blake2b(gist.encode(errors="replace"), digest_size=12).digest()
        with self._lock:
            seen = self._seen.setdefault(session, OrderedDict())
            self._seen.move_to_end(session)
            first = seen.setdefault(key, at)
            seen.move_to_end(key)
            if len(seen) > self._texts:
                seen.popitem(last=False)
            if len(self._seen) > self._sessions:
                self._seen.popitem(last=False)
        return first != at

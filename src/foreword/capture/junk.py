"""Recognise texts without information: acknowledgements, housekeeping, boot text, progress bars.

Judges by wording and shape, not by length: a short answer with information (`use tabs`, `no, port 8081`) is
no junk, and a text is junk only if all of it is. The wordings are listed in `junk_phrases.toml`.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

from foreword.text.words import fold_case, split_words

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


@cache
def _load_junk_phrases() -> tuple[frozenset[tuple[str, ...]], frozenset[str]]:
    """The acknowledgements, each split into words, and the housekeeping commands; read on first use."""
    table = tomllib.loads(Path(__file__).with_name("junk_phrases.toml").read_text(encoding="utf-8"))
    phrases = re.split(r"[|\n]", table["acknowledgements"].strip())
    return frozenset(tuple(split_words(phrase)) for phrase in phrases), frozenset(table["commands"].split())


def remove_agent_tags(text: str) -> str:
    """The text without the tags and notes that an agent's own software adds; a command's arguments stay."""
    if "<" in text:
        text = _ARGUMENTS.sub(" ", _remove_tagged_blocks(text.strip()))
    return _BOOT_LINE.sub("", text).strip()


def _remove_tagged_blocks(text: str) -> str:
    """The text without tagged blocks; one that is not closed is removed only at the beginning of the text.

    Makes one pass over the tags, so that a text of a hundred thousand opening tags costs no more than others.
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
    """Whether a line of output only shows progress, or nothing."""
    return _NOISE.match(line[:300]) is not None


def junk_reason(text: str) -> str | None:
    """Why a text has no information, or None if it may have some."""
    stripped = text.strip()
    if not stripped:
        return "empty"
    content = remove_agent_tags(stripped)
    if not content or _BOOT_TEXT.match(content):
        return "boot text"
    if _is_housekeeping_command(content):
        return "slash command"
    if _is_acknowledgement(content):
        return "acknowledgement"
    if all(map(is_progress_line, content.splitlines())):
        return "no more than progress or an empty output"
    return None


def _is_housekeeping_command(text: str) -> bool:
    """Whether a text is a slash command without arguments, or one that only concerns the agent itself."""
    match = _COMMAND.match(text)
    _, commands = _load_junk_phrases()
    return match is not None and (match.end() == len(text) or fold_case(match.group(1)) in commands)


def _is_acknowledgement(text: str) -> bool:
    """Whether a text consists of phrases such as yes, no, thanks or go on, or has no words at all."""
    if len(text) > 120:
        return False
    words = split_words(text)
    if len(words) > _MAX_WORDS:
        return False
    if len(words) <= 1 and len("".join(words)) <= 1:  # an emoji, a question mark, the number of an option
        return True
    phrases, _ = _load_junk_phrases()
    reached = {0}
    for end in range(1, len(words) + 1):
        if any(tuple(words[start:end]) in phrases for start in reached):
            reached.add(end)
    return len(words) in reached

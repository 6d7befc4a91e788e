"""What can be told of a shell command by its words: if it only looks around, and if it asks the web.

Reads the words and runs nothing. In doubt a command is one that does something, and so is kept.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST = 2_000
_URL = re.compile(r"https?://[^\s<>\"'`)\]}|;&]+", re.IGNORECASE)
_NEAR = re.compile(r"localhost|127\.[\d.]+|0\.0\.0\.0|::1|.*\.local(?:host)?")
_GITHUB = re.compile(r"(?:^|[\s;&|(])gh\s+(?:issue|pr|api|release|gist|search|repo|run)\b")

_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"")
_HARMLESS = re.compile(r"\d?>&\d|[12&]?>>?\s*/dev/null")
_STEP = re.compile(r"&&|\|\||[|;\n&]")
_BEFORE = re.compile(r"(?:\w+=\S*\s+|(?:sudo|time|command|nohup|xargs|timeout\s+\S+)\s+)*")
_DOES = (">", "`", "$(", " -delete", " -exec", " -i ")
_LOOKS = re.compile(
    r"(?:cat|bat|less|more|head|tail|sed|awk|nl|wc|ls|ll|tree|find|fd|[ef]?grep|rg|ag|pwd|cd|pushd|popd|which|type"
    r"|whereis|file|stat|du|df|echo|printf|sort|uniq|cut|tr|column|jq|yq|diff|cmp|ps|date|uname|whoami|id|env"
    r"|printenv|history|man|basename|dirname|realpath|readlink|sleep|true|export|source|\.|test|\[|mkdir|touch"
    r"|wait|set|xxd|od|foreword"
    r"|git\s+(?:-\S+\s+\S+\s+)?(?:status|diff|log|show|blame|ls-files|grep|rev-parse|branch|remote|describe"
    r"|reflog|shortlog|cat-file|config))(?:\s|$)"
)
_ASKS_FOR_HELP = re.compile(r"(?:^|\s)(?:--help|--version)(?:\s|$)")


def command_of(given: Mapping[str, Any]) -> str:
    """The command in a tool's input; of a list its words, of `bash -c …` what follows."""
    command = given.get("command", given.get("cmd", ""))
    if isinstance(command, list):
        words = [str(word) for word in command]
        return (words[-1] if len(words) == 3 and words[1].startswith("-") else " ".join(words)).strip()
    return command.strip() if isinstance(command, str) else ""


def only_looks(command: str) -> bool:
    """Whether a command changes nothing and tells only what is there to be read again."""
    if len(command) > _LONGEST or _URL.search(command):
        return False
    bare = _HARMLESS.sub(" ", _QUOTED.sub("_", command))
    if _ASKS_FOR_HELP.search(bare):
        return True
    if any(sign in bare for sign in _DOES):
        return False
    steps = (_BEFORE.sub("", step.strip(), count=1) for step in _STEP.split(bare))
    return all(_LOOKS.match(step) for step in steps if step)


def asked_host(command: str) -> str:
    """The host on the web whose words a command brought in; empty when there is none."""
    if _GITHUB.search(command):
        return "github.com"
    host = host_in(command)
    return "" if _NEAR.fullmatch(host) else host


def host_in(text: str) -> str:
    """The host of the first web address in a text."""
    for match in _URL.finditer(text):
        try:
            host = urlsplit(match.group()).hostname
        except ValueError:  # half an IPv6 address
            continue
        if host:
            return host[:200]
    return ""

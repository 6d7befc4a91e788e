"""Lines by which a tool says that it could not do its work, or that there was none to do.

Then nothing was learnt about the code, whatever the exit code. That code does not compile is another thing:
that was learnt.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_OF_STARTING = (
    r"\bcommand not found\b",
    r"\b[Cc]ommand timed out\b",
    r"\b(?:rejected|interrupted|cancelled|aborted) by (?:the )?user\b|doesn't want to proceed",
    r"\bCommand not found: ",
    r"^\S*sh: (?:line )?(?:\d+: )?\S+: (?:not found|No such file or directory|Permission denied)$",
    r"^g?make: \S+: (?:No such file or directory|Permission denied)$",
    r"is not recognized as an internal or external",
    r"^error: Failed to spawn: ",
    r"executable file not found in \$PATH",
    r"^Cannot connect to the Docker daemon",
    r"\bError response from daemon: |^no such service: |^Error: No such container: ",
    r"^(?:\S+: line \d+: .*)?(?:Killed|Terminated)\b",
    r"^Segmentation fault",
    r"^Fatal Python error: Aborted",
)
_OF_PYTHON = (
    r"^\S*python[\d.]*(?:\.exe)?: (?:No module named |can't open file )",
    r"^(?:ERROR: )?[Uu]sage: ",
    r": error: unrecognized arguments: ",
    r"^INTERNALERROR> ",
    r"^ERROR: (?:file or directory not found|not found): ",
    r"\b(?:can't|[Cc]annot) read file '",
    r"^!+ (?:KeyboardInterrupt|\S*\.Exit: .*) !+$",
)
_OF_JAVASCRIPT = (
    r"[Nn]o test specified",
    r"\bMissing script: ",
    r"\bERR_PNPM_NO_(?:SCRIPT|IMPORTER|PKG)",
    r"^error: Script not found ",
    r"^error Command \".*\" not found",
    r"Couldn't find a script named ",
    r"has a \"\S+\" script$",
    r"\b(?:Could not read|[Cc]ouldn't find a|No) package\.json",
    r"could not determine executable to run|\bnpx canceled due to missing packages",
    r"^npm (?:ERR!|error) (?:code E404|.*\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED)\b)",
    r"^\s*● Validation Error:",
    r"^This is not the tsc command ",
    r"\berror TS(?:5023|5058|5083|6053|18003): ",
)
_OF_RUST_AND_GO = (
    r"^error: could not find `Cargo\.toml`",
    r"^error: no such (?:sub)?command",
    r"^error: no (?:test|bin|example) target named",
    r"^error: (?:package ID specification|unexpected argument|toolchain )",
    r"^error: failed to (?:parse manifest|get `|download|select a version)",
    r"^rustup could not choose",
    r"^go: (?!downloading |finding |extracting )",
    r"^pattern \S+: ",
    r"\bno Go files in ",
    r"^no required module ",
    r"^flag provided but not defined: ",
    r"\bdial tcp\b",
)
_OF_JAVA = (
    r"there is no POM in this directory",
    r"\] Unknown lifecycle phase ",
    r"\bNo plugin found for prefix ",
    r"\bCould not (?:find the selected project|resolve dependencies|transfer artifact)",
    r"\bNon-resolvable ",
    r"\bNo tests (?:matching pattern|were executed)",
    r"^(?:> )?No tests found for given includes",
    r"^(?:> )?(?:Task|Project) '.*' not found in ",
    r"^(?:> )?Cannot locate tasks? that match ",
    r"does not contain a Gradle build",
    r"^(?:> )?Could not resolve all ",
    r"Unknown command-line option ",
    r"\bJAVA_HOME is (?:not set|set to an invalid)",
    r"^Error: (?:Could not find or load main|Unable to access)",
)
_OF_MAKE_AND_OTHERS = (
    r"^g?make(?:\[\d+\])?: \*\*\* No rule to make target [^,]*$",  # with a comma: a file of the project's own
    r"^g?make(?:\[\d+\])?: \*\*\* No targets ",
    r"^g?make(?:\[\d+\])?: \*\*\* .* Error (?:12[467]|130|137|143)$",
    r"^g?make(?:\[\d+\])?: \*\*\* .*\b(?:Interrupt|Terminated|Killed)$",
    r"^(?:gcc|g\+\+|clang|cc): (?:fatal )?error: (?:\S+: No such file|no input files)",
    r"^No Rakefile found|^Don't know how to build task ",
)
_UNABLE = re.compile(
    "|".join((*_OF_STARTING, *_OF_PYTHON, *_OF_JAVASCRIPT, *_OF_RUST_AND_GO, *_OF_JAVA, *_OF_MAKE_AND_OTHERS))
)
_NOTHING = re.compile(
    r"\b(?:[Nn]o|NO|0|[Zz]ero) (?:tests?|TESTS?|test files?|examples|specs|test cases|testcases)\b"
    r"|\b(?:NOTESTS|NO-SOURCE)\b"
    r"|\b[Tt]ests? (?:are |were |is )?(?:skipped|disabled)\b"
    r"|\b[Ss]kipping tests?\b"
    r"|\bNothing to be done for\b|' is up to date\.$|\bnothing to (?:do|test)\b"
    r"|\bNo tasks? (?:were|was) executed\b"
)


def could_not_run(lines: Iterable[str]) -> bool:
    """Whether a tool said that it was not there, was called wrongly, or found no project to work on."""
    return any(_UNABLE.search(line) for line in lines)


def found_nothing(lines: Iterable[str]) -> bool:
    """Whether a tool said that there was nothing to test or to build."""
    return any(_NOTHING.search(line) for line in lines)

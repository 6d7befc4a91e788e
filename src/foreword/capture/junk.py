"""What is said in a session and tells nothing: acknowledgements, housekeeping, boot text, progress bars.

Knows wordings and shapes, not worth: a short answer that says something (`use tabs`, `no, port 8081`) stays.
A text is junk only when all of it is.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from foreword.text.words import fold, split_words

if TYPE_CHECKING:
    from datetime import datetime

_ACKNOWLEDGEMENTS = """
    ok | okay | okey | k | kk | yes | yep | yeah | yup | ya | y | no | nope | n | sure | sure thing
    of course | fine | that is fine | that s fine | good | good job | very good | great | great job
    great work | nice | nice one | nice work | well done | perfect | excellent | awesome | amazing | cool
    super | wow | lovely | brilliant | thanks | thank you | thank you so much | thank you very much
    thanks a lot | many thanks | thx | ty | cheers | please | please do | pls | go | go on | go ahead
    go for it | continue | keep going | carry on | proceed | next | do it | do that | do so | just do it
    yes do it | make it so | sounds good | looks good | looks good to me | lgtm | all good | that works
    works for me | got it | i see | understood | makes sense | right | correct | exactly | that is right
    that s right | agreed | approved | done | ready | try again | again | retry | one more time | hi | hello
    hey | hi there | hello there | good morning | good evening | bye | goodbye | see you | stop | wait
    never mind | nevermind | hm | hmm | hmmm | uh | um | ah | oh | test | testing | ping | resume | start
    absolutely | definitely | indeed | alright | all right | very nice | ack | roger | noted | it works
    works | ja | nein | danke | vielen dank | danke schon | bitte | weiter | mach weiter | genau | gut
    sehr gut | klar | passt | oui | non | merci | merci beaucoup | d accord | continue s il te plait | vas y
    parfait | c est bon | tres bien | si | gracias | muchas gracias | vale | de acuerdo | continua | sigue
    adelante | perfecto | muy bien | bien | sim | nao | obrigado | obrigada | muito obrigado
    pode continuar | continue por favor | beleza | por favor | grazie | va bene | vai avanti | perfetto
    certo | molto bene | bene | dank je | bedankt | ga door | prima | goed | tack | fortsatt | bra | tak
    takk | kiitos | jatka | dziekuje | dzieki | tak jest | dalej | kontynuuj | dekuji | pokracuj | koszonom
    tesekkurler | tamam | devam | devam et | evet | hayir | cam on | terima kasih | да | нет | спасибо
    хорошо | ладно | продолжай | продолжайте | дальше | ок | понятно | отлично | давай | так | дякую | добре
    好 | 好的 | 好吧 | 谢谢 | 多谢 | 继续 | 是 | 是的 | 对 | 可以 | 行 | 没问题 | 嗯 | 不 | 谢谢你 | 請繼續
    謝謝 | はい | いいえ | ありがとう | ありがとうございます | 続けて | 続けてください | お願いします | 了解
    了解です | 大丈夫 | 네 | 예 | 아니요 | 감사합니다 | 고마워 | 계속 | 계속해 | 계속해줘 | 좋아 | 좋아요
    알겠습니다 | شكرا | نعم | لا | استمر | تمام | धन्यवाद | हाँ | ठीक है | תודה | כן | המשך
"""
_PHRASES = {
    tuple(split_words(phrase)) for line in _ACKNOWLEDGEMENTS.splitlines() for phrase in line.split("|")
} - {()}
_MAX_PHRASE_WORDS = max(map(len, _PHRASES))
_MAX_WORDS = 10

_HOUSEKEEPING_COMMANDS = (
    "add-dir agents approvals bashes bug chat clear compact compress config context copy cost doctor editor "
    "exit export extensions fast feedback help hooks ide init keybindings login logout mcp memory model "
    "models new output-style permissions plan plugin plugins privacy-settings quit release-notes reload "
    "resume rewind sessions settings share skills stats status statusline tasks terminal-setup theme todos "
    "tools undo upgrade usage vim"
)
_HOUSEKEEPING = frozenset(_HOUSEKEEPING_COMMANDS.split())
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


def is_noise(line: str) -> bool:
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
    if all(map(is_noise, said.splitlines())):
        return "no more than progress or an empty output"
    return None


def _is_housekeeping_command(text: str) -> bool:
    """A slash command with nothing after it, or one that only tends the agent itself."""
    match = _COMMAND.match(text)
    if match is None:
        return False
    return match.end() == len(text) or fold(match.group(1)) in _HOUSEKEEPING


def _is_acknowledgement(text: str) -> bool:
    """Whether the whole text is made of phrases that say yes, no, thanks or go on, or of no words at all."""
    if len(text) > 120:
        return False
    said = split_words(text)
    if len(said) > _MAX_WORDS:
        return False
    if len(said) <= 1 and len("".join(said)) <= 1:  # a thumb, a question mark, the number of an option
        return True
    reached = {0}
    for end in range(1, len(said) + 1):
        starts = range(max(0, end - _MAX_PHRASE_WORDS), end)
        if any(start in reached and tuple(said[start:end]) in _PHRASES for start in starts):
            reached.add(end)
    return len(said) in reached


class Repeats:
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
        gist = " ".join((_CHANGING.sub(" ", fold(text)) if loosely else fold(text)).split())
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

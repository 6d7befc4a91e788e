"""The words of a sentence that make it one fact and not another, each in one spelling.

    The TTL is 60 seconds.         ttl, 60 s
    we don't deploy on Fridays     not, deploy, every friday
    Prod läuft täglich             production, lauft, every day

Articles, pronouns, courtesies and most of the small words say nothing and are left out. Numbers with their
units, times, dates, weekdays, frequencies, denials and environments are brought to one form each, in English,
German, French and Spanish; a plural is its singular. What differs in any word that is left is another fact.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from foreword.text.date_meaning import MONTHS, WEEKDAYS, WEEKDAYS_ABROAD
from foreword.text.words import STOPWORDS, fold_case


class FactWord(NamedTuple):
    """A word in its one spelling, and how it was written.

    `is_plain` is false of numbers, days, identifiers and whatever else must agree to the letter. `opens` is
    true after a stop or a preposition. `link` is the preposition or denial before it that says what part it
    plays.
    """

    key: str
    written: str
    is_plain: bool = True
    is_name: bool = False
    opens: bool = False
    link: str = ""


def fact_words(sentence: str) -> list[FactWord]:
    """The words of a sentence that carry something, in order; one that only asks ends with a question mark."""
    found: list[FactWord] = []
    opens, link, is_first = True, "", True
    for key, written in _join_values(_chunks(sentence)):
        if not key:
            link = _LINKS.get(written, "")
            opens = opens or bool(link) or not written
            continue
        folded, is_plain, begins_like_name, is_identifier = _looks(key, written)
        is_name = is_identifier or (begins_like_name and not is_first)
        found.append(FactWord(key, folded, is_plain, is_name, opens, link))
        opens, link, is_first = key in _OPENERS, "not" if key == "not" else "", False
    return _without_one_person(found)


def _without_one_person(words: list[FactWord]) -> list[FactWord]:
    """The words without `my` or `your`: two who talk to each other mean the same person by them.

    Where both stand in one sentence, they say who does what, and stay.
    """
    persons = {word.key for word in words if word.key in _PERSONS}
    return [word for word in words if word.key not in _PERSONS] if len(persons) == 1 else words


@lru_cache(maxsize=50_000)
def _looks(key: str, written: str) -> tuple[str, bool, bool, bool]:
    """The folded word; whether it is a plain one, begins like a name, and has capitals like an identifier."""
    is_plain = key.isalpha() and key not in _VALUES
    is_identifier = is_plain and bool(_INNER_CAPITAL.search(written))
    return fold_case(written), is_plain, is_plain and written[:1].isupper(), is_identifier


# Chunks: what stands between blanks ----------------------------------------------------------------------

_Chunk = tuple[str, str]
"""A word in its one spelling and as it is written. Words that say nothing, and stops, have no spelling."""

_COURTESIES = re.compile(
    r"\b(?:by the way|got it|just to remind you|to be clear|as agreed|for the record|keep in mind"
    r"|(?:i['’]d|i would) like you to (?:remember|know)|don['’]t forget that|all right|no problem"
    r"|zur erinnerung|nicht vergessen|pour rappel|il faut se souvenir que|por cierto|de acuerdo)\b",
    re.IGNORECASE,
)
_SPLIT = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\s\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_BEFORE, _AFTER = "\"'([{«“‘„¿¡*`<|•–—,;:…", "\"')]}»”’“*`>|•–—,;:.!?…。，、！？"
_ENDS_PHRASE = frozenset(",;:.!?…—–)。，、！？")
_ELISION = re.compile(r"\A(?:l|d|n|s|c|j|m|t|qu)['’](?=\w)", re.IGNORECASE)
_CONTRACTION = re.compile(r"(?P<verb>\w+?)(?P<denial>n['’]t)|(?P<noun>\w+)['’](?:s|re|ve|ll|d|m)?", re.IGNORECASE)
_HYPHENATED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")
_PREFIXED = re.compile(r"[^\W\d_]{1,3}-")
_ARROWS = ("->", "→", "=>", "-->")
_SYMBOL = re.compile(r"[^\w+/<>=%&€$£]+|[-=_]{2,}")
"""Stops, bullets, quotation marks and rules; other signs may be operators."""

_STOP = ("", "")


def _chunks(sentence: str) -> list[_Chunk]:
    """The words of a sentence with what parts them, contractions taken apart."""
    chunks: list[_Chunk] = []
    for raw in _SPLIT.findall(_COURTESIES.sub(" , ", sentence)):
        rest = raw if raw in _ARROWS else raw.lstrip(_BEFORE)
        core = rest if raw in _ARROWS else rest.rstrip(_AFTER)
        if rest != raw:
            chunks.append(_STOP)
        if core:
            chunks += _parts(core)
        elif chunks and not _SYMBOL.fullmatch(raw):
            chunks.append(_word(raw))
        after = rest[len(core) :]
        if not _ENDS_PHRASE.isdisjoint(after):
            chunks.append(_STOP)
        if "?" in after or "？" in after:
            chunks.append(("?", "?"))
    return chunks


def _parts(core: str) -> list[_Chunk]:
    """A chunk as one word or as the words it is made of."""
    if core.isalpha():
        return [_word(core)]
    if _HYPHENATED.fullmatch(core) and not _PREFIXED.match(core):
        return [_word(part) for part in core.split("-")]
    core = _ELISION.sub("", core)
    contraction = _CONTRACTION.fullmatch(core)
    if contraction is None:
        return [_word(core)]
    if contraction["noun"]:
        return [_word(contraction["noun"])]
    verb = {"ca": "can", "wo": "will", "sha": "shall"}.get(contraction["verb"].lower(), contraction["verb"])
    return [_word(verb), ("not", "not")]


def _word(written: str) -> _Chunk:
    key = _one_spelling(written)
    return (key, written) if key else ("", fold_case(written))


@lru_cache(maxsize=50_000)
def _one_spelling(written: str) -> str:
    """The spelling that stands for all forms of a word; nothing for a word that says nothing."""
    folded = fold_case(written).replace("ß", "ss")
    if folded in _SPELLINGS:
        return _SPELLINGS[folded]
    if not folded.isalpha():
        return _plain_number(folded)
    if folded in _EMPTY:
        return ""
    singular = _singular(folded)
    return _SPELLINGS.get(singular, singular)


_INNER_CAPITAL = re.compile(r"[a-z][A-Z]")
_THOUSANDS, _DECIMAL_COMMA = re.compile(r"\d{1,3}(?:[,'’]\d{3})+(?:\.\d+)?"), re.compile(r"(\d+),(\d{1,2})")


def _plain_number(folded: str) -> str:
    """A number without its separators of thousands, and with a decimal point; any other text as it is."""
    if _THOUSANDS.fullmatch(folded):
        return re.sub("[,'’]", "", folded)
    decimal = _DECIMAL_COMMA.fullmatch(folded)
    return f"{decimal[1]}.{decimal[2]}" if decimal else folded


def _singular(word: str) -> str:
    """A word without the s of its plural, or of the third person."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("xes", "ches", "shes", "sses", "zzes", "oes")) else word[:-1]


# Words with one spelling ---------------------------------------------------------------------------------

_CARRY = (
    "above after all any before below both can could did down each few had if more most no nor not off only "
    "or other out over same should some than under until up was were while will would because once "
    "he him his she her hers they them their theirs"
)
_PERSONS = {"i": "i me my mine myself ich mich mir mein meine je moi mon ma yo mi", "you": "you your yours du dein"}
_COURTESY_WORDS = (
    "ok okay noted sure please so then btw fyi just also too well yes yeah yep thanks thank hi hello actually "
    "really currently now remember reminder note understood agreed right bitte ja danke jetzt donc alors oui "
    "merci maintenant vale pues entonces gracias ahora"
)
_SMALL_ABROAD = (
    "der die das den dem des ein eine einen einem einer eines und ist sind sein wird werden es wir "
    "uns unser unsere le la les un une et est sont il elle nous notre nos au aux du ce cette ses ne y "
    "el los las una unos unas es son esta estan lo se nuestro nuestra su sus"
)
_PREPOSITIONS = (
    "about as at by during for from in into of on onto over per through to toward towards under until via with "
    "within since than am im zum zur vom beim von nach bis vor durch fur mit bei aus auf uber an um in zu de vers depuis pour par avec "
    "dans sur des chez desde hacia hasta para por con en del al"
)
_LINKS = {word: word for word in _PREPOSITIONS.split()}
_EMPTY = (STOPWORDS | set(f"{_SMALL_ABROAD} {_COURTESY_WORDS} {_PREPOSITIONS}".split())) - set(_CARRY.split())

_DENIALS = (
    "not no never none neither nor cannot nicht kein keine keinen keinem keiner keines nie niemals pas jamais aucun "
    "aucune nunca jamas ningun ninguno ninguna"
)
_NUMBERS = (
    "zero/null/cero one/eins/uno two/zwei/deux/dos three/drei/trois/tres four/vier/quatre/cuatro "
    "five/funf/cinq/cinco six/sechs/seis seven/sieben/siete eight/acht/huit/ocho nine/neun/neuf/nueve "
    "ten/zehn/dix/diez eleven/elf/onze twelve/zwolf/douze/doce thirteen/dreizehn/treize/trece "
    "fourteen/vierzehn/quatorze/catorce fifteen/funfzehn/quinze/quince sixteen/sechzehn/seize "
    "seventeen/siebzehn eighteen/achtzehn nineteen/neunzehn twenty/zwanzig/vingt/veinte"
)
_TENS = {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_TENS |= {"dreissig": 30, "trente": 30, "treinta": 30, "vierzig": 40, "sechzig": 60, "hundred": 100, "hundert": 100}
_TENS |= {"thousand": 1000, "tausend": 1000, "cent": 100, "mille": 1000, "mil": 1000, "cien": 100}
_MONTHS_ABROAD = (
    "januar februar marz april mai juni juli august september oktober november dezember",
    "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
)
_SHORT_WEEKDAYS = "mon tue wed thu fri sat sun tues weds thur thurs"
_SHORT_DAY = {name: WEEKDAYS[day] for name, day in zip(_SHORT_WEEKDAYS.split(), (*range(7), 1, 2, 3, 3), strict=True)}
_FREQUENCIES = {
    "day": "daily taglich quotidien quotidienne quotidiennement diario diaria diariamente",
    "night": "nightly",
    "week": "weekly wochentlich hebdomadaire semanal semanalmente",
    "month": "monthly monatlich mensuel mensuelle mensual mensualmente",
    "year": "yearly annually annual jahrlich annuel annuelle anual anualmente",
    "hour": "hourly stundlich",
    "quarter": "quarterly vierteljahrlich trimestriel trimestral",
}
_EVERY = "every each jede jeden jeder jedes jedem chaque cada"
_PERIODS = {
    "day": "day days tag tage tagen jour jours dia dias",
    "night": "night nights nacht nuit noche",
    "week": "week weeks woche wochen semaine semaines semana semanas",
    "month": "month months monat monate monaten mois mes meses",
    "year": "year years jahr jahre jahren ans annee annees ano anos",
    "hour": "hour hours h hr hrs stunde stunden heure heures hora horas",
    "quarter": "quarter quarters quartal trimestre",
}
_SECONDS = {"week": Fraction(604_800), "day": Fraction(86_400), "hour": Fraction(3600), "minute": Fraction(60)}
_SECONDS |= {"second": Fraction(1), "ms": Fraction(1, 1000)}
_UNITS = {
    **_PERIODS,
    "minute": "minute minutes min mins minuten minuto minutos",
    "second": "second seconds s sec secs sekunde sekunden seconde secondes segundo segundos",
    "ms": "ms millisecond milliseconds msec",
    "kb": "kb kilobyte kilobytes",
    "mb": "mb megabyte megabytes",
    "gb": "gb gigabyte gigabytes",
    "tb": "tb terabyte terabytes",
    "%": "% percent prozent",
    "eur": "€ eur euro euros",
    "usd": "$ usd dollar dollars",
    "gbp": "£ gbp",
    "kg": "kg kilo kilos kilogram kilograms",
    "km": "km kilometre kilometres kilometer kilometers",
    "m": "m metre metres meter meters",
    "cm": "cm centimetre centimetres centimeter centimeters",
}
_UNIT = {name: unit for unit, names in _UNITS.items() for name in names.split()}
_ENVIRONMENTS = {"production": "production prod produktion", "staging": "staging", "development": "development dev"}


def _spell_alike(groups: dict[str, str]) -> dict[str, str]:
    return {name: one for one, names in groups.items() for name in names.split()}


_MONTH_NUMBERS = {name: at for line in (MONTHS, *(line.split() for line in _MONTHS_ABROAD)) for at, name in enumerate(line, 1)}
_MONTH_NUMBERS |= {name[:3]: at for at, name in enumerate(MONTHS, 1)} | {"sept": 9}
_SPELLINGS = {
    **_spell_alike({"not": _DENIALS, "without": "without ohne sans sin", "every": _EVERY, **_PERSONS, **_ENVIRONMENTS}),
    **_spell_alike({"was": "was were had did", "might": "might could may", "he": "he him his", "she": "she her hers"}),
    **{name: str(number) for number, names in enumerate(_NUMBERS.split()) for name in names.split("/")},
    **{name: str(number) for name, number in _TENS.items()},
    **{name: WEEKDAYS[day] for name, day in WEEKDAYS_ABROAD.items()},
    **_SHORT_DAY,
    **{f"{day}s": f"every {day}" for day in WEEKDAYS},
    **{name: f"every {period}" for period, names in _FREQUENCIES.items() for name in names.split()},
    **{name: period for period, names in _PERIODS.items() for name in names.split() if len(name) > 2},
    **dict.fromkeys(_ARROWS, ""),
}
_SPELLINGS |= {name: f"month {at}" for name, at in _MONTH_NUMBERS.items() if len(name) > 4}
_LINKS |= dict.fromkeys(_ARROWS, "to")
_OPPOSITES = (
    "above after before below down off only or out over under up more most fewer less least all any some might "
    "must should will would can if unless except without he she they i you not every first last always rarely "
    "sometimes often enabled disabled true false pass fail passed failed public private local remote min max "
    "minimum maximum ascending descending production staging development test confirmed falsified abandoned"
)
_VALUES = frozenset((*_OPPOSITES.split(), *WEEKDAYS, *_PERIODS, *_UNITS))
"""Words that never stand for another one, even in a long text."""

_OPENERS = frozenset({"not", "was", "will", "might", "every"})

# Values of several words ---------------------------------------------------------------------------------

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_NUMBER_UNIT = re.compile(r"([€$£]?)(-?\d[\d,.]*)(%|[^\W\d_]{1,12}|[€$£])?")
_CLOCK = re.compile(r"(\d{1,2})(?:[:h](\d\d)|h)?(am|pm|uhr)?")
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_NUMERIC_DATE = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")
_YEAR = re.compile(r"(?:19|20)\d\d")


def _join_values(chunks: list[_Chunk]) -> list[_Chunk]:
    """The chunks, with values that are written in several words or in one of many ways as one."""
    joined: list[_Chunk] = []
    at = 0
    while at < len(chunks):
        key, written = chunks[at]
        length, value = 1, key
        if key and (key[0].isdigit() or key[0] in "-€$£"):
            length, value = _join_number(chunks, at)
        elif key == "every":
            length, value = _join_every(chunks, at)
        elif fold_case(written).rstrip(".") in _MONTH_NUMBERS:
            length, value = _join_month(chunks, at)
        joined.append((value, written if length == 1 else value))
        at += length
    return joined


def _join_every(chunks: list[_Chunk], at: int) -> tuple[int, str]:
    """`every` with the day or the period after it."""
    follows = chunks[at + 1][0] if at + 1 < len(chunks) else ""
    is_named = follows in WEEKDAYS or follows in _PERIODS
    return (2, f"every {follows}") if is_named else (1, "every")


def _join_month(chunks: list[_Chunk], at: int) -> tuple[int, str]:
    """A month with the day and the year after it."""
    month = _MONTH_NUMBERS[fold_case(chunks[at][1]).rstrip(".")]
    places = [place for place in range(at + 1, min(at + 4, len(chunks))) if chunks[place][0]][:2]
    day = _DAY.fullmatch(chunks[places[0]][0]) if places else None
    if day and places[0] <= at + 2:
        year = chunks[places[1]][0] if len(places) > 1 and _YEAR.fullmatch(chunks[places[1]][0]) else ""
        return (places[1] if year else places[0]) - at + 1, f"{year}-{month}-{int(day[1])}"
    if places and _YEAR.fullmatch(chunks[places[0]][0]):
        return places[0] - at + 1, f"{chunks[places[0]][0]}-{month}"
    return 1, chunks[at][0]


def _join_number(chunks: list[_Chunk], at: int) -> tuple[int, str]:
    """A number with its unit, or with the month after it; a date or a time in one form."""
    key = chunks[at][0]
    if date := _ISO.fullmatch(key):
        return 1, f"{date[1]}-{int(date[2])}-{int(date[3])}"
    if date := _NUMERIC_DATE.fullmatch(key):
        return 1, f"{date[3]}-{int(date[2])}-{int(date[1])}"
    if day := _DAY.fullmatch(key):
        length, value = _join_day_month(chunks, at, int(day[1]))
        if length > 1:
            return length, value
    follows = fold_case(chunks[at + 1][1]) if at + 1 < len(chunks) else ""
    if (clock := _CLOCK.fullmatch(key + follows.replace(".", ""))) and follows in ("am", "pm", "uhr", "a.m", "p.m"):
        return 2, _time_of_day(clock)
    if (clock := _CLOCK.fullmatch(key)) and (clock[2] or clock[3]):
        return 1, _time_of_day(clock)
    if _NUMBER.fullmatch(key) and follows in _UNIT:
        return 2, _measure(key, _UNIT[follows])
    one = _NUMBER_UNIT.fullmatch(key)
    unit = _UNIT.get((one[1] or one[3] or "")) if one else None
    return (1, _measure(_plain_number(one[2]), unit)) if one and unit else (1, key)


def _join_day_month(chunks: list[_Chunk], at: int, day: int) -> tuple[int, str]:
    """The day with the month, and perhaps the year, that follow."""
    for place in range(at + 1, min(at + 3, len(chunks))):
        month = _MONTH_NUMBERS.get(fold_case(chunks[place][1]).rstrip("."))
        if month is not None:
            after = place + 1 if place + 1 < len(chunks) and chunks[place + 1][0] else place + 2
            year = chunks[after][0] if after < len(chunks) and _YEAR.fullmatch(chunks[after][0]) else ""
            return (after if year else place) - at + 1, f"{year}-{month}-{day}"
        if chunks[place][0]:
            break
    return 1, str(day)


def _time_of_day(clock: re.Match[str]) -> str:
    hour, half = int(clock[1]), clock[3]
    if half in ("am", "pm") and hour <= 12:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return f"{hour}:{clock[2] or '00'}"


def _measure(number: str, unit: str) -> str:
    """A number with its unit; spans of time of a fixed length are counted in seconds."""
    if unit not in _SECONDS or not _NUMBER.fullmatch(number):
        return f"{number} {unit}"
    return f"{Fraction(number) * _SECONDS[unit]} s"

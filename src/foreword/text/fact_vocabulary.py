"""Tables of the words that `fact_words` compares facts by, in English, German, French and Spanish.

Words are written without accents. A line lists the words of all languages with the same meaning. A word with
different meanings in two languages is left out, or listed under the more frequent one.
"""

from __future__ import annotations

from fractions import Fraction

from foreword.text.date_meaning import MONTHS, WEEKDAYS, WEEKDAYS_ABROAD
from foreword.text.words import STOPWORDS, key_by_word

# Filler words, and words that only say how others belong together ----------------------------------------

_CARRY = (
    "above after all any before below both can could did down each few had if more most no nor not off only "
    "or other out over same should some than under until up was were while will would because once "
    "he him his she her hers they them their theirs"
)
"""Stop words that change the meaning of a sentence, so they are compared."""

_COURTESIES = (
    "ok okay noted sure please so then btw fyi just also too well yes yeah yep thanks thank hi hello "
    "actually really currently now remember reminder note understood agreed right bitte ja danke jetzt donc "
    "alors oui merci maintenant vale pues entonces gracias ahora"
)
_SMALL_ABROAD = (
    "der die das den dem des ein eine einen einem einer eines und ist sind sein wird werden es wir "
    "uns unser unsere le la les un une et est sont il elle nous notre nos au aux du ce cette ses ne y "
    "el los las una unos unas es son esta estan lo se nuestro nuestra su sus"
)
_PREPOSITIONS = (
    "about as at by during for from in into of on onto per through to toward towards via with within since "
    "am im zum zur vom beim von nach bis vor durch fur mit bei aus auf uber an um zu "
    "de vers depuis pour par avec dans sur des chez desde hacia hasta para por con en del al"
)
EMPTY = (STOPWORDS | set(f"{_SMALL_ABROAD} {_COURTESIES} {_PREPOSITIONS}".split())) - set(_CARRY.split())
"""Filler words, which are not compared."""

ARROWS = ("->", "→", "=>", "-->")
LINKS = {word: word for word in _PREPOSITIONS.split()} | dict.fromkeys(ARROWS, "to")
"""Filler words that say which part the next word plays in the sentence, with their normal spelling."""

PERSONS = {
    "i": "i me my mine myself ich mich mir mein meine je moi ma yo mi",
    "you": "you your yours du dein",
}

# Numbers, units, days ------------------------------------------------------------------------------------

_NUMBERS = (
    "zero/null/cero one/eins/uno two/zwei/deux/dos three/drei/trois/tres four/vier/quatre/cuatro "
    "five/funf/cinq/cinco six/sechs/seis seven/sieben/siete eight/acht/huit/ocho nine/neun/neuf/nueve "
    "ten/zehn/dix/diez eleven/elf/onze twelve/zwolf/douze/doce thirteen/dreizehn/treize/trece "
    "fourteen/vierzehn/quatorze/catorce fifteen/funfzehn/quinze/quince sixteen/sechzehn/seize "
    "seventeen/siebzehn eighteen/achtzehn nineteen/neunzehn twenty/zwanzig/vingt/veinte"
)
_TENS = {
    "30": "thirty dreissig trente treinta",
    "40": "forty vierzig quarante cuarenta",
    "50": "fifty funfzig cinquante cincuenta",
    "60": "sixty sechzig soixante sesenta",
    "70": "seventy siebzig setenta",
    "80": "eighty achtzig ochenta",
    "90": "ninety neunzig noventa",
    "100": "hundred hundert",
    "1000": "thousand tausend",
}
PERIODS = {
    "day": "day days tag tage tagen jour jours dia dias",
    "night": "night nights nacht nuit noche",
    "week": "week weeks woche wochen semaine semaines semana semanas",
    "month": "month months monat monate monaten mois mes meses",
    "year": "year years jahr jahre jahren ans annee annees ano anos",
    "hour": "hour hours h hr hrs stunde stunden heure heures hora horas",
    "quarter": "quarter quarters quartal trimestre",
}
_UNITS = {
    **PERIODS,
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
UNITS = key_by_word(_UNITS)
SECONDS = {
    "week": Fraction(604_800),
    "day": Fraction(86_400),
    "hour": Fraction(3600),
    "minute": Fraction(60),
    "second": Fraction(1),
    "ms": Fraction(1, 1000),
}
"""The length in seconds of the units of time that have a fixed length."""

_MONTHS_ABROAD = (
    "januar februar marz april mai juni juli august september oktober november dezember",
    "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
)
_MONTH_LINES = (MONTHS, [name[:3] for name in MONTHS], *(line.split() for line in _MONTHS_ABROAD))
MONTH_NUMBERS = {name: at for line in _MONTH_LINES for at, name in enumerate(line, 1)} | {"sept": 9}
_SHORT_WEEKDAYS = dict(zip(("mon", "tue", "wed", "thu", "fri", "sat", "sun"), WEEKDAYS, strict=True))
_SHORT_WEEKDAYS |= {"tues": "tuesday", "weds": "wednesday", "thur": "thursday", "thurs": "thursday"}
_FREQUENCIES = {
    "every day": "daily taglich quotidien quotidienne quotidiennement diario diaria diariamente",
    "every night": "nightly",
    "every week": "weekly wochentlich hebdomadaire semanal semanalmente",
    "every month": "monthly monatlich mensuel mensuelle mensual mensualmente",
    "every year": "yearly annually annual jahrlich annuel annuelle anual anualmente",
    "every hour": "hourly stundlich",
    "every quarter": "quarterly vierteljahrlich trimestriel trimestral",
}

# Words with one spelling ---------------------------------------------------------------------------------

_SAME_WORDS = {
    "not": "not no never none neither nor cannot nicht kein keine keinen keinem keiner keines nie niemals "
    "pas jamais aucun aucune nunca jamas ningun ninguno ninguna",
    "without": "without ohne sans sin",
    "every": "every each jede jeden jeder jedes jedem chaque cada",
    "was": "was were had did",
    "might": "might could may",
    "he": "he him his",
    "she": "she her hers",
    "production": "production prod produktion",
    "development": "development dev",
}
SPELLINGS = {
    **key_by_word({**_SAME_WORDS, **PERSONS, **_FREQUENCIES, **_TENS}),
    **{name: str(number) for number, names in enumerate(_NUMBERS.split()) for name in names.split("/")},
    **{name: WEEKDAYS[day] for name, day in WEEKDAYS_ABROAD.items()},
    **_SHORT_WEEKDAYS,
    **{f"{day}s": f"every {day}" for day in WEEKDAYS},
    **{name: period for name, period in key_by_word(PERIODS).items() if len(name) > 2},
    **{name: f"month {at}" for name, at in MONTH_NUMBERS.items() if len(name) > 4},
    **dict.fromkeys(ARROWS, ""),
}
"""For each word that has several spellings, the normal one."""

_NEVER_ANOTHER = (
    "above after before below down off only or out over under up more most fewer less least all any some "
    "might must should will would can if unless except without he she they i you not every first last always "
    "rarely sometimes often enabled disabled true false pass fail passed failed public private local remote "
    "min max minimum maximum ascending descending production staging development test confirmed falsified "
    "abandoned"
)
VALUES = frozenset((*_NEVER_ANOTHER.split(), *WEEKDAYS, *_UNITS))
"""Words that change a fact: a text with one of them never says the same as a text without it."""

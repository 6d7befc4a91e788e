"""The bundled encoder and the bundled reader together: asked in other words, answered; else silent."""

from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.engine.defaults import default_reader
from foreword.store.base import ListRelations

MEASURE = Path(__file__).parents[2] / "measure"
PAIRS = [
    ("Secrets live in AWS Secrets Manager, never in .env files.", "Where should I put the API credentials?"),
    ("We format Python with ruff, black was removed.", "How do I tidy up the code style before a commit?"),
    ("Staging is reset every Sunday night.", "Why did my test data on the staging server disappear?"),
    ("The team uses pnpm; npm install breaks the lockfile.", "Add the dependency lodash to the frontend."),
    ("Money is stored as integer cents in all tables.", "Which column type do I choose for the price?"),
    ("Dates in the API are always ISO 8601 in UTC.", "How should the endpoint return timestamps?"),
    ("Feature branches are squashed when they are merged.", "Should I clean up my commits before merging?"),
    ("The search index is rebuilt by `make reindex`.", "Products I added don't show up in search results."),
    ("Ana must approve every change of the billing module.", "Who reviews a patch to the invoice code?"),
    ("We support Python 3.11 and later only.", "Can I use a match statement here?"),
]
SAME_WORDS = [
    "Where do secrets live?",
    "With what do we format Python code?",
    "When is staging reset?",
    "Do we use npm or pnpm?",
    "How is money stored in the tables?",
    "Which format do dates have in the API?",
    "Are feature branches squashed or merged as they are?",
    "How do I rebuild the search index?",
    "Who must approve changes of the billing module?",
    "Which versions of Python do we support?",
]
"""For each of the statements, a question that shares its words."""

OTHER_LANGUAGES = [
    "Wo werden die Zugangsdaten aufbewahrt?",
    "¿Con qué formateamos el código de Python?",
    "Quand est-ce que le serveur de test est remis à zéro ?",
    "Usiamo npm o pnpm nel team?",
    "金额在数据表里是怎么保存的？",
    "API の日付はどの形式ですか。",
    "Os ramos são mesclados como estão?",
    "Как перестроить поисковый индекс?",
    "결제 모듈의 변경은 누가 승인해야 하나요?",
    "Welche Versionen von Python unterstützen wir?",
]
"""For each of the statements, a question in another language."""

STRANGERS = [
    "What is the capital of Mongolia?",
    "Translate this sentence to Portuguese.",
    "Write a haiku about autumn leaves.",
    "Explain how a red-black tree is balanced.",
    "Draw the logo in a darker blue.",
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    """An engine with the real models, and a workspace for each statement."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("reader")
        patch.setenv("HOME", str(folder))
        settings = Settings(home=folder)
        with ContextEngine(settings=settings, reader=default_reader(settings)) as engine:
            for place, (statement, _) in enumerate(PAIRS):
                engine.remember(statement, f"w{place}", created_at=engine.clock() - timedelta(days=3))
                engine.embed_pending(f"w{place}")
            yield engine


def is_answered(engine, place, prompt):
    return bool(engine.build_context(prompt, f"w{place}").context)


@pytest.mark.reader
def test_prompts_that_share_words_with_what_answers_them_are_answered(engine):
    silent = [prompt for place, prompt in enumerate(SAME_WORDS) if not is_answered(engine, place, prompt)]
    assert len(silent) <= 1, silent


@pytest.mark.reader
def test_most_prompts_in_other_languages_are_answered(engine):
    answered = [prompt for place, prompt in enumerate(OTHER_LANGUAGES) if is_answered(engine, place, prompt)]
    assert len(answered) >= 7, answered


@pytest.mark.reader
def test_most_prompts_in_quite_other_words_are_answered(engine):
    answered = [prompt for place, (_, prompt) in enumerate(PAIRS) if is_answered(engine, place, prompt)]
    assert len(answered) >= 6, answered


@pytest.mark.reader
def test_most_prompts_that_nothing_answers_meet_silence(engine):
    told = [
        (prompt, statement)
        for place, (statement, _) in enumerate(PAIRS)
        for prompt in STRANGERS
        if is_answered(engine, place, prompt)
    ]
    assert len(told) <= 5, told


@pytest.mark.reader
def test_single_memories_answer_what_is_asked_in_other_words_and_nothing_else(engine):
    lines = (MEASURE / "paraphrases.jsonl").read_text(encoding="utf-8").splitlines()
    right = Counter()
    for place, line in enumerate(map(json.loads, lines)):
        workspace = f"paraphrase-{place}"
        engine.remember(line["memory"], workspace)
        engine.embed_pending(workspace)
        said = bool(engine.build_context(line["question"], workspace).context)
        right[line["answers"]] += said is line["answers"]
    # 35 and 33 of 40 each; another processor rounds a little differently.
    assert right[True] >= 30
    assert right[False] >= 31


OTHER_SCRIPTS = {
    "he": (
        ["השרת של הבדיקות רץ על פורט 4000.", "המפתחות נשמרים בכספת של AWS.", "אנחנו פורסים רק בימי חמישי."],
        ["באיזה פורט רץ שרת הבדיקות?", "איפה נשמרים המפתחות?", "מתי אנחנו פורסים?"],
        "מה מזג האוויר בפריז?",
    ),
    "ar": (
        [
            "خادم الاختبار يعمل على المنفذ 4000.",
            "المفاتيح محفوظة في خزنة AWS.",
            "ننشر التحديثات يوم الخميس فقط.",
        ],
        ["على أي منفذ يعمل خادم الاختبار؟", "أين تحفظ المفاتيح؟", "متى ننشر التحديثات؟"],
        "ما هو الطقس في باريس؟",
    ),
    "hi": (
        ["टेस्ट सर्वर पोर्ट 4000 पर चलता है।", "चाबियाँ AWS तिजोरी में रखी जाती हैं।", "हम केवल गुरुवार को रिलीज़ करते हैं।"],
        ["टेस्ट सर्वर किस पोर्ट पर चलता है?", "चाबियाँ कहाँ रखी जाती हैं?", "हम कब रिलीज़ करते हैं?"],
        "पेरिस में मौसम कैसा है?",
    ),
    "el": (
        [
            "Ο δοκιμαστικός διακομιστής τρέχει στη θύρα 4000.",
            "Τα κλειδιά φυλάσσονται στο χρηματοκιβώτιο AWS.",
            "Δημοσιεύουμε μόνο τις Πέμπτες.",
        ],
        [
            "Σε ποια θύρα τρέχει ο δοκιμαστικός διακομιστής;",
            "Πού φυλάσσονται τα κλειδιά;",
            "Πότε δημοσιεύουμε;",
        ],
        "Τι καιρό κάνει στο Παρίσι;",
    ),
}


@pytest.mark.parametrize("language", OTHER_SCRIPTS)
def test_a_question_in_a_script_that_no_model_reads_finds_its_answer_or_nothing(tmp_path, language):
    statements, questions, stranger = OTHER_SCRIPTS[language]
    settings = Settings(home=tmp_path)
    with ContextEngine(settings=settings, reader=default_reader(settings)) as engine:
        for statement in statements:
            engine.remember(statement, language)
        engine.embed_pending(language)
        for statement, question in zip(statements, questions, strict=True):
            found = engine.build_context(question, language, token_budget=300).memories
            assert [one.memory.text for one in found] == [statement]
        assert engine.build_context(stranger, language, token_budget=300).context == ""
        assert not engine.store.run(ListRelations(language))

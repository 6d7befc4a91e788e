"""A labelled set on disk: its lines as capture would have stored them, and the errors of wrong lines."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
from datetime import UTC, datetime

import pytest

from foreword.capture.code.units import cut_code
from foreword.capture.documents.chunking import cut_document
from foreword.capture.folder.commits import MAX_FILES_IN_TEXT, read_commit_items
from foreword.capture.item_checks import check_item
from foreword.errors import ValidationError
from foreword.types import Item
from foreword_measure.quality import labelled
from foreword_measure.quality.labelled import make_captured_items


def test_the_sets_own_ids_are_in_nothing_that_is_indexed(chat, write_set):
    corpus = [json.loads(line) for line in (chat / "corpus.jsonl").read_text().splitlines()]
    for row in corpus:
        row["id"] = f"opaque{row['id']}"
    write_set(chat, corpus, [{"id": "q", "scope": "chat", "text": "Where?"}], [("q", "opaquet1", 1)])
    for document in labelled.read_set(chat).documents["chat"]:
        for item in document.parts:
            assert "opaque" not in f"{item.searchable} {item.id} {item.metadata}"


def test_an_item_keeps_its_speaker_time_and_session(chat):
    item = labelled.read_set(chat).documents["chat"][0].parts[0]
    assert (item.kind, item.about, item.session) == ("turn", "Ann", "s1")
    assert item.created_at.isoformat() == "2024-05-01T10:00:00+00:00"


def test_a_part_knows_its_path_and_lines(files):
    alpha, _, short = labelled.read_set(files).documents["v2"]
    lines = [(part.metadata["start_line"], part.metadata["end_line"]) for part in alpha.parts]
    assert lines == [(1, 40), (31, 70), (61, 100)]
    assert {part.about for part in alpha.parts} == {"lib/alpha.py"}
    assert {part.kind for part in alpha.parts} == {"code"}
    assert (short.parts[0].metadata["path"], short.parts[0].metadata["repo"]) == ("src/short.py", "r")


# Sets that are wrong


def test_a_folder_that_is_not_a_set(tmp_path, measure):
    with pytest.raises(
        ValidationError, match=r"not a labelled set: it has no corpus\.jsonl, queries\.jsonl, qrels"
    ):
        measure(tmp_path)
    with pytest.raises(ValidationError, match="not a labelled set"):
        measure(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("name", "bad", "message"),
    [
        ("corpus.jsonl", "{oops", r"corpus.jsonl, line 5: not JSON"),
        ("corpus.jsonl", "[1]", r"corpus.jsonl, line 5: must be a JSON object"),
        ("corpus.jsonl", '{"id": "x", "scope": "chat"}', r"line 5: 'text' must be text, not null"),
        ("corpus.jsonl", '{"id": "x", "text": "t"}', r"line 5: 'scope' must be text"),
        (
            "corpus.jsonl",
            '{"id": "x", "scope": "chat", "text": "t", "kind": "poem"}',
            r"no kind named 'poem'",
        ),
        (
            "corpus.jsonl",
            '{"id": "x", "scope": "chat", "text": "t", "time": "noon"}',
            r"'time' must be ISO 8601",
        ),
        (
            "corpus.jsonl",
            '{"id": "x", "scope": "chat", "text": "t", "meta": 3}',
            r"'meta' must be a JSON object",
        ),
        ("queries.jsonl", '{"id": "q1", "scope": "chat", "text": "?"}', r"line 1: the id 'q1' names several"),
        ("queries.jsonl", '{"id": "q9", "scope": "moon", "text": "?"}', r"line 4: no document .* 'moon'"),
        ("qrels.tsv", "q1 t1 1", r"qrels.tsv, line 6: must be query-id"),
        ("qrels.tsv", "q1\tt1\tmuch", r"qrels.tsv, line 6: must be query-id"),
        ("qrels.tsv", "q1\tt1\tnan", r"qrels.tsv, line 6: must be query-id"),
    ],
)
def test_a_wrong_line_is_named(chat, name, bad, message, measure):
    with (chat / name).open("a") as file:
        file.write(bad + "\n")
    with pytest.raises(ValidationError, match=message):
        measure(chat)


@pytest.mark.parametrize("docs", ['"f1"', '[["only-path"]]', '[["path", "unknown"]]'])
def test_a_wrong_scope_is_named(files, docs, measure):
    with (files / "scopes.jsonl").open("a") as file:
        file.write(f'{{"scope": "v3", "docs": {docs}}}\n')
    with pytest.raises(ValidationError, match=r"scopes.jsonl, line 3"):
        measure(files)


def test_text_that_is_not_utf8_is_an_error(chat, measure):
    (chat / "queries.jsonl").write_bytes(b'{"id": "\xff"}\n')
    with pytest.raises(ValidationError, match="not UTF-8"):
        measure(chat)


def test_a_set_without_questions_is_an_error(chat, measure):
    (chat / "queries.jsonl").write_text("\n")
    with pytest.raises(ValidationError, match="holds no questions"):
        measure(chat)


def test_a_limit_below_one_is_an_error(chat, measure):
    with pytest.raises(ValidationError, match="limit must be 1 or more"):
        measure(chat, limit=0)


def test_qrels_need_no_header(chat):
    (chat / "qrels.tsv").write_text("q1\tt1\t1\n")
    assert [question.gains for question in labelled.read_set(chat).questions] == [{"t1": 1.0}, {}, {}]


# What capture would have made of a line

NOW = datetime(2026, 1, 15, tzinfo=UTC)
CODE = "\n".join(f"def part_{n}(x):\n    '''Part {n} of it.'''\n    return x + {n}\n\n" for n in range(12))
GUIDE = "# Guide\n\nHow to book.\n\n## Refunds\n\nA refund is booked within thirty days.\n"
FUNCTION = '''def write_flag(self, n):
        """
        Writes a flag to the stream.
        """
        self.stream.write(TRUE if n else FALSE)'''


def _make_item(text, kind="code", path=None, **metadata):
    known = {"path": path, **metadata} if path else metadata
    return Item(text, "w", kind, created_at=NOW, session="s", metadata=known)


# Files


def test_a_file_of_code_becomes_the_units_that_indexing_makes_of_it():
    made = make_captured_items(_make_item(CODE, path="src/parts.py", repo="r"))
    expected = cut_code("src/parts.py", CODE, "python", "w", NOW)
    assert [(item.text, item.about, item.source) for item in made] == [
        (item.text, item.about, item.source) for item in expected
    ]
    assert {item.metadata["qualified_name"] for item in made} >= {f"part_{n}" for n in range(12)}
    assert {(item.session, item.metadata["repo"]) for item in made} == {("s", "r")}


def test_a_document_becomes_pieces_of_its_sections():
    made = make_captured_items(_make_item(GUIDE, kind="document", path="docs/guide.md"))
    expected = cut_document("docs/guide.md", GUIDE.encode(), "w", NOW)
    assert [(item.text, item.about) for item in made] == [(item.text, item.about) for item in expected]
    assert {item.kind for item in made} == {"document"}


def test_a_file_of_no_known_language_is_cut_into_windows():
    made = make_captured_items(
        _make_item("\n".join(f"row {n} of a table" for n in range(100)), path="data/rows.tbl")
    )
    assert len(made) == 3


@pytest.mark.parametrize("path", ["src/parts.py", None])
def test_a_secret_is_taken_out_before_code_is_cut(path):
    key = "ghp_" + secrets.token_hex(18)
    made = make_captured_items(_make_item(CODE + f"\nKEY = '{key}'\n", path=path, language="python"))
    assert not any(key in item.text for item in made)
    assert any("[redacted:" in item.text for item in made)


# A function that stands in no file


def test_a_function_alone_is_the_unit_that_it_would_be_in_a_file():
    [item] = make_captured_items(_make_item(FUNCTION, language="python", origin="web"))
    [expected] = [
        unit for unit in cut_code("a.py", f"{FUNCTION}\n\n{CODE}", "python", "w", NOW) if "flag" in unit.text
    ]
    assert item.about == expected.about.removeprefix("a.py").lstrip(" ›—")
    assert item.about.endswith("Writes a flag to the stream.")
    assert item.text == expected.text == FUNCTION
    for fact in ("unit", "name", "signature", "docstring", "references", "start_line", "end_line"):
        assert item.metadata[fact] == expected.metadata[fact]
    assert (item.session, item.metadata["origin"]) == ("s", "web")


def test_a_function_alone_claims_no_path():
    [item] = make_captured_items(_make_item(FUNCTION, language="python"))
    assert "path" not in item.metadata
    assert not item.source.name.startswith("file:")


@pytest.mark.parametrize("text", ["x", "return total", "import os", "}", "# why\n"])
@pytest.mark.parametrize("language", ["python", "cobol", None])
def test_code_that_is_no_unit_stays_whole(text, language):
    whole = _make_item(text, language=language)
    assert [item.text for item in make_captured_items(whole)] == [text]


# Commits


def _commit_item(folder, message, files):
    """The item that history makes of a commit."""
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x\n")
    ours = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", message)):
        git = ["git", *author, "-C", folder, *command]
        subprocess.run(git, check=True, capture_output=True, env=ours, timeout=120)
    return next(read_commit_items(folder, "w"))


@pytest.mark.parametrize("several", [1, 3, MAX_FILES_IN_TEXT, MAX_FILES_IN_TEXT + 5])
def test_a_commit_is_told_as_history_tells_it(tmp_path, several):
    files = sorted(f"src/part_{n}.py" if n % 2 else f"tests/test_{n}.py" for n in range(several))
    message = "Fix the total\n\nIt forgot the tax."
    expected = _commit_item(tmp_path, message, files)
    [item] = make_captured_items(_make_item(f"{message}\n\nfiles: {', '.join(files)}", kind="commit"))
    assert (item.text, item.about) == (expected.text, expected.about)
    for fact in ("message", "files", "files_changed"):
        assert item.metadata[fact] == expected.metadata[fact]


def test_a_commit_without_a_message_can_be_kept():
    [item] = make_captured_items(_make_item("files: README, setup.py", kind="commit"))
    assert check_item(item).text == "(no message)\n\nfiles: README, setup.py"
    assert item.metadata["message"] == ""


@pytest.mark.parametrize(
    "text", ["empty commit", "Sort\n\nfiles: by name\nand date", "Keep profiles: a.py, b.py", "files: "]
)
def test_a_message_that_names_no_files_stays_as_it_is(text):
    whole = _make_item(text, kind="commit")
    assert make_captured_items(whole) == [whole]


# Words


@pytest.mark.parametrize("kind", ["turn", "memory", "document"])
def test_words_that_stand_in_no_file_stay_whole(kind):
    whole = _make_item("Somebody said this.\n" * 200, kind=kind)
    assert make_captured_items(whole) == [whole]


@pytest.mark.parametrize("kind", ["code", "commit", "document", "turn"])
@pytest.mark.parametrize("path", [None, "src/empty.py"])
def test_nothing_becomes_nothing(kind, path):
    assert make_captured_items(_make_item("  \n ", kind=kind, path=path)) == []

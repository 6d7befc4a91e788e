from __future__ import annotations

import os
import subprocess
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from foreword.capture.folder.commits import (
    MAX_FILES_IN_TEXT,
    MAX_MESSAGE_CHARACTERS,
    commit_text,
    newest_commit_sha,
    read_commit_items,
)
from foreword.capture.folder.git import GitFailed
from foreword.capture.item_checks import check_item
from foreword.errors import ValidationError
from foreword.types import Source

START = 1_700_000_000


@pytest.fixture(autouse=True)
def no_settings_of_the_developer(monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    return folder


def git(folder, *arguments, stdin=None):
    settings = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always"]
    done = subprocess.run(
        ["git", *settings, "-C", folder, *arguments],
        check=True,
        capture_output=True,
        input=stdin,
        timeout=120,
    )
    return done.stdout.decode().strip()


def commit(folder, message="Change", **files):
    """Write files (two underscores are a slash) and commit them; the commit's name."""
    for name, content in files.items():
        file = folder / name.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "--allow-empty-message", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def import_commits(folder, count, message=b"Change %d", files=3):
    """Commits through git's own door for many: thousands take a second."""
    stream = bytearray()
    for number in range(count):
        said = message % number if b"%d" in message else message
        stream += b"commit refs/heads/main\ncommitter Ada <ada@example.org> %d +0000\n" % (START + number)
        stream += b"data %d\n%s\n" % (len(said), said)
        for at in range(files):
            content = b"line %d\n" % number
            stream += b"M 100644 inline src/file_%d.py\ndata %d\n%s\n" % (
                (number * 7 + at) % 200,
                len(content),
                content,
            )
    git(folder, "fast-import", "--quiet", stdin=bytes(stream))


def texts(folder, **options):
    return [item.text for item in read_commit_items(folder, "shop", **options)]


# One commit


def test_a_commit_is_an_item_with_its_message_files_author_and_numbers(repository):
    commit(repository, "Start", cart__py="a\nb\n")
    sha = commit(repository, "Fix the total\n\nIt forgot the tax.", cart__py="a\nc\nd\n", tax__py="x\n")
    item = next(read_commit_items(repository, "shop"))
    assert item.kind == "commit"
    assert item.workspace == "shop"
    assert item.text == "Fix the total\n\nIt forgot the tax.\n\nfiles: cart/py, tax/py"
    assert item.about == ""
    assert item.source == Source("git:Ada", "repository")
    assert item.metadata == {
        "sha": sha,
        "author": "Ada",
        "author_email": "ada@example.org",
        "parents": 1,
        "message": "Fix the total\n\nIt forgot the tax.",
        "files": ["cart/py", "tax/py"],
        "files_changed": 2,
        "insertions": 3,
        "deletions": 1,
        "renames": [],
    }
    check_item(item)


def test_a_commit_happened_when_it_was_committed(repository):
    import_commits(repository, 1)
    assert next(read_commit_items(repository, "shop")).created_at == datetime.fromtimestamp(START, UTC)


def test_files_are_named_behind_the_message_in_the_order_of_git(repository):
    commit(repository, "All", **{"docs__a.md": "d\n", "tests__test_cart.py": "t\n", "src__cart.py": "s\n"})
    assert texts(repository) == ["All\n\nfiles: docs/a.md, src/cart.py, tests/test_cart.py"]


def test_many_files_are_counted_and_the_most_telling_are_named(repository):
    notes = {f"a{number:02}.md": "x\n" for number in range(MAX_FILES_IN_TEXT)}
    checks = {f"test_{number:02}.py": "x\n" for number in range(10)}
    commit(repository, "Many", **notes, **checks, **{f"z{number:02}.py": "x\n" for number in range(10)})
    item = next(read_commit_items(repository, "shop"))
    assert item.metadata["files_changed"] == len(item.metadata["files"]) == MAX_FILES_IN_TEXT + 20
    named = [*sorted(checks)[: MAX_FILES_IN_TEXT - 10], *(f"z{number:02}.py" for number in range(10))]
    assert item.text == f"Many\n\nfiles: {', '.join(named)} and 20 more"


def test_names_of_any_length_leave_the_text_short():
    text = commit_text("Say", ["a" * 3_000 + ".py", "b.py"])
    assert text.startswith("Say\n\nfiles: aaa")
    assert len(text) < 2_100


def test_a_renamed_file_is_told_by_both_names(repository):
    commit(repository, "Start", cart="a\nb\nc\nd\n")
    (repository / "cart").rename(repository / "basket")
    commit(repository, "Rename", other="x\n")
    item = next(read_commit_items(repository, "shop"))
    assert item.metadata["renames"] == [["cart", "basket"]]
    assert item.metadata["files"] == ["basket", "other"]


def test_a_binary_file_has_no_lines(repository):
    (repository / "logo").write_bytes(b"\0\1\2")
    commit(repository, "Logo")
    item = next(read_commit_items(repository, "shop"))
    assert (item.text, item.metadata["insertions"]) == ("Logo\n\nfiles: logo", 0)


def test_a_merge_tells_its_parents(repository):
    commit(repository, "Start", a="1\n")
    git(repository, "checkout", "-q", "-b", "side")
    commit(repository, "Side", b="2\n")
    git(repository, "checkout", "-q", "main")
    commit(repository, "Main", c="3\n")
    git(repository, "merge", "-q", "--no-ff", "-m", "Merge side", "side")
    merge = next(read_commit_items(repository, "shop"))
    assert (merge.text, merge.metadata["parents"], merge.metadata["files_changed"]) == ("Merge side", 2, 0)


def test_a_commit_without_message_or_files_can_be_kept(repository):
    sha = commit(repository, "")
    item = check_item(next(read_commit_items(repository, "shop")))
    assert item.text == f"(no message) {sha[:12]}"
    assert item.metadata["message"] == ""


def test_a_long_message_keeps_both_ends(repository):
    import_commits(repository, 1, b"Begin\n\n" + b"words " * 5_000 + b"\nEnd")
    message = next(read_commit_items(repository, "shop")).metadata["message"]
    assert message.startswith("Begin")
    assert message.endswith("End")
    assert len(message) < MAX_MESSAGE_CHARACTERS + 100


def test_messages_in_any_encoding_are_read(repository):
    import_commits(repository, 1, b"Caf\xe9 \xff \x01\x1f\x1e 1\t2\tnot a file")
    item = check_item(next(read_commit_items(repository, "shop")))
    assert item.text.startswith("Caf")
    assert item.metadata["message"].endswith("1\t2\tnot a file")


def test_a_message_that_looks_like_gits_own_fields_is_a_message(repository):
    said = f"{'a' * 40}\n3\t4\tsrc/cart.py\ncommit {'b' * 40}"
    commit(repository, said, x="1\n")
    [item] = read_commit_items(repository, "shop")
    assert item.metadata["message"] == said
    assert item.metadata["files"] == ["x"]


def test_paths_with_any_characters_are_read(repository):
    commit(
        repository,
        "Odd",
        **{"new\nline": "1\n", "tab\tbed": "2\n", "ümlaut": "3\n", '"': "4\n", "1\t2\tx": "5\n"},
    )
    item = check_item(next(read_commit_items(repository, "shop")))
    assert set(item.metadata["files"]) == {"new\nline", "tab\tbed", "ümlaut", '"', "1\t2\tx"}
    assert item.text.splitlines()[2].count(", ") == 4
    assert len(item.text.splitlines()) == 3


def test_a_submodule_is_a_file_like_others(repository, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    commit(other, "Theirs", y="1\n")
    git(repository, "submodule", "--quiet", "add", str(other), "lib")
    commit(repository, "Add lib")
    assert "lib" in next(read_commit_items(repository, "shop")).metadata["files"]


def test_a_time_that_no_clock_shows_is_worked_around(repository):
    stream = b"commit refs/heads/main\ncommitter Ada <a@b> 99999999999999 +0000\ndata 3\nodd\n"
    git(repository, "fast-import", "--quiet", stdin=stream)
    check_item(next(read_commit_items(repository, "shop")))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("log.showRoot", "false"), ("diff.relative", "true"), ("color.ui", "always")),
        *(("log.follow", "true"), ("diff.noprefix", "true"), ("log.showSignature", "true")),
        ("diff.renames", "false"),
        *(("format.pretty", "oneline"), ("diff.external", "false"), ("core.fsmonitor", "false; touch pwned")),
    ],
)
def test_a_repositorys_own_settings_change_nothing_and_run_nothing(repository, name, value):
    commit(repository, "Start", src__cart="a\nb\nc\nd\n")
    git(repository, "mv", "src/cart", "src/basket")
    commit(repository, "Rename")
    expected = list(read_commit_items(repository, "shop"))
    git(repository, "config", name, value)
    assert list(read_commit_items(repository / "src", "shop")) == expected
    assert not (repository / "pwned").exists()


# Histories


def test_commits_come_newest_first(repository):
    for message in ("one", "two", "three"):
        commit(repository, message)
    assert texts(repository) == ["three", "two", "one"]


def test_only_what_is_new_since_a_commit_is_read(repository):
    commit(repository, "one")
    known = newest_commit_sha(repository)
    assert texts(repository, since_sha=known) == []
    commit(repository, "two")
    commit(repository, "three")
    assert texts(repository, since_sha=known) == ["three", "two"]


def test_a_rewritten_history_is_read_again(repository):
    commit(repository, "one")
    known = commit(repository, "two")
    git(repository, "commit", "-q", "--amend", "--allow-empty", "-m", "two, better")
    assert texts(repository, since_sha=known) == ["two, better", "one"]


def test_a_commit_that_nobody_knows_means_everything_is_new(repository):
    commit(repository, "one")
    assert texts(repository, since_sha="f" * 40) == ["one"]


@pytest.mark.parametrize("name", ["main", "--output=x", "HEAD~1", "a b", "z" * 40])
def test_a_commit_is_named_by_its_hash_only(repository, name):
    commit(repository, "one")
    with pytest.raises(ValidationError, match="hexadecimal"):
        texts(repository, since_sha=name)


def test_an_empty_repository_has_no_commits(repository):
    assert newest_commit_sha(repository) == ""
    assert texts(repository) == []


def test_a_bare_repository_is_read(repository, tmp_path):
    commit(repository, "one", a="1\n")
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    [item] = read_commit_items(tmp_path / "bare.git", "shop")
    assert item.text == "one\n\nfiles: a"


def test_where_history_was_cut_short_the_oldest_commit_claims_no_files(repository, tmp_path):
    import_commits(repository, 5)
    git(tmp_path, "clone", "-q", "--depth=2", f"file://{repository}", "shallow")
    newest, oldest = read_commit_items(tmp_path / "shallow", "shop")
    assert newest.metadata["files_changed"] == 3
    assert oldest.text == "Change 3"
    assert "files_changed" not in oldest.metadata


def test_where_files_were_never_fetched_nothing_is_fetched_for_them(repository, tmp_path):
    import_commits(repository, 5)
    git(repository, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--bare", "--filter=blob:none", f"file://{repository}", "partial.git")
    repository.rename(tmp_path / "gone")
    items = list(read_commit_items(tmp_path / "partial.git", "shop"))
    assert [item.text for item in items] == [f"Change {number}" for number in (4, 3, 2, 1, 0)]


def test_variables_of_another_repository_do_not_lead_there(repository, tmp_path, monkeypatch):
    commit(repository, "here")
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    commit(other, "there")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert texts(repository) == ["here"]


@pytest.mark.slow
def test_five_thousand_commits_take_no_more_processes_than_one(repository, monkeypatch):
    started = []

    class Counted(subprocess.Popen):
        def __init__(self, *arguments, **options):
            started.append(arguments)
            super().__init__(*arguments, **options)

    import_commits(repository, 1)
    monkeypatch.setattr("foreword.capture.folder.git.subprocess.Popen", Counted)
    assert len(list(read_commit_items(repository, "shop"))) == 1
    few = len(started)
    git(repository, "update-ref", "-d", "HEAD")
    import_commits(repository, 5_000)
    started.clear()
    items = list(read_commit_items(repository, "shop"))
    assert len(started) == few
    assert len(items) == 5_000
    assert all(item.metadata["files_changed"] for item in items)


def test_a_reader_that_stops_leaves_no_process(repository):
    import_commits(repository, 2_000)
    before = children()
    reading = read_commit_items(repository, "shop")
    next(reading)
    assert children() > before
    reading.close()
    assert children() == before


def children():
    """The processes that this one started and that are still known."""
    listed = Path(f"/proc/self/task/{threading.get_native_id()}/children")
    if not listed.exists():
        pytest.skip("only Linux tells a process's children")
    return set(listed.read_text().split())


# What goes wrong


def test_a_folder_without_history_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    folder = tmp_path / "plain"
    folder.mkdir()
    with pytest.raises(GitFailed, match="not a git repository"):
        newest_commit_sha(folder)
    with pytest.raises(ValidationError, match="not a git repository"):
        texts(folder)


def test_without_git_the_error_says_what_to_do(repository, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ValidationError, match="git is not installed; install it"):
        texts(repository)


def test_a_damaged_history_is_read_as_far_as_it_goes_and_then_told(repository):
    for message in ("one", "two", "three"):
        commit(repository, message, a=message)
    damaged = git(repository, "rev-parse", "HEAD~2")
    file = repository / ".git" / "objects" / damaged[:2] / damaged[2:]
    file.chmod(0o600)
    file.write_bytes(b"garbage")
    reading = read_commit_items(repository, "shop")
    read = []
    with pytest.raises(GitFailed, match="git cannot read"):
        read.extend(item.metadata["message"] for item in reading)
    assert set(read) <= {"three", "two"}


def test_a_commit_of_excluded_files_alone_is_left_out(repository):
    (repository / ".foreword.toml").write_text('exclude = ["secrets/"]\n')
    commit(repository, "Ship the harbour", main="1")
    commit(repository, "Rename the plan of zanzibar", secrets__plan="1")
    commit(repository, "Change both", main="2", secrets__plan="2")
    commit(repository, "Change nothing")
    texts = [item.text for item in read_commit_items(repository, "w")]
    assert [text.partition("\n")[0] for text in texts] == [
        "Change nothing",
        "Change both",
        "Ship the harbour",
    ]
    assert not any("plan" in text for text in texts)

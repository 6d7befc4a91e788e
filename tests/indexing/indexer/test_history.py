"""The commits of a repository: read once, and in step with a history that was rewritten."""

from __future__ import annotations

import pytest

from foreword.capture.folder.git import GitFailed

# History


def _messages(items):
    """The ids of the commits that are kept, by their messages."""
    return {item.metadata["message"]: item.id for item in items(kinds=("commit",))}


def test_the_commits_of_a_repository_are_remembered_once(index, items, root, commit_all, run_git):
    run_git(root, "init", "-q")
    commit_all(root, "Book amounts")
    commit_all(root, "Refunds within thirty days", 1)
    first = index()
    assert first.commits == 2
    assert _messages(items).keys() == {"Book amounts", "Refunds within thirty days"}
    assert (index().commits, index().has_changes) == (0, False)
    commit_all(root, "Settle", 2)
    assert index().commits == 1
    assert index(root / "src", commits=True).commits == 0  # the same history, from a folder of it


def test_commits_that_were_rewritten_go_and_the_others_keep_their_ids(
    engine, index, items, root, commit_all, run_git
):
    run_git(root, "init", "-q")
    for minute, message in enumerate(("one", "two", "three")):
        commit_all(root, message, minute)
    index()
    kept = _messages(items)
    run_git(root, "reset", "-q", "--soft", "HEAD~1")
    commit_all(root, "three, told better", 9)
    assert index().commits == 1
    now = _messages(items)
    assert now.keys() == {"one", "two", "three, told better"}
    assert {name: kept[name] for name in ("one", "two")} == {name: now[name] for name in ("one", "two")}
    assert engine.store.check(str(root)) == ()


def test_a_history_that_was_begun_anew_replaces_the_old_one(index, items, root, commit_all, run_git):
    run_git(root, "init", "-q")
    commit_all(root, "old")
    index()
    (root / ".git").rename(root.parent / "elsewhere")
    run_git(root, "init", "-q")
    commit_all(root, "new", 1)
    assert index().commits == 1
    assert _messages(items).keys() == {"new"}


@pytest.mark.parametrize("anew", [False, True])
def test_a_branch_without_commits_lets_go_of_those_of_the_other(
    index, items, root, anew, commit_all, run_git
):
    run_git(root, "init", "-q")
    commit_all(root, "old")
    index()
    if anew:
        (root / ".git").rename(root.parent / "elsewhere")
        run_git(root, "init", "-q")
    else:
        run_git(root, "checkout", "-q", "--orphan", "other")
    assert index().commits == 0
    assert _messages(items) == {}
    commit_all(root, "new", 1)
    assert index().commits == 1
    assert _messages(items).keys() == {"new"}


def test_of_a_repository_without_files_the_history_is_read_and_nothing_else(
    index, items, root, tmp_path, commit_all, run_git
):
    run_git(root, "init", "-q")
    commit_all(root, "Book amounts")
    bare = tmp_path / "shop.git"
    run_git(tmp_path, "clone", "-q", "--bare", str(root), str(bare))
    for workspace in (str(bare), "by name"):
        indexed = index(bare, workspace)
        assert (indexed.files, indexed.commits) == (0, 1)
        assert [item.kind for item in items(workspace)] == ["commit"]
        assert not index(bare, workspace).has_changes
    assert index(tmp_path, "both", commits=False).files == 3


def test_an_interrupted_history_is_read_to_its_end_the_next_time(
    index, items, root, monkeypatch, commit_all, run_git
):
    monkeypatch.setattr("foreword.indexing.indexer._ITEMS_PER_COMMIT", 3)
    run_git(root, "init", "-q")
    for minute in range(10):
        commit_all(root, f"number {minute}", minute)

    def tire(label, done, _total):
        if label == "commits" and done >= 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index(progress=tire)
    assert len(items(kinds=("commit",))) == 3
    assert index().commits == 7
    assert len(items(kinds=("commit",))) == 10


def test_a_folder_without_history_is_no_error_unless_history_is_wanted(index, root, run_git):
    assert index().commits == 0
    with pytest.raises(GitFailed, match="not a git repository"):
        index(commits=True)
    run_git(root, "init", "-q")
    assert index(commits=True).commits == 0

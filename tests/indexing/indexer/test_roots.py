from __future__ import annotations

import os

import pytest

from foreword.indexing.indexer import SourceFolder


@pytest.mark.parametrize(
    ("folder", "workspace", "shown", "marked", "outside"),
    [
        ("shop", "{here}/shop", "", "", ""),
        ("shop/src", "{here}/shop", "src/", "src/", ""),
        ("shop", "by name", "shop/", "{here}/shop/", "{here}/shop"),
        ("shop", "{here}/other", "shop/", "{here}/shop/", "{here}/shop"),
        ("link", "{here}/shop", "", "", ""),
        ("/", "by name", "", "/", "/"),
    ],
)
def test_paths_are_told_from_the_workspace_or_from_the_root(
    tmp_path, folder, workspace, shown, marked, outside
):
    (tmp_path / "shop/src").mkdir(parents=True)
    (tmp_path / "link").symlink_to("shop")
    root = SourceFolder.for_folder_in_workspace(tmp_path / folder, workspace.format(here=tmp_path))
    assert (root.shown_prefix, root.mark_prefix) == (shown, marked.format(here=tmp_path))
    assert root.path_outside_workspace == outside.format(here=tmp_path)


def test_a_root_holds_the_marks_of_its_own_files_alone(tmp_path):
    own, inner, other = (
        SourceFolder.for_folder_in_workspace(tmp_path / name, str(tmp_path / "shop"))
        for name in ("shop", "shop/src", "lib")
    )
    assert own.is_mark_path_in_folder("src/a.py")
    assert inner.is_mark_path_in_folder("src/a.py")
    assert not inner.is_mark_path_in_folder("srcs/a.py")
    assert other.is_mark_path_in_folder(f"{tmp_path}/lib/a.py")
    assert not own.is_mark_path_in_folder(f"{tmp_path}/lib/a.py")


def test_a_folder_is_known_from_another_of_its_name(tmp_path):
    (tmp_path / "shop").mkdir()
    root = SourceFolder.for_folder_in_workspace(tmp_path / "shop", "w")
    before = root.device_and_inode()
    assert before == root.device_and_inode() is not None
    (tmp_path / "shop").rename(tmp_path / "was")
    assert root.device_and_inode() is None
    (tmp_path / "shop").mkdir()
    assert root.device_and_inode() != before


def test_a_name_that_is_no_text_is_spelled_out(tmp_path):
    root = SourceFolder.for_folder_in_workspace(tmp_path / os.fsdecode(b"caf\xe9"), "w")
    assert (root.shown_prefix, root.path_outside_workspace) == ("caf\\xe9/", f"{tmp_path}/caf\\xe9")

from __future__ import annotations

import subprocess

from foreword.capture.folder.workspace import workspace_of


def test_a_folder_of_a_repository_belongs_to_the_repository(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path / "shop"], check=True, timeout=120)
    inside = tmp_path / "shop" / "src" / "cart"
    inside.mkdir(parents=True)
    assert workspace_of(inside) == str((tmp_path / "shop").resolve())


def test_a_folder_outside_of_any_repository_is_its_own_workspace(tmp_path):
    assert workspace_of(tmp_path) == str(tmp_path.resolve())


def test_a_link_to_a_repository_is_the_same_workspace(tmp_path):
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "shop")
    assert workspace_of(tmp_path / "link") == workspace_of(tmp_path / "shop")


def test_a_folder_that_is_gone_still_has_a_name(tmp_path):
    assert workspace_of(tmp_path / "gone" / "deep") == str((tmp_path / "gone" / "deep").resolve())

from __future__ import annotations

import os
import subprocess
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.capture.folder import walk
from foreword.capture.folder.storable import find_byte_order_mark, hash_content
from foreword.capture.folder.walk import (
    find_files,
    read_file,
    reason_to_skip_by_content,
    reason_to_skip_by_name,
)
from foreword.errors import MissingExtra, ValidationError


@pytest.fixture(autouse=True)
def no_settings_of_the_developer(monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)


@pytest.fixture
def folder(tmp_path):
    """A folder that no repository is around: git looks no higher than the temporary folder."""
    made = tmp_path / "shop"
    made.mkdir()
    return made


@pytest.fixture(params=["a repository", "a plain folder"])
def project(request, folder, monkeypatch):
    """The same files are found whether git tells them or the folder is walked."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(folder.parent))
    if request.param == "a repository":
        git(folder, "init", "-q")
    return folder


def git(folder, *arguments):
    subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True, timeout=120)


def put(folder, path, content="x = 1\n"):
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def paths(folder, skipped=None):
    return [file.path for file in find_files(folder, skipped=skipped)]


def readable_paths(folder, skipped):
    """The paths of what is worth its content too."""
    return [file.path for file in find_files(folder, skipped=skipped) if read_file(file, skipped=skipped)]


# What is found


def test_a_file_is_told_with_its_size_time_and_language(project):
    file = put(project, "src/cart.py", "total = 1\n")
    os.utime(file, ns=(5, 7_000_000_001))
    [found] = find_files(project)
    assert (found.path, found.absolute, found.size) == ("src/cart.py", file, 10)
    assert (found.mtime_ns, found.language) == (7_000_000_001, "python")


def test_what_is_read_has_a_hash_that_names_it(project):
    put(project, "cart.py", "total = 1\n")
    [found] = find_files(project)
    content = read_file(found)
    assert (content.data, content.hash) == (b"total = 1\n", hash_content(b"total = 1\n"))


def test_files_come_in_the_order_of_their_names(project):
    for name in ("b.py", "a/z.py", "a.py"):
        put(project, name)
    assert paths(project) == ["a.py", "a/z.py", "b.py"]


def test_names_with_any_characters_are_found(project):
    names = ["a b.py", "ümlaut.py", "new\nline.py", "-dash.py", 'quo"te.py', "*.py"]
    for name in names:
        put(project, name)
    assert paths(project) == sorted(names)


def test_a_name_that_is_no_text_is_told_as_far_as_it_is(project):
    (project / os.fsdecode(b"caf\xe9.py")).write_text("x = 1\n")
    (project / os.fsdecode(b"caf\xe8.py")).write_text("y = 1\n")
    assert paths(project) == ["caf\\xe8.py", "caf\\xe9.py"]
    assert [read_file(found).data for found in find_files(project)] == [b"y = 1\n", b"x = 1\n"]


def test_names_that_differ_by_the_kind_of_line_end_are_two(project):
    for name in ("a\rb.py", "a\nb.py"):
        put(project, name)
    assert paths(project) == ["a\nb.py", "a\rb.py"]


def test_an_empty_folder_has_no_files(project):
    assert paths(project) == []


def test_what_is_no_folder_is_refused(tmp_path):
    with pytest.raises(ValidationError, match="is not a folder"):
        paths(tmp_path / "nowhere")


# What is left out, and counted


def test_what_is_ignored_is_left_out_at_every_depth(project):
    skipped = Counter()
    put(project, ".gitignore", "*.log\n/only_here.py\nbuild/\n")
    put(project, "deep/.gitignore", "!kept.log\nprivate.py\n")
    for name in (
        "a.log",
        "only_here.py",
        "build/x.py",
        "deep/kept.log",
        "deep/private.py",
        "deep/only_here.py",
    ):
        put(project, name)
    assert paths(project, skipped) == [".gitignore", "deep/.gitignore", "deep/kept.log", "deep/only_here.py"]
    assert skipped == {"ignored": 4}


def test_a_folder_that_a_repository_around_it_ignores_is_still_read(folder, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(folder.parent))
    git(folder, "init", "-q")
    put(folder, ".gitignore", "scratch/\n")
    put(folder, "scratch/cart.py")
    assert paths(folder / "scratch") == ["cart.py"]


def test_a_folder_inside_a_repository_is_told_from_itself(folder):
    git(folder, "init", "-q")
    put(folder, "src/shop/cart.py")
    put(folder, "other.py")
    assert paths(folder / "src") == ["shop/cart.py"]


def test_variables_of_another_repository_do_not_lead_there(folder, tmp_path, monkeypatch):
    put(folder, "cart.py")
    git(folder, "init", "-q")
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert paths(folder) == ["cart.py"]


def test_a_deleted_file_that_git_still_knows_is_no_file(folder):
    git(folder, "init", "-q")
    file = put(folder, "gone.py")
    git(folder, "add", "gone.py")
    file.unlink()
    assert paths(folder) == []


def test_a_repository_inside_is_not_part_of_this_one(folder):
    git(folder, "init", "-q")
    put(folder, "cart.py")
    (folder / "inner").mkdir()
    git(folder / "inner", "init", "-q")
    put(folder, "inner/theirs.py")
    skipped = Counter()
    assert paths(folder, skipped) == ["cart.py"]
    assert skipped["repository"] == 1


def test_what_git_keeps_for_itself_is_nobodys_code(folder, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(folder.parent))
    put(folder, "cart.py")
    git(folder, "init", "-q", "--bare", "kept/shop.git")
    put(folder, "kept/HEAD/refs/notes.md")
    skipped = Counter()
    assert paths(folder, skipped) == ["cart.py", "kept/HEAD/refs/notes.md"]
    assert skipped == {"repository": 1}
    assert paths(folder / "kept/shop.git") == []


def test_a_folder_apart_is_left_out(project):
    put(project, "cart.py")
    put(project, "state/log.txt")
    put(project, "state-of-things.md")
    skipped = Counter()
    found = find_files(project, skipped=skipped, apart=project / "state")
    assert [file.path for file in found] == ["cart.py", "state-of-things.md"]
    assert skipped == {"ignored": 1}
    assert (
        len(list(find_files(project, apart=project)))
        == len(list(find_files(project, apart=project.parent)))
        == 3
    )


def test_links_never_lead_out_and_never_twice(project, tmp_path):
    outside = tmp_path / "secrets"
    outside.mkdir()
    put(outside, "key.py", "k = 1\n")
    put(project, "cart.py")
    (project / "out.py").symlink_to(outside / "key.py")
    (project / "out").symlink_to(outside)
    (project / "again.py").symlink_to("cart.py")
    (project / "broken.py").symlink_to("nowhere")
    (project / "loop").symlink_to(".")
    skipped = Counter()
    assert paths(project, skipped) == ["cart.py"]
    assert skipped == {"link out": 2, "link": 3}


def test_a_folder_that_became_a_link_out_is_not_followed(folder, tmp_path):
    """Git still knows `lib/cart.py` when `lib` was replaced by a link to somewhere else."""
    git(folder, "init", "-q")
    put(folder, "lib/cart.py")
    git(folder, "add", ".")
    outside = tmp_path / "outside"
    (folder / "lib").rename(outside)
    (folder / "lib").symlink_to(outside)
    skipped = Counter()
    assert readable_paths(folder, skipped) == []
    assert skipped["link out"] >= 1


def test_a_file_that_became_a_link_since_is_not_read(project, tmp_path):
    put(project, "cart.py")
    [found] = find_files(project)
    found.absolute.unlink()
    found.absolute.symlink_to(put(tmp_path, "secret.py"))
    skipped = Counter()
    assert read_file(found, skipped=skipped) is None
    assert skipped == {"unreadable": 1}


def test_a_pipe_is_no_file(project):
    os.mkfifo(project / "pipe.py")
    os.mkfifo(project / "pipe")
    assert paths(project) == []


@pytest.mark.parametrize(
    "name",
    [
        *("package-lock.json", "yarn.lock", "uv.lock", "go.sum", "app.min.js", "app.js.map", "shop_pb2.py"),
        *("node_modules/x/index.js", "vendor/lib/x.go", "web/dist/bundle.js", "a/__pycache__/x.py"),
    ],
)
def test_what_tools_wrote_is_known_by_its_name(name):
    assert reason_to_skip_by_name(name) == "generated"


@pytest.mark.parametrize(
    "name", [".env", "conf/.env.production", "server.pem", "deploy.key", "id_rsa", ".netrc"]
)
def test_what_may_hold_a_secret_is_not_read(project, name):
    put(project, name, "SECRET=1\n")
    skipped = Counter()
    assert paths(project, skipped) == []
    assert skipped == {"private": 1}


@pytest.mark.parametrize(
    "name", [".env.example", "keyboard.py", "environment.py", "distance.py", "locked.py"]
)
def test_names_that_only_look_alike_are_read(name):
    assert reason_to_skip_by_name(name) is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x7fELF\x00\x01", "binary"),
        (b"\x01\x02\x03\x04" * 50, "binary"),
        (b"# @generated by a tool\nx = 1\n", "generated"),
        (b"// Code generated by protoc. DO NOT EDIT.\n", "generated"),
        (b"/* This file is automatically generated. */\n", "generated"),
        (b"var a=1;" * 1_000, "minified"),
        (b"short = 1\n" * 1_000 + b"x" * 6_000, "minified"),
        (b"def total():\n    return 1\n", None),
        (b"# The index is generated by build_index below; edit it there.\n", None),
        (b"# Combines the reports\n# generated by the commands above.\n", None),
        ("price = '12 €'\n".encode("utf-16"), None),
        ("# Grüße\n".encode("latin-1"), None),
        (b"", None),
    ],
)
def test_content_tells_what_is_not_worth_reading(content, reason):
    assert reason_to_skip_by_content(content, "javascript") == reason


def test_a_document_may_have_long_lines_and_say_anything():
    text = b"This file is automatically generated. " + b"A paragraph without a break. " * 400
    assert reason_to_skip_by_content(text, "markdown") is None


def test_what_is_read_and_left_out_is_counted(project):
    put(project, "a.py")
    put(project, "b.py", b"\0\1")
    put(project, "c.py", "# DO NOT EDIT\n")
    put(project, "d.js", "x" * 9_000)
    put(project, "e.py", "x = 1\n" * 200_000)
    skipped = Counter()
    assert readable_paths(project, skipped) == ["a.py"]
    assert skipped == {"binary": 1, "generated": 1, "minified": 1, "huge": 1}


def test_a_file_that_grew_since_is_huge(project):
    put(project, "cart.py", "x = 1\n")
    [found] = find_files(project)
    found.absolute.write_text("x = 1\n" * 200_000)
    skipped = Counter()
    assert read_file(found, skipped) is None
    assert skipped == {"huge": 1}


def test_a_pdf_has_a_limit_of_its_own(project):
    put(project, "paper.pdf", b"%PDF-1.4\0" + b"\1" * 2_000_000)
    [found] = find_files(project)
    assert found.language == "pdf"
    assert read_file(found)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_and_a_file_that_may_not_be_read_are_counted(project, caplog):
    put(project, "a.py").chmod(0)
    put(project, "closed/b.py")
    (project / "closed").chmod(0)
    skipped = Counter()
    try:
        assert readable_paths(project, skipped) == []
    finally:
        (project / "closed").chmod(0o700)
    assert skipped["unreadable"] >= 1
    assert "cannot be read" in caplog.text


def test_a_file_that_vanished_is_counted(project, caplog):
    put(project, "cart.py")
    [found] = find_files(project)
    found.absolute.unlink()
    skipped = Counter()
    assert read_file(found, skipped=skipped) is None
    assert skipped == {"unreadable": 1}
    assert "cannot be read" in caplog.text


# Folders without git


def test_a_folder_that_tools_filled_is_not_even_entered(folder, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(folder.parent))
    for number in range(5):
        put(folder, f"web/node_modules/x/{number}.js")
    put(folder, "web/app.js")
    skipped = Counter()
    assert paths(folder, skipped) == ["web/app.js"]
    assert skipped == {"generated": 1}


def test_an_ignore_file_with_lines_that_are_no_patterns_keeps_the_others(folder, monkeypatch, caplog):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(folder.parent))
    put(folder, ".gitignore", "!\n*.log\n")
    put(folder, "a.log")
    put(folder, "b.py")
    assert paths(folder) == [".gitignore", "b.py"]


def test_a_repository_that_git_cannot_read_is_walked_and_that_is_told(folder, caplog):
    git(folder, "init", "-q")
    put(folder, "cart.py")
    put(folder, ".git/config", "[broken\n")
    assert paths(folder) == ["cart.py"]
    assert "git cannot list a folder" in caplog.text


def test_without_git_a_repository_is_walked(folder, monkeypatch):
    git(folder, "init", "-q")
    put(folder, ".gitignore", "*.log\n")
    put(folder, "a.log")
    put(folder, "cart.py")
    monkeypatch.setenv("PATH", "/nowhere")
    assert paths(folder) == [".gitignore", "cart.py"]


def test_without_pathspec_the_extra_is_named(folder, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(folder.parent))
    put(folder, ".gitignore", "*.log\n")
    monkeypatch.setitem(__import__("sys").modules, "pathspec", None)
    with pytest.raises(MissingExtra, match=r"foreword\[code\]"):
        paths(folder)


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=20), max_size=8))
def test_any_ignore_file_is_read(tmp_path_factory, lines):
    folder = tmp_path_factory.mktemp("any")
    put(folder, ".gitignore", "\n".join(lines))
    put(folder, "a/b.py")
    assert set(walk.walk_unignored_paths(folder, Counter())) <= {".gitignore", "a/b.py"}


@given(st.binary(max_size=300), st.sampled_from(["", "python", "markdown", "pdf"]))
def test_any_content_is_read_unless_it_is_binary_generated_or_minified(data, language):
    reason = reason_to_skip_by_content(data, language)
    reasons = {"": {"binary", "generated", "minified"}, "markdown": {"binary"}, "pdf": set()}
    assert reason is None or reason in reasons.get(language, reasons[""])
    if b"\0" in data and not find_byte_order_mark(data) and language != "pdf":
        assert reason == "binary"

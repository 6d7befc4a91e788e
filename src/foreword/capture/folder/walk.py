"""Find the files of a folder that are worth reading, and read them.

In a repository git lists them; elsewhere the folder is walked, without the paths in its `.gitignore` files.
Links are never followed, so nothing outside the folder is read. Files that people do not mean by "my project"
are left out, and counted by reason: those that are built, bundled, locked or copied in, not text, too large,
or may hold a secret.

`find_files` uses names and sizes alone, so that unchanged files cost nothing; `read_file` reads the content.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal

from foreword.capture.code.languages import DOCUMENTS, language_of
from foreword.capture.excludes import Excludes
from foreword.capture.folder.git import GitFailed, stream_git_fields
from foreword.capture.folder.storable import find_byte_order_mark, hash_content, path_as_valid_text
from foreword.config import load_project_settings
from foreword.errors import MissingExtra, ValidationError
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pathspec import GitIgnoreSpec

    IgnoreFiles = tuple[tuple[str, GitIgnoreSpec], ...]
    """The ignore files that apply to a folder, each with the folder it is in, the nearest first."""

_log = get_logger(__name__)

Reason = Literal[
    "ignored", "binary", "generated", "minified", "huge",
    "link", "link out", "private", "excluded", "unreadable", "repository",
]  # fmt: skip
"""Why a file is left out. `link`: a link to another file of the folder, which is read itself; `repository`:
another project inside this one; `excluded`: by the project's own settings."""

Skipped = Counter[Reason]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file worth reading. `path` starts in the folder, with slashes; `language` is that of its name."""

    path: str
    absolute: Path
    size: int
    mtime_ns: int
    language: str


@dataclass(frozen=True, slots=True)
class FileContent:
    """The content of a file, and its hash."""

    data: bytes
    hash: str


_MAX_BYTES = 1_000_000
_MAX_PDF_BYTES = 20_000_000
_NO_REPOSITORY = ("not a git repository", "not installed", "run in a work tree")
_LIST_FILES = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
_LIST_IGNORED = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def find_files(root: Path, skipped: Skipped | None = None, apart: Path | None = None) -> Iterator[SourceFile]:
    """The files of a folder that are worth reading, ordered by name; `skipped` counts the others by reason.

    Files in the folder `apart`, if it is inside this one, and files that the project's `.foreword.toml`
    excludes are left out.
    """
    skip_counts = Counter() if skipped is None else skipped
    real = Path(os.path.realpath(root))
    if not real.is_dir():
        raise ValidationError(f"{root} is not a folder; give the folder of a project")
    other = Path(os.path.realpath(apart)) if apart is not None else real
    is_inside = other != real and other.is_relative_to(real)
    left_out = f"{other.relative_to(real).as_posix()}/" if is_inside else ""
    real_folders: dict[str, bool] = {}
    excludes = Excludes(load_project_settings(real).exclude)
    for name in sorted(_list_unignored_paths(real, skip_counts)):
        reason = reason_to_skip_by_name(name) or _reason_to_skip_link(real, name, real_folders)
        if reason is None and left_out and name.startswith(left_out):
            reason = "ignored"
        if reason is None and excludes and excludes.match(real / name, follow=False):
            reason = "excluded"
        if reason:
            skip_counts[reason] += 1
            continue
        file = _stat_source_file(real, name, skip_counts)
        if file:
            yield file


def is_file_gone(root: Path, path: str, visible: dict[PurePosixPath, bool]) -> bool:
    """Whether a known file that `find_files` did not find is gone, or is no longer to be read.

    It is not gone if it, or a folder above it, cannot be accessed; `visible` caches which paths can.
    """
    here = PurePosixPath(path)
    for place in (*reversed(here.parents), here):
        if place not in visible:
            visible[place] = _is_missing_or_accessible(root / place)
        if not visible[place]:
            return False
    return True


def _is_missing_or_accessible(path: Path) -> bool:
    """Whether a path can be accessed, and listed if it is a folder; also true if it does not exist."""
    try:
        if stat.S_ISDIR(path.lstat().st_mode):
            os.scandir(path).close()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError as error:
        _log.warning("a place cannot be looked at", path=path.name, problem=error.strerror or str(error))
        return False
    return True


def read_file(file: SourceFile, skipped: Skipped | None = None) -> FileContent | None:
    """The content of a file; None, counted in `skipped`, if it cannot be read or is not worth reading."""
    skip_counts = Counter() if skipped is None else skipped
    max_bytes = _max_file_bytes(file.language)
    try:
        # If the file has become a link since it was listed, opening it fails.
        with open(os.open(file.absolute, _OPEN_FLAGS), "rb") as opened:  # noqa: PTH123  (flags)
            data = opened.read(max_bytes + 1)
    except OSError as error:
        _log_and_count_unreadable(file.path, error, skip_counts)
        return None
    reason = "huge" if len(data) > max_bytes else reason_to_skip_by_content(data, file.language)
    if reason:
        skip_counts[reason] += 1
        return None
    return FileContent(data, hash_content(data))


def _max_file_bytes(language: str) -> int:
    return _MAX_PDF_BYTES if language == "pdf" else _MAX_BYTES


def _log_and_count_unreadable(path: str, error: OSError, skip_counts: Skipped) -> None:
    _log.warning("a file cannot be read", path=path, problem=error.strerror or str(error))
    skip_counts["unreadable"] += 1


def _list_unignored_paths(root: Path, skip_counts: Skipped) -> Iterator[str]:
    """The paths in a folder that git or its ignore files do not ignore."""
    try:
        known = set(stream_git_fields(root, *_LIST_FILES))
    except GitFailed as failed:
        known = set()
        if not any(text in failed.reason for text in _NO_REPOSITORY):
            _log.warning("git cannot list a folder; it is walked", folder=str(root), problem=failed.reason)
    if not known:  # a folder that git ignores as a whole, or does not know, is walked instead
        yield from walk_unignored_paths(root, skip_counts)
        return
    try:
        if ignored := sum(1 for _ in stream_git_fields(root, *_LIST_IGNORED)):  # a folder counts once
            skip_counts["ignored"] += ignored
    except GitFailed:
        pass  # some versions of git fail here; only the count is lost
    yield from (os.fsdecode(name) for name in known)


def _reason_to_skip_link(root: Path, name: str, real_folders: dict[str, bool]) -> Reason | None:
    """The reason to leave a path out if it, or a folder above it, is a link; else None.

    `real_folders` caches which folders have no link in their path.
    """
    folder = os.path.dirname(name)  # noqa: PTH120  (a path with odd bytes stays as it is)
    if folder not in real_folders:
        there = os.path.join(root, folder)  # noqa: PTH118
        real_folders[folder] = not folder or os.path.realpath(there) == there
    place = os.path.join(root, name)  # noqa: PTH118
    if real_folders[folder] and not os.path.islink(place):  # noqa: PTH114
        return None
    is_inside = f"{os.path.realpath(place)}{os.sep}".startswith(f"{root}{os.sep}")
    return "link" if is_inside else "link out"


def _stat_source_file(root: Path, name: str, skip_counts: Skipped) -> SourceFile | None:
    """The file with its size and time; None, and counted, if it is not to be read."""
    absolute = root / name
    try:
        found = absolute.lstat()
    except FileNotFoundError:
        return None  # git still knows it, but it was deleted
    except OSError as error:
        _log_and_count_unreadable(path_as_valid_text(name), error, skip_counts)
        return None
    language = language_of(name)
    if not stat.S_ISREG(found.st_mode):
        skip_counts["repository" if stat.S_ISDIR(found.st_mode) else "binary"] += 1
    elif found.st_size > _max_file_bytes(language):
        skip_counts["huge"] += 1
    else:
        return SourceFile(path_as_valid_text(name), absolute, found.st_size, found.st_mtime_ns, language)
    return None


# Folders outside a git repository

_VERSION_CONTROL_FOLDERS = frozenset({".git", ".hg", ".svn", ".jj", "CVS", ".bzr"})
_BARE_REPOSITORY = frozenset({("HEAD", False), ("objects", True), ("refs", True)})
"""The entries that every bare repository has, and whether each is a folder."""

_MAX_IGNORE_FILE_CHARACTERS = 100_000


def walk_unignored_paths(root: Path, skip_counts: Skipped) -> Iterator[str]:
    """The paths below a folder, with slashes, that are not ignored. Links are listed, but not followed.

    An ignore file applies to its own folder and those below; the nearest one with a matching pattern decides.
    """
    waiting: list[tuple[str, IgnoreFiles]] = [("", ())]
    while waiting:
        folder, above = waiting.pop()
        ignore_files = _find_applicable_ignore_files(root, folder, above)
        entries = list(_list_folder_entries(root, folder, skip_counts))
        if _BARE_REPOSITORY.issubset((name.removeprefix(folder), is_folder) for name, is_folder in entries):
            skip_counts["repository"] += 1
            continue
        for name, is_folder in entries:
            if _is_ignored(f"{name}/" if is_folder else name, ignore_files):
                skip_counts["ignored"] += 1
            elif is_folder and name.rpartition("/")[2] in _BUILT_FOLDERS:
                skip_counts["generated"] += 1
            elif is_folder:
                waiting.append((f"{name}/", ignore_files))
            else:
                yield name


def _list_folder_entries(root: Path, folder: str, skip_counts: Skipped) -> Iterator[tuple[str, bool]]:
    """The paths in one folder, and whether each is a folder."""
    try:
        with os.scandir(root / folder) as entries:
            for entry in entries:
                if entry.name not in _VERSION_CONTROL_FOLDERS:
                    yield folder + entry.name, entry.is_dir(follow_symlinks=False)
    except OSError as error:
        _log.warning(
            "a folder cannot be read", path=path_as_valid_text(folder), problem=error.strerror or str(error)
        )
        skip_counts["unreadable"] += 1


def _find_applicable_ignore_files(root: Path, folder: str, above: IgnoreFiles) -> IgnoreFiles:
    """The ignore files that apply to a folder: its own, if it has one, and those above."""
    own = root / folder / ".gitignore"
    try:
        if own.is_symlink() or not own.is_file():
            return above
        with own.open(encoding="utf-8", errors="replace") as file:
            lines = file.read(_MAX_IGNORE_FILE_CHARACTERS).splitlines()
    except OSError as error:
        _log.warning(
            "an ignore file cannot be read", path=path_as_valid_text(folder), problem=str(error.strerror)
        )
        return above
    return ((folder, _parse_ignore_patterns(lines, folder)), *above)


def _parse_ignore_patterns(lines: list[str], folder: str) -> GitIgnoreSpec:
    """The patterns of an ignore file, without lines that are no patterns. Raises MissingExtra."""
    try:
        from pathspec import GitIgnoreSpec
    except ImportError as error:
        raise MissingExtra("pathspec", "code") from error

    def is_valid_ignore_pattern(line: str) -> bool:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            return False
        return True

    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:
        _log.warning("an ignore file has lines that are no patterns", path=path_as_valid_text(folder))
        return GitIgnoreSpec.from_lines(filter(is_valid_ignore_pattern, lines))


def _is_ignored(name: str, ignore_files: IgnoreFiles) -> bool:
    """Whether the nearest ignore file with a pattern for this path ignores it."""
    for folder, spec in ignore_files:
        is_included = spec.check_file(name.removeprefix(folder)).include
        if is_included is not None:
            return is_included
    return False


# Files that are not worth reading, by their name and by their content

_BUILT_FOLDERS = frozenset(
    {
        *("node_modules", "bower_components", "jspm_packages", "vendor", "vendors", "site-packages", "Pods"),
        *("third_party", "thirdparty", "3rdparty", "dist", "htmlcov", "DerivedData", ".terraform", ".gradle"),
        *("__pycache__", ".venv", "venv", ".tox", ".nox", ".eggs", ".mypy_cache", ".ruff_cache"),
        *(".pytest_cache", ".hypothesis", ".next", ".nuxt"),
    }
)
_BUILT_NAMES = re.compile(
    r"""(?ix) ^(?:
        (?:package-lock|npm-shrinkwrap)\.json | pnpm-lock\.yaml | go\.sum | .+\.lockb?
      | .+[.-]min\.(?:js|css|mjs) | .+\.(?:js|css|mjs|ts)\.map | .+\.bundle\.js
      | .+_pb2(?:_grpc)?\.pyi? | .+\.pb\.(?:go|cc|h) | .+\.g(?:enerated)?\.(?:cs|dart|ts|go)
      | .+\.designer\.cs
    )$"""
)
_PRIVATE_NAMES = re.compile(
    r"""(?ix) ^(?:
        \.env(?:\.(?!example$|sample$|template$|dist$).+)? | .+\.(?:pem|key|p12|pfx|jks|keystore|kdbx|asc|gpg)
      | id_(?:rsa|dsa|ecdsa|ed25519).* | \.netrc | \.pgpass | \.htpasswd | credentials | \.git-credentials
    )$"""
)
_GENERATED = re.compile(
    rb"""(?x)
        @generated\b | \bDO\ NOT\ (?:EDIT|MODIFY)\b
      | ^\W*(?:Code\ g|File\ g|G|Auto-?g|Automatically\ g)enerated\ (?:by|from)\b
      | (?i:\bthis\ file\ (?:is|was|has\ been)\ (?:auto(?:matically)?[ -]?)?generated\b)
    """,
    re.MULTILINE,
)
_NOTICE_BYTES = 1_500
_BINARY_SAMPLE_BYTES = 8_192
_CONTROL = re.compile(rb"[\x01-\x06\x0e-\x1a\x1c-\x1f\x7f]")
_MAX_CONTROL_SHARE = 0.02
_MAX_MEAN_LINE_BYTES = 300
_MAX_LINE_BYTES = 5_000


def reason_to_skip_by_name(name: str) -> Reason | None:
    """The reason to leave a file out by its path alone, or None."""
    *folders, last = name.split("/")
    if not last:
        return "repository"
    if _PRIVATE_NAMES.match(last):
        return "private"
    if _BUILT_NAMES.match(last) or not _BUILT_FOLDERS.isdisjoint(folders):
        return "generated"
    return None


def reason_to_skip_by_content(data: bytes, language: str) -> Reason | None:
    """The reason to leave a file out by its content, or None."""
    if language == "pdf":
        return None
    if _is_binary(data):
        return "binary"
    if language in DOCUMENTS:
        return None
    if _GENERATED.search(data, 0, _NOTICE_BYTES):
        return "generated"
    return "minified" if _is_minified(data) else None


def _is_binary(data: bytes) -> bool:
    """Whether data are no text: they have a NUL without a byte order mark, or many control characters."""
    if find_byte_order_mark(data):
        return False
    sample = data[:_BINARY_SAMPLE_BYTES]
    return b"\0" in data or len(_CONTROL.findall(sample)) > _MAX_CONTROL_SHARE * len(sample)


def _is_minified(data: bytes) -> bool:
    """Whether the lines are longer than a person writes."""
    lines = data.count(b"\n") + 1
    if len(data) > _NOTICE_BYTES and len(data) / lines > _MAX_MEAN_LINE_BYTES:
        return True
    return len(data) > _MAX_LINE_BYTES and max(map(len, data.split(b"\n"))) > _MAX_LINE_BYTES

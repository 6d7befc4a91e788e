"""One frozen `Settings`. TOML files and the FOREWORD_* environment are read here and nowhere else.

The environment wins over the file, the file over the defaults. The folder `home` has the databases under
`workspaces/`, and the file `config.toml`. A project has settings of its own in `.foreword.toml`, which say
what must not be remembered there. That file may come with a repository, so it can only forbid, never allow.
"""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreword.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything a user may set. Each field is also FOREWORD_<FIELD> and a key of config.toml."""

    home: Path = Path()
    store: str = ""
    vectors: str = ""
    template: str = "chat"
    token_budget: int = 2000
    tokenizer: str = "o200k"
    embedding: str = "bundled"
    embedding_model: str = ""
    embedding_url: str = ""
    embedding_key: str = ""
    embedding_dimensions: int = 0
    summary_url: str = ""
    summary_model: str = ""
    summary_key: str = ""
    reader: str = "bundled"
    late_interaction: str = "bundled"
    team_url: str = ""
    team_token: str = ""
    team_authority: str = ""
    threads: int = 0
    receipt_days: int = 30
    receipt_megabytes: int = 8
    backups: int = 7
    recall_notice: bool = True
    log_level: str = "warning"

    @property
    def workspaces(self) -> Path:
        """The folder of the databases."""
        return self.home / "workspaces"


_OTHER_VARIABLES = {
    *("FOREWORD_HOME", "FOREWORD_WORKSPACE", "FOREWORD_DATA", "FOREWORD_SOAK"),
    *("FOREWORD_AGENTS_CACHE", "FOREWORD_SERVERS_CACHE"),
}
"""Variables that begin with FOREWORD_ and are no settings: read elsewhere, or by the tests."""

EMBEDDINGS = ("bundled", "openai", "sentence-transformers", "fastembed", "none")
READERS = ("bundled", "none")
LATE_INTERACTIONS = ("bundled", "none")
_CHOICES = {"embedding": EMBEDDINGS, "reader": READERS, "late_interaction": LATE_INTERACTIONS}
_SCHEMES = {"store": ("postgres://", "postgresql://"), "vectors": ("qdrant://", "qdrants://")}
"""How the address of a server begins. An address may hold a password, so errors do not repeat it."""

_BOOLEANS = {
    "true": True,
    "on": True,
    "yes": True,
    "1": True,
    "false": False,
    "off": False,
    "no": False,
    "0": False,
}


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """The defaults, overridden by the file and by the environment; ValidationError if a setting is wrong."""
    environment = os.environ if environment is None else environment
    home = find_data_folder(environment)
    settings = _override_settings(Settings(home=home), *_read_toml_file(home / "config.toml"))
    from_environment = {
        name.removeprefix("FOREWORD_").lower(): value
        for name, value in environment.items()
        if name.startswith("FOREWORD_") and name not in _OTHER_VARIABLES
    }
    return _override_settings(settings, from_environment, "the environment")


def find_data_folder(environment: Mapping[str, str] | None = None) -> Path:
    """The data folder; unlike `load_settings`, this does not fail if its settings are wrong."""
    environment = os.environ if environment is None else environment
    return Path(environment.get("FOREWORD_HOME") or _default_data_folder()).expanduser()


def _default_data_folder() -> str:
    import platformdirs

    return platformdirs.user_data_dir("foreword", appauthor=False)


def _read_toml_file(path: Path) -> tuple[dict[str, Any], str, str]:
    """The values in a TOML file, its name, its text; no values without a file, ValidationError if wrong."""
    try:
        content = path.read_bytes()
        text = content.decode()
        return tomllib.loads(text), str(path), text
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            raise ValidationError(f"{path} is a link to {path.readlink()}, which is not there") from None
        return {}, str(path), ""
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValidationError(f"{path} line {line} is not valid UTF-8: save it in that encoding") from error
    except tomllib.TOMLDecodeError as error:
        raise ValidationError(f"{path} is not valid TOML: {error}") from error
    except OSError as error:
        raise ValidationError(f"cannot read {path}: {error.strerror}") from error


def _override_settings(
    settings: Settings, values: Mapping[str, Any], origin: str, text: str = ""
) -> Settings:
    """The settings with these values; `origin` and its `text` name the place of a wrong one in the error."""
    known = {field.name: field for field in fields(Settings) if field.name != "home"}
    changes: dict[str, Any] = {}
    for name, value in values.items():
        place = _describe_place_of_setting(origin, text, name)
        if name not in known:
            raise ValidationError(f"unknown setting {name!r} in {place}; there are: {', '.join(known)}")
        changes[name] = _convert_setting(name, value, type(known[name].default), place)
        choices = _CHOICES.get(name)
        if choices and changes[name] not in choices:
            raise ValidationError(f"{name} in {place} must be one of {', '.join(choices)}")
        if name in _SCHEMES and changes[name] and not changes[name].startswith(_SCHEMES[name]):
            raise ValidationError(f"{name} in {place} must begin with {' or '.join(_SCHEMES[name])}")
    return replace(settings, **changes)


def _describe_place_of_setting(origin: str, text: str, name: str) -> str:
    """The place of a setting, for errors: the origin and, if its text has the name, its line.

    The name stands before a `=`, or in the brackets of a table.
    """
    beginning = re.compile(rf"\s*\[{{0,2}}[\"']?{re.escape(name)}[\"']?\s*[=.\]]")
    numbers = (number for number, line in enumerate(text.splitlines(), 1) if beginning.match(line))
    number = next(numbers, 0)
    return f"{origin} line {number}" if number else origin


def _convert_setting(name: str, value: object, wanted_type: type, origin: str) -> object:
    """A value converted to the type of its setting; ValidationError if it cannot be."""
    try:
        converted: object = _BOOLEANS[str(value).lower()] if wanted_type is bool else wanted_type(value)
    except (KeyError, TypeError, ValueError):
        raise ValidationError(f"{name} in {origin} must be a {wanted_type.__name__}, not {value!r}") from None
    if isinstance(converted, int) and converted < 0:
        raise ValidationError(f"{name} in {origin} must not be negative")
    return converted


# A project's settings ------------------------------------------------------------------------------------

PROJECT_FILE = ".foreword.toml"
_MAX_PROJECT_FILE_BYTES = 100_000


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """What must not be remembered in a folder.

    `off` is the reason why nothing may be remembered; empty if Foreword is not switched off. `exclude` has
    the patterns of paths that are never read nor remembered, each with the folder of its `.foreword.toml`.
    """

    off: str = ""
    exclude: tuple[tuple[Path, str], ...] = ()


def load_project_settings(folder: Path) -> ProjectSettings:
    """The settings of the `.foreword.toml` in a folder and in all folders above it, taken together.

    A file that cannot be read switches Foreword off there, since its author wanted something private.
    """
    off, exclude = "", []
    for place in (folder, *folder.parents):
        file = place / PROJECT_FILE
        if not os.path.isfile(file):  # noqa: PTH113  (a folder that may not be looked into raises nothing)
            continue
        try:
            is_off, patterns = _read_disabled_flag_and_excludes(file)
        except ValidationError as error:
            is_off, patterns = True, ()
            off = off or str(error)
        off = off or (f"{file} says off = true" if is_off else "")
        exclude += [(place, pattern) for pattern in patterns]
    return ProjectSettings(off, tuple(exclude))


def _read_disabled_flag_and_excludes(file: Path) -> tuple[bool, tuple[str, ...]]:
    """Whether a project's file says off, and its patterns; ValidationError if the file is not valid."""
    if file.stat().st_size > _MAX_PROJECT_FILE_BYTES:
        raise ValidationError(f"{file} has more than {_MAX_PROJECT_FILE_BYTES:,} bytes")
    values, origin, text = _read_toml_file(file)
    if unknown := sorted(set(values) - {"off", "exclude"}):
        place = _describe_place_of_setting(origin, text, unknown[0])
        raise ValidationError(f"unknown setting {unknown[0]!r} in {place}; there are: off, exclude")
    is_off, patterns = values.get("off", False), values.get("exclude", [])
    if not isinstance(is_off, bool):
        raise ValidationError(
            f"off in {_describe_place_of_setting(origin, text, 'off')} must be true or false"
        )
    if not isinstance(patterns, list) or not all(isinstance(one, str) and one.strip() for one in patterns):
        place = _describe_place_of_setting(origin, text, "exclude")
        raise ValidationError(f"exclude in {place} must be a list of paths or patterns")
    return is_off, tuple(patterns)

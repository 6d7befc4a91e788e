"""One frozen `Settings`. The TOML file and the FOREWORD_* environment are read here and nowhere else.

The environment wins over the file, the file over the defaults. `home` holds everything: databases under
`workspaces/`, the file as `config.toml`.
"""

from __future__ import annotations

import os
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
    threads: int = 0
    receipt_days: int = 30
    receipt_megabytes: int = 8
    log_level: str = "warning"

    @property
    def workspaces(self) -> Path:
        """The folder of the databases."""
        return self.home / "workspaces"


_OTHER_VARIABLES = {
    *("FOREWORD_HOME", "FOREWORD_WORKSPACE", "FOREWORD_DATA", "FOREWORD_SOAK", "FOREWORD_AGENTS_CACHE"),
}
"""Variables that begin with FOREWORD_ and are no settings: read elsewhere, or by the tests."""

EMBEDDINGS = ("bundled", "openai", "sentence-transformers", "fastembed", "none")
READERS = ("bundled", "none")
LATE_INTERACTIONS = ("bundled", "none")


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """The defaults, changed by the file, then by the environment; ValidationError if a setting is wrong."""
    environment = os.environ if environment is None else environment
    home = Path(environment.get("FOREWORD_HOME") or _default_home_folder()).expanduser()
    settings = _settings_with_values(
        Settings(home=home), _read_toml_file(home / "config.toml"), str(home / "config.toml")
    )
    from_environment = {
        name.removeprefix("FOREWORD_").lower(): value
        for name, value in environment.items()
        if name.startswith("FOREWORD_") and name not in _OTHER_VARIABLES
    }
    return _settings_with_values(settings, from_environment, "the environment")


def _default_home_folder() -> str:
    import platformdirs

    return platformdirs.user_data_dir("foreword", appauthor=False)


def _read_toml_file(path: Path) -> dict[str, Any]:
    """The content of a TOML file; empty if there is none."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValidationError(f"{path} is not valid TOML: {error}") from error
    except OSError as error:
        raise ValidationError(f"cannot read {path}: {error.strerror}") from error


def _settings_with_values(settings: Settings, values: Mapping[str, Any], origin: str) -> Settings:
    """The settings with some of them set to other values; `origin` says in errors where these are from."""
    known = {field.name: field for field in fields(Settings) if field.name != "home"}
    changes: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            raise ValidationError(f"unknown setting {name!r} in {origin}; there are: {', '.join(known)}")
        changes[name] = _convert_setting(name, value, type(known[name].default), origin)
    if changes.get("embedding", "none") not in EMBEDDINGS:
        raise ValidationError(f"embedding in {origin} must be one of {', '.join(EMBEDDINGS)}")
    if changes.get("reader", "none") not in READERS:
        raise ValidationError(f"reader in {origin} must be one of {', '.join(READERS)}")
    if changes.get("late_interaction", "none") not in LATE_INTERACTIONS:
        raise ValidationError(f"late_interaction in {origin} must be one of {', '.join(LATE_INTERACTIONS)}")
    return replace(settings, **changes)


def _convert_setting(name: str, value: object, wanted_type: type, origin: str) -> object:
    """A value as the type of its setting; ValidationError if it cannot be one."""
    try:
        converted: object = wanted_type(value)
    except (TypeError, ValueError):
        raise ValidationError(f"{name} in {origin} must be a {wanted_type.__name__}, not {value!r}") from None
    if isinstance(converted, int) and converted < 0:
        raise ValidationError(f"{name} in {origin} must not be negative")
    return converted

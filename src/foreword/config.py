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


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """The defaults, changed by the file, then by the environment; ValidationError if a setting is wrong."""
    environment = os.environ if environment is None else environment
    home = Path(environment.get("FOREWORD_HOME") or _default_home()).expanduser()
    settings = _with_changes(Settings(home=home), _read_file(home / "config.toml"), str(home / "config.toml"))
    from_environment = {
        name.removeprefix("FOREWORD_").lower(): value
        for name, value in environment.items()
        if name.startswith("FOREWORD_") and name not in _OTHER_VARIABLES
    }
    return _with_changes(settings, from_environment, "the environment")


def _default_home() -> str:
    import platformdirs

    return platformdirs.user_data_dir("foreword", appauthor=False)


def _read_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValidationError(f"{path} is not valid TOML: {error}") from error
    except OSError as error:
        raise ValidationError(f"cannot read {path}: {error.strerror}") from error


def _with_changes(settings: Settings, values: Mapping[str, Any], where: str) -> Settings:
    known = {field.name: field for field in fields(Settings) if field.name != "home"}
    changes: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            raise ValidationError(f"unknown setting {name!r} in {where}; there are: {', '.join(known)}")
        changes[name] = _convert(name, value, type(known[name].default), where)
    if changes.get("embedding", "none") not in EMBEDDINGS:
        raise ValidationError(f"embedding in {where} must be one of {', '.join(EMBEDDINGS)}")
    return replace(settings, **changes)


def _convert(name: str, value: object, kind: type, where: str) -> object:
    try:
        converted: object = kind(value)
    except (TypeError, ValueError):
        raise ValidationError(f"{name} in {where} must be a {kind.__name__}, not {value!r}") from None
    if isinstance(converted, int) and converted < 0:
        raise ValidationError(f"{name} in {where} must not be negative")
    return converted

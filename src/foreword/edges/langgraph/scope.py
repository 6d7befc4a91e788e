"""Which workspace a run of a graph reads and writes: a name, a template over the run, or a function of it.

One compiled graph serves many users, so the workspace of a user has to come from the run. A template names
values of the run: `"acme/{user_id}"`. They are looked up in the run's context and in the `configurable` part
of its config, then in the config's metadata. A value that is missing, empty, or different in two places is an
error: there is no default, because a default would be somebody else's memory.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias
from uuid import UUID

from langgraph.config import get_config
from langgraph.runtime import get_runtime

from foreword.errors import ValidationError
from foreword.options import check_workspace

Workspace: TypeAlias = str | Callable[[Mapping[str, Any], Any], str]
"""A workspace's name, a template such as `"acme/{user_id}"`, or a function of a run's config and runtime."""

_ESCAPE = "%"


class WorkspaceScope:
    """The workspace of a graph's runs: the same for every run, or one that depends on the run."""

    def __init__(self, workspace: Workspace) -> None:
        self._function = workspace if callable(workspace) else None
        self._parts: tuple[tuple[str, str | None], ...] = ()
        self._template = ""
        if self._function is None:
            self._template = check_workspace(workspace)
            self._parts = _split_template(self._template)

    @property
    def fixed_workspace(self) -> str | None:
        """The workspace, if it is the same for every run; None if the run decides."""
        if self._function is not None or any(field for _, field in self._parts):
            return None
        return "".join(literal for literal, _ in self._parts)

    @property
    def description(self) -> str:
        """The template or the function's name, for messages."""
        return self._template or getattr(self._function, "__qualname__", "a function")

    def workspace_of_current_run(self) -> str:
        """The workspace of the current run; ValidationError if the run lacks a value for it."""
        if self.fixed_workspace is not None:
            return self.fixed_workspace
        try:
            config = get_config()
        except RuntimeError:
            raise ValidationError(
                f"the workspace {self.description!r} depends on the run, and no graph is running here; "
                "name the workspace, or take store.for_run(…) of a store"
            ) from None
        return self.workspace_of_run(config, _current_runtime())

    def workspace_of_run(self, config: Mapping[str, Any], runtime: object = None) -> str:
        """The workspace of a run with this config and runtime; ValidationError if they lack a value."""
        if self._function is not None:
            return self._ask_function_for_workspace(config, runtime)
        name = "".join(
            literal
            + ("" if field is None else self._escape_separators(self._find_value(field, config, runtime)))
            for literal, field in self._parts
        )
        return check_workspace(name)

    def matches_template(self, name: str) -> bool:
        """Whether the template could give this workspace for some run; False if it is a function."""
        if self._function is not None:
            return False
        marks = re.escape("".join(sorted(self._separators - {_ESCAPE})))
        value = f"[^{marks}]+" if marks else ".+"
        parts = (re.escape(literal) + ("" if field is None else value) for literal, field in self._parts)
        return re.fullmatch("".join(parts), name, re.DOTALL) is not None

    def _ask_function_for_workspace(self, config: Mapping[str, Any], runtime: object) -> str:
        name = self._function(config, runtime) if self._function else ""
        if not isinstance(name, str) or not name.strip():
            raise ValidationError(
                f"the function {self.description} must return the name of a workspace, not {name!r}"
            )
        return check_workspace(name)

    def _find_value(self, field: str, config: Mapping[str, Any], runtime: object) -> str:
        """The value of a field of the template; ValidationError if it is missing, or has two values."""
        context, configurable = getattr(runtime, "context", None), config.get("configurable")
        found = [value for held in (context, configurable) if (value := _find_text_at_path(held, field))]
        value = found[0] if found else _find_text_at_path(config.get("metadata"), field)
        if not value:
            raise ValidationError(
                f"the workspace {self._template!r} needs {field!r}, and this run has none; pass it in "
                f'invoke(…, config={{"configurable": {_format_example_mapping(field)}}}) or in context='
            )
        if found[1:] and found[0] != found[1]:
            raise ValidationError(
                f"the workspace {self._template!r} needs one {field!r}, and this run has two: "
                f"{found[0]!r} in its context, {found[1]!r} in its config"
            )
        return value

    def _escape_separators(self, value: str) -> str:
        """A value with the template's separators escaped, so that two runs cannot give the same name."""
        return "".join(_escape_character(c) if c in self._separators else c for c in value)

    @property
    def _separators(self) -> set[str]:
        return {_ESCAPE, *(c for literal, _ in self._parts for c in literal if not c.isalnum())}


def _split_template(template: str) -> tuple[tuple[str, str | None], ...]:
    """The literal texts of a template, each with the field after it; ValidationError if it is malformed."""
    try:
        parsed = list(string.Formatter().parse(template))
    except ValueError as error:
        raise ValidationError(
            f"the workspace {template!r} is no template: {error}; write {{{{ and }}}} for plain braces"
        ) from None
    parts = tuple((literal, field) for literal, field, _, _ in parsed)
    is_formatted = any(spec or conversion for _, _, spec, conversion in parsed)
    for place, (literal, field) in enumerate(parts):
        if field is not None and (is_formatted or not all(part.isidentifier() for part in field.split("."))):
            raise ValidationError(
                f"the workspace {template!r} must name its values, as in 'acme/{{user_id}}'"
            )
        if place and field is not None and all(c.isalnum() for c in literal):
            raise ValidationError(
                f"the workspace {template!r} needs a mark such as '/' between two values, "
                "or two users could share a name"
            )
    return parts


def _current_runtime() -> object:
    """The runtime of the current run; None in a node that was called directly, without a graph."""
    try:
        return get_runtime()
    except (RuntimeError, KeyError):
        return None


def _format_example_mapping(field: str) -> str:
    """A mapping with a value at a dotted path, as it is written in Python."""
    shown = "…"
    for name in reversed(field.split(".")):
        shown = f'{{"{name}": {shown}}}'
    return shown


def _find_text_at_path(holder: object, field: str) -> str:
    """The value at a dotted path, as text; empty if it is missing, blank, or no text, number or UUID."""
    value: Any = holder
    for name in field.split("."):
        value = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    if not isinstance(value, str | int | UUID) or isinstance(value, bool):
        return ""
    return str(value) if str(value).strip() else ""


def _escape_character(character: str) -> str:
    return "".join(f"{_ESCAPE}{byte:02X}" for byte in character.encode("utf-8", "replace"))

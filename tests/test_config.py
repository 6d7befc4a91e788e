from __future__ import annotations

from pathlib import Path

import pytest

from foreword.config import Settings, load_settings
from foreword.engine.context_engine import ContextEngine
from foreword.errors import ValidationError


def test_the_environment_wins_over_the_file_and_the_file_over_the_defaults(tmp_path):
    (tmp_path / "config.toml").write_text('template = "detailed"\ntoken_budget = 500\n')
    settings = load_settings({"FOREWORD_HOME": str(tmp_path), "FOREWORD_TOKEN_BUDGET": "900"})
    assert (settings.template, settings.token_budget, settings.tokenizer) == ("detailed", 900, "o200k")
    assert settings.workspaces == tmp_path / "workspaces"


def test_without_a_home_data_lives_in_the_platforms_folder():
    assert load_settings({}).home.name == "foreword"


def test_a_home_may_begin_with_a_tilde():
    assert load_settings({"FOREWORD_HOME": "~/memories"}).home == Path.home() / "memories"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("budget = 3", "unknown setting 'budget'"),
        ("token_budget = 'many'", "must be a int"),
        ("token_budget = -1", "must not be negative"),
        ("embedding = 'magic'", "embedding in .* must be one of"),
        ("reader = 'magic'", "reader in .* must be one of bundled, none"),
        ("template = ", "not valid TOML"),
        ("threads = 2\n\n[foreword]\nthreads = 2", "unknown setting 'foreword' in .*config.toml line 3"),
        ("threads = 2\n# café", "config.toml line 2 is not valid UTF-8"),
    ],
)
def test_a_wrong_file_is_one_clear_error(tmp_path, text, message):
    (tmp_path / "config.toml").write_text(text, encoding="latin-1")
    with pytest.raises(ValidationError, match=message):
        load_settings({"FOREWORD_HOME": str(tmp_path)})


def test_a_wrong_variable_is_one_clear_error(tmp_path):
    with pytest.raises(ValidationError, match="unknown setting 'colour' in the environment"):
        load_settings({"FOREWORD_HOME": str(tmp_path), "FOREWORD_COLOUR": "red"})


def test_a_link_to_a_file_that_is_not_there_is_one_clear_error(tmp_path):
    (tmp_path / "config.toml").symlink_to(tmp_path / "dotfiles" / "config.toml")
    with pytest.raises(ValidationError, match=r"is a link to .*dotfiles.*, which is not there"):
        load_settings({"FOREWORD_HOME": str(tmp_path)})


def test_a_file_that_cannot_be_read_is_one_clear_error(tmp_path):
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(ValidationError, match="cannot read"):
        load_settings({"FOREWORD_HOME": str(tmp_path)})


@pytest.mark.parametrize("value", ["none", "bundled"])
def test_the_reader_is_bundled_or_none(tmp_path, value):
    assert load_settings({"FOREWORD_HOME": str(tmp_path)}).reader == "bundled"
    assert load_settings({"FOREWORD_HOME": str(tmp_path), "FOREWORD_READER": value}).reader == value


@pytest.mark.parametrize("value", ["", "Bundled", "yes", "openai"])
def test_another_reader_is_refused(tmp_path, value):
    with pytest.raises(ValidationError, match="reader in the environment must be one of bundled, none"):
        load_settings({"FOREWORD_HOME": str(tmp_path), "FOREWORD_READER": value})


@pytest.mark.reader
@pytest.mark.parametrize(
    ("settings", "reads"), [({}, True), ({"reader": "none"}, False), ({"embedding": "none"}, False)]
)
def test_an_engine_reads_unless_it_is_to_have_no_reader_or_no_models(home, settings, reads):
    with ContextEngine(settings=Settings(home=home, **settings)) as engine:
        assert (engine.reader is not None) == reads

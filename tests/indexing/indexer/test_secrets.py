"""Secrets in files reach no disk."""

from __future__ import annotations

import secrets
import string
from pathlib import Path

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.indexing.indexer import Indexer
from foreword.types import Filters

LEDGER = (Path(__file__).parent / "ledger.txt").read_text()


# Secrets


def _token():
    return "ghp_" + "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(36))


def _bytes_of(home):
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_a_secret_in_a_file_reaches_no_disk(home, root, write_file):
    token, private = _token(), f"nobody{secrets.token_hex(8)}"
    write_file(
        root, "src/login.py", LEDGER + f'\n\ndef login():\n    """Uses {token}."""\n    return "{token}"\n'
    )
    write_file(root, "docs/setup.md", f"# Setup\n\nUse {token} here. <private>{private}</private> Then go.\n")
    with ContextEngine(settings=Settings(home=home, embedding="none")) as engine:
        Indexer(engine).index(root, str(root))
        texts = [item.text for item in engine.store.scan(str(root))]
        assert any("[redacted:github]" in text for text in texts)
        assert any("Then go." in text for text in texts)
    assert token.encode() not in _bytes_of(home)
    assert private.encode() not in _bytes_of(home)


def test_a_key_that_is_cut_by_no_window_is_taken_out_whole_and_lines_keep_their_numbers(
    home, root, write_file
):
    lines = [secrets.token_urlsafe(48)[:64].replace("-", "A").replace("_", "B") for _ in range(90)]
    dashes = "-" * 5
    key = "\n".join(
        [f"{dashes}BEGIN RSA PRIVATE KEY{dashes}", *lines, f"{dashes}END RSA PRIVATE KEY{dashes}"]
    )
    write_file(root, "src/keys.py", f'KEY = """{key}"""\n\n{LEDGER}')
    with ContextEngine(settings=Settings(home=home, embedding="none")) as engine:
        Indexer(engine).index(root, str(root))
        source = (root / "src/keys.py").read_text().split("\n")
        settle = next(item for item in engine.store.scan(str(root), Filters(source="file:src/keys.py"))
                      if item.metadata["qualified_name"] == "settle")  # fmt: skip
        assert source[settle.metadata["start_line"] - 1].startswith("def settle")
    kept = _bytes_of(home)
    assert not any(line.encode() in kept for line in lines)


def test_a_unit_of_which_nothing_may_be_kept_is_counted(index, items, root, caplog, write_file):
    write_file(root, "docs/mine.md", "# Mine\n\n<private>all of this is mine</private>\n")
    indexed = index()
    assert indexed.skipped.get("unfit", 0) <= 1
    assert not any("all of this" in item.text for item in items())

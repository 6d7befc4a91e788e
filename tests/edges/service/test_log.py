from __future__ import annotations

import contextlib
import logging
import secrets

from foreword.edges.service import log as service_log


def test_the_log_holds_no_secrets_and_is_bounded(tmp_path, monkeypatch):
    key = "ghp_" + secrets.token_hex(18)
    path = tmp_path / "service.log"
    root, ours = logging.getLogger(), logging.getLogger("foreword")
    before, levels = list(root.handlers), (root.level, ours.level)
    monkeypatch.setattr(service_log, "_BYTES", 10_000)
    try:
        service_log.write_log(path, "warning")
        log = logging.getLogger("foreword.service")
        log.warning("a key: %s", key)
        with contextlib.suppress(KeyError):
            try:
                {}[key]
            finally:
                log.exception("failed")
        for number in range(500):
            log.info("line %d of many, to make the file long", number)
    finally:
        for handler in set(root.handlers) - set(before):
            handler.close()
            root.removeHandler(handler)
        root.setLevel(levels[0])
        ours.setLevel(levels[1])
    files = sorted(tmp_path.glob("service.log*"))
    assert len(files) == 4
    assert all(file.stat().st_size <= 10_200 for file in files)
    assert key not in "".join(file.read_text() for file in files)

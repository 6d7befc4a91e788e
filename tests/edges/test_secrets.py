"""Secrets on their way through real processes: a hook, the spool, the service, its log."""

from __future__ import annotations

import sys

import pytest

from foreword_measure.quality.secret_texts import FIRST, SECOND, make_secret_text, read_secret_formats

pytestmark = pytest.mark.usefixtures("no_model")


@pytest.fixture(params=[9, pytest.param(1, marks=pytest.mark.soak)])
def texts(request):
    """Texts with secrets: some of every group of both sets, or all."""
    step = request.param
    formats = [*read_secret_formats(FIRST)[::step], *read_secret_formats(SECOND)[::step]]
    return [make_secret_text(form, "hooks") for form in formats]


def _secrets_on_disk(home, texts):
    held = b"\n".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    long = [text for text in texts if len(text.secret) > 8]
    assert len(long) > 20
    return [
        text.text for text in long if text.secret[-9:].encode() in held or text.secret[:9].encode() in held
    ]


def _say_all(texts):
    return "\n\n".join(f"Remark {number}:\n{text.text}" for number, text in enumerate(texts))


def test_no_secret_waits_in_the_spool(hook, home, spool_files, until, texts, report_fault):
    hook(prompt=_say_all(texts), interpreter="/bin/false")
    (file,) = until(spool_files, "the event was not spooled")
    assert "Remark 3" in file.read_text()
    assert _secrets_on_disk(home, texts) == []
    report_fault(13, {"secrets in the spool": len(texts)}, acknowledged=1, saw="no secret on the disk")


def test_no_secret_is_stored_or_logged_by_a_service(hook, home, until, texts, stored_texts, report_fault):
    hook("SessionStart", interpreter=sys.executable, answered=True)
    said, step = _say_all(texts), 5
    hook(prompt=said, interpreter=sys.executable, answered=True)
    hook("Stop", last_assistant_message=f"Done.\n{said}", interpreter=sys.executable, answered=True)
    for at in range(0, len(texts), step):
        output = {"stdout": _say_all(texts[at : at + step]), "exit_code": 1}
        given = {"command": f"make deploy {at}"}
        hook(
            "PostToolUse", tool_name="Bash", tool_input=given, tool_response=output,
            interpreter=sys.executable, answered=True,
        )  # fmt: skip
    until(lambda: len(stored_texts("/nowhere")) > len(texts) // step, "not everything was stored")
    assert _secrets_on_disk(home, texts) == []
    events = 2 + len(range(0, len(texts), step))
    report_fault(13, {"secrets in events": len(texts)}, acknowledged=events, saw="no secret on the disk")

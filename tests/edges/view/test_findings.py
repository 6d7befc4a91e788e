from __future__ import annotations

import threading

import pytest

from foreword.edges.view.health import KEPT_SECONDS, RecentHealthFindings


class Doctor:
    """Notes what it was asked to examine; waits while it is held."""

    def __init__(self):
        self.asked = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.problem = None

    def examine(self, workspace):
        self.asked.append(workspace)
        assert self.may_answer.wait(30)
        if self.problem:
            raise self.problem
        return [f"{workspace} is fine"]


@pytest.fixture
def doctor():
    return Doctor()


def test_a_workspace_is_examined_once_for_all_who_ask_within_some_seconds(doctor):
    now = [100.0]
    findings = RecentHealthFindings(doctor.examine, lambda: now[0])
    assert findings.find("shop") == findings.find("shop") == ["shop is fine"]
    assert findings.find("other") == ["other is fine"]
    assert doctor.asked == ["shop", "other"]
    now[0] += KEPT_SECONDS
    findings.find("shop")
    assert doctor.asked == ["shop", "other", "shop"]


def test_who_asks_meanwhile_waits_for_the_same_examination(doctor):
    findings = RecentHealthFindings(doctor.examine, lambda: 100.0)
    doctor.may_answer.clear()
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(findings.find("shop"))) for _ in range(3)]
    for thread in threads:
        thread.start()
    doctor.may_answer.set()
    for thread in threads:
        thread.join(30)
    assert answers == [["shop is fine"]] * 3
    assert doctor.asked == ["shop"]


def test_an_examination_that_failed_is_tried_again(doctor):
    findings = RecentHealthFindings(doctor.examine, lambda: 100.0)
    doctor.problem = OSError("no doctor")
    with pytest.raises(OSError, match="no doctor"):
        findings.find("shop")
    doctor.problem = None
    assert findings.find("shop") == ["shop is fine"]

"""Tests for work in several threads."""

import threading

import pytest

from foreword.spaces.threads import begin_in_thread, work_in_threads


def test_as_many_threads_work_as_are_asked_for():
    together = threading.Barrier(3, timeout=60)
    seen = []

    def work():
        together.wait()
        seen.append(threading.get_ident())

    work_in_threads(work, 3)
    assert len(set(seen)) == 3
    assert threading.get_ident() in seen


def test_what_fails_in_another_thread_is_raised_when_all_are_done():
    done = threading.Event()

    def work():
        if threading.current_thread() is threading.main_thread():
            done.set()
            return
        done.wait(60)
        raise ValueError("out of paper")

    with pytest.raises(ValueError, match="out of paper"):
        work_in_threads(work, 2)


def test_a_thread_gives_what_it_makes_or_its_error():
    assert begin_in_thread(lambda: 7, "seven").result(60) == 7
    with pytest.raises(ZeroDivisionError):
        begin_in_thread(lambda: 1 // 0, "nothing").result(60)

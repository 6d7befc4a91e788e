from __future__ import annotations

import pytest

from foreword.recall.code_roles import code_role, find_unrequested_code_without_work
from foreword.types import Item

BODY = 'def renew(hold):\n    """Keep a seat."""\n    hold.ends += 600'


def code(text, path="shop/holds.py", unit="function", name="renew", signature="def renew(hold)"):
    facts = {"path": path, "unit": unit, "name": name, "qualified_name": name, "signature": signature}
    return Item(text, "shop", kind="code", id=f"{path} {name}", metadata=facts)


@pytest.mark.parametrize(
    ("item", "role"),
    [
        (code(BODY), "work"),
        (code(BODY, path="tests/test_holds.py"), "test"),
        (code(BODY, path="src/holds_test.go"), "test"),
        (code(BODY, path="src/HoldTests.java"), "test"),
        (code(BODY, path="shop/testing.py"), "work"),
        (code('def renew(hold):\n    """Keep a seat."""\n    ...'), "signature"),
        (code("@overload\ndef renew(hold):\n    raise NotImplementedError"), "signature"),
        (code("def renew(hold):\n    'Keep a seat.'"), "signature"),
        (
            code("import os\nfrom a import (\n    b,\n    c,\n)", unit="window", name="", signature=""),
            "imports",
        ),
        (code('"""Names."""\n\nfrom a import b\n\n__all__ = ["b"]', unit="module", name=""), "imports"),
        (code("import os\n\nROOM = os.environ['ROOM']", unit="module", name=""), "work"),
        (code("HOLD_SECONDS = 600", unit="window", name=""), "work"),
    ],
)
def test_what_a_piece_of_code_is(item, role):
    assert code_role(item) == role


@pytest.mark.parametrize(
    ("question", "stays"),
    [
        ("how long is a seat held?", False),
        ("which test covers renewals?", True),
        ("test_renewal_after_expiry is flaky", True),
        ("why does test_holds.py take so long?", True),
    ],
)
def test_a_test_makes_way_unless_the_question_is_about_tests_or_names_it(question, stays):
    item = code(BODY, path="tests/test_holds.py", name="test_renewal_after_expiry")
    assert (item.id in find_unrequested_code_without_work(question, [item, code(BODY)])) is not stays


def test_code_that_does_the_work_never_makes_way():
    assert not find_unrequested_code_without_work("write a poem", [code(BODY)])


def test_where_there_are_only_tests_they_stay():
    assert not find_unrequested_code_without_work(
        "how long is a seat held?", [code(BODY, path="tests/test_holds.py")]
    )


@pytest.mark.parametrize(
    ("question", "stays"),
    [
        ("how long is a seat held?", False),
        ("what is the interface of holds?", True),
        ("what is renew_hold?", False),
    ],
)
def test_a_bare_signature_is_told_to_who_asks_for_the_interface(question, stays):
    signature = "def renew_hold(hold)"
    stub = code(f"{signature}:\n    ...", path="shop/ports.py", name="renew_hold", signature=signature)
    work = code(BODY, name="renew_hold")
    assert (stub.id in find_unrequested_code_without_work(question, [stub, work])) is not stays

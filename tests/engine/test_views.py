"""What the word-like spaces see of an item."""

from __future__ import annotations

import apsw

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.engine.defaults import code_parts_and_mentioned_entities
from foreword.types import Item

CODE = (
    "def send_invoice(order):\n    total = Price.of(order)\n    return mailer.post(total)  # Ask Ada Byron\n"
)


def test_code_is_found_by_the_names_in_it_and_by_what_surrounds_it():
    seen = code_parts_and_mentioned_entities(
        Item(CODE, "w", "code", about="shop/billing.py — Bills a customer of ACME")
    )
    assert {"send_invoice", "price", "shop/billing.py", "acme"} <= set(seen.entities)
    assert {"send", "invoice", "mailer", "post", "price"} <= set(seen.identifiers)
    assert not {"def", "order", "total", "return"} & set(seen.entities)


def test_what_is_said_is_found_by_what_looks_like_a_name():
    seen = code_parts_and_mentioned_entities(Item("Ada Byron wrote it with Price.of in v2.1.", "w"))
    assert {"ada byron", "ada", "byron", "v2.1"} <= set(seen.entities)


def test_code_that_an_older_foreword_kept_is_found_by_its_names(home):
    settings = Settings(home=home, embedding="none")
    with ContextEngine(settings=settings) as engine:
        engine.remember_all([Item(CODE, "w", "code", about="billing.py")], "w")
        path = engine.store.path_of_database("w")
    db = apsw.Connection(str(path))
    db.execute("DELETE FROM mentions; INSERT INTO mentions VALUES('ada byron', 1)")
    db.execute("DELETE FROM migrations WHERE name = '0007-names-of-code'")
    db.close()
    with ContextEngine(settings=settings) as engine:
        assert engine.count("w").items == 1
        assert engine.store.check("w") == ()

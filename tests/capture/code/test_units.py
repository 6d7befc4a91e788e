from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.capture.code import grammars
from foreword.capture.code.grammars import LANGUAGES
from foreword.capture.code.languages import language_of
from foreword.capture.code.outline import MAX_SHOWN_CHARACTERS, MIN_NESTED_LINES
from foreword.capture.code.units import MAX_REFERENCES, WINDOW_LINES, WINDOW_OVERLAP_LINES, cut_code
from foreword.capture.folder.storable import decode_text, hash_content
from foreword.capture.item_checks import check_item
from foreword.errors import MissingExtra
from foreword.types import Source

NOW = datetime(2026, 3, 1, tzinfo=UTC)
TAIL = "\n" * (WINDOW_LINES + 10)  # a file of fewer lines would be one item


def read(text, path="shop/cart.py", language=None):
    text = decode_text(text) if isinstance(text, bytes) else text
    return cut_code(path, text, language or language_of(path), "shop", NOW)


def by_name(text, path="shop/cart.py"):
    return {item.metadata["qualified_name"]: item for item in read(text + TAIL, path)}


# One small sample of each language: a function, a method in a class, the words above them, what they call.

SAMPLES = {
    path.name.removesuffix(".txt"): path.read_text()
    for path in sorted((Path(__file__).parent / "samples").iterdir())
}
CLASS, METHOD, FUNCTION = "class", "method", "function"
EXPECTED = {
    # path: the class, the method and the function with what each refers to, and the method's signature.
    "cart.py": ("Cart", ["Base", "cached"], "Cart.total", ["cached", "rate", "sum"], "load",
                ["loads", "read_text"], "def total(self, discount: int = 0) -> int"),
    "cart.js": ("Cart", ["Base"], "Cart.total", ["rate", "reduce"], "load", ["parse", "readFile"],
                "total(discount = 0)"),
    "cart.ts": ("Cart", ["Base", "Priced"], "Cart.total", ["rate", "reduce"], "load", ["parse", "readFile"],
                "total(discount = 0): number"),
    "cart.tsx": ("Cart", ["Base"], "Cart.total", ["rate", "reduce"], "load", ["Parsed", "readFile"],
                 "total(discount = 0): number"),
    "cart.go": ("Cart", [], "Cart.total", ["rate", "sum"], "load", ["Unmarshal", "readFile"],
                "func (c *Cart) total(discount int) int"),
    "cart.rs": ("Cart", [], "Cart.total", ["rate", "sum"], "load", ["parse", "read_to_string", "unwrap"],
                "fn total(&self, discount: u32) -> u32"),
    "Cart.java": ("Cart", ["Base", "Entity", "Override", "Priced"], "Cart.total", ["Override", "rate", "sum"],
                  "Cart.load", ["Parser", "parse"], "@Override public int total(int discount)"),
    "cart.c": ("Cart", [], "total", ["rate", "sum"], "load", ["fopen", "parse"],
               "static int total(const Cart *cart, int discount)"),
    "cart.cpp": ("shop.Cart", ["Base"], "shop.Cart.total", ["rate", "sum"], "shop.load", ["parse"],
                 "int total(int discount) const"),
    "Cart.cs": ("Shop.Cart", ["Base", "Serializable"], "Shop.Cart.total", ["Sum", "rate"], "Shop.Cart.load",
                ["Parse", "Parser"], "public int total(int discount)"),
    "cart.rb": ("Cart", ["Base", "attr_reader"], "Cart.total", ["rate", "sum"], "load",
                ["File", "JSON", "parse", "read"], "def total(discount = 0)"),
    "cart.php": ("Shop.Cart", ["Base"], "Shop.Cart.total", ["rate", "sum"], "Shop.load",
                 ["Parser", "file_get_contents", "parse"], "public function total(int $discount = 0): int"),
    "cart.sh": (None, [], "total", ["rate", "sum"], "load", ["cat", "parse"], "total()"),
}  # fmt: skip


def _around(qualified):
    """What a definition stands in; its own name is in its text."""
    outer = qualified.rpartition(".")[0]
    return f" › {outer}" if outer else ""


@pytest.mark.parametrize("path", SAMPLES)
def test_a_function_a_method_and_a_class_are_items_in_every_language(path):
    found = by_name(SAMPLES[path], path)
    a_class, inherits, method, method_calls, function, function_calls, signature = EXPECTED[path]
    if a_class:
        described = next(item for item in read(SAMPLES[path] + TAIL, path) if item.metadata["unit"] == CLASS)
        assert described.metadata["qualified_name"] == a_class
        assert described.metadata["references"] == inherits
        assert described.about == f"{path}{_around(a_class)} — What a customer means to buy."
    assert found[method].about == f"{path}{_around(method)} — The sum, with tax."
    assert found[method].metadata["references"] == method_calls
    assert found[method].metadata["signature"] == signature
    assert found[function].about == f"{path}{_around(function)} — Read a cart."
    assert found[function].metadata["references"] == function_calls
    in_a_class = path in ("Cart.java", "Cart.cs")
    assert found[method].metadata["unit"] == (FUNCTION if path in ("cart.c", "cart.sh") else METHOD)
    assert found[function].metadata["unit"] == (METHOD if in_a_class else FUNCTION)


@pytest.mark.parametrize("path", SAMPLES)
def test_the_text_of_a_function_is_the_files_own_with_the_words_above_it(path):
    sample = SAMPLES[path]
    _, _, method, _, function, _, _ = EXPECTED[path]
    for name in (method, function):
        item = by_name(sample, path)[name]
        lines = (sample + TAIL).split("\n")
        first, last = item.metadata["start_line"], item.metadata["end_line"]
        assert item.text == "\n".join(lines[first - 1 : last])
        assert ("The sum, with tax." if name == method else "Read a cart.") in item.text


def test_every_language_has_a_sample():
    assert {language_of(path) for path in SAMPLES} == LANGUAGES


def test_what_a_header_holds_decides_between_c_and_cpp():
    assert language_of("cart.h", b"struct cart { int x; };") == "c"
    assert language_of("cart.h", b"/* " + b"a line\n" * 5_000 + b"*/\ntemplate <class T>\nT last();") == "cpp"
    assert language_of("cart.h", b"/*\nusing this\nnamespace of names\nclass of things\n*/\nint x;") == "c"
    assert language_of("cart.h", b"#include <vector>\nint total();") == "cpp"
    assert language_of("cart.h", b"\n" * 200_000) == "c"
    assert language_of("cart.h", b"#pragma once\nnamespace shop {\nclass Cart {};\n}") == "cpp"


@pytest.mark.parametrize(
    ("head", "language"),
    [
        (b"#!/usr/bin/env python3\n", "python"),
        (b"#!/bin/sh", "bash"),
        (b"#! /usr/bin/env -S node --x\n", "javascript"),
        (b"#!/usr/local/bin/ruby2.7 -w\n", "ruby"),
        (b"#!/usr/bin/awk -f\n", ""),
        (b"plain words", ""),
    ],
)
def test_a_file_without_suffix_is_known_by_its_first_line(head, language):
    assert language_of("bin/deploy", head) == language


# Classes


def test_a_class_is_shown_as_what_it_promises():
    described = by_name(SAMPLES["cart.py"])["Cart"]
    assert described.text.split("\n") == [
        "class Cart(Base):",
        '    """What a customer means to buy."""',
        '    currency: str = "EUR"',
        "    @cached",
        "    def total(self, discount: int = 0) -> int:",
    ]


def test_a_class_in_a_class_has_both_names():
    text = "class Outer:\n    class Inner:\n        def go(self):\n            return 1\n"
    assert set(by_name(text)) == {"Outer", "Outer.Inner", "Outer.Inner.go"}


def test_what_is_only_declared_stays_with_its_class():
    text = "interface Priced {\n  int total();\n  default int twice() { return 2 * total(); }\n}\n"
    found = by_name(text, "Priced.java")
    assert set(found) == {"Priced", "Priced.twice"}
    assert "int total();" in found["Priced"].text


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("a.cs", "namespace Shop.Sales;\nclass Cart { int Total() { go(); } }", "Shop.Sales.Cart.Total"),
        ("a.cs", "namespace Shop.Sales {\nclass Cart { int Total() { go(); } }\n}", "Shop.Sales.Cart.Total"),
        ("a.php", "<?php\nnamespace A\\B;\nclass Cart { function total() { go(); } }", "A.B.Cart.total"),
        ("a.php", "<?php\nnamespace A;\nfunction f() {}\nnamespace B;\nfunction g() {}", "A.f B.g"),
        ("a.cpp", "TEST_F(CartTest, Adds) {\n  go();\n}\nTEST(Shop, Opens) {}", "CartTest.Adds Shop.Opens"),
        ("a.cpp", "BOOST_AUTO_TEST_CASE(adds_up) {}\nint TESTED(int a) { return a; }", "adds_up TESTED"),
        ("a.cpp", "struct A {\n  int operator()(int a) { return a; }\n};", "A.operator()"),
        ("a.cpp", "int A::operator->() { return 1; }", "A.operator->"),
        ("a.js", "export default class extends Base {\n  go() { return 1; }\n}", "default default.go"),
        ("a.ts", "export default class {\n  go() { return 1; }\n}", "default default.go"),
        ("a.js", "export default function () {\n  return 1;\n}", "default"),
        ("a.rb", "class A\n  def [](k)\n    1\n  end\n  def []=(k, v)\n    2\n  end\nend", "A.[] A.[]="),
        ("a.rb", "class A\n  def <=>(other)\n    1\n  end\nend", "A.<=>"),
    ],
)
def test_a_name_tells_what_a_reader_would_look_for(path, text, names):
    assert set(names.split()) <= set(by_name(text, path))


def test_what_a_type_extends_is_a_reference_whatever_its_parameters():
    text = (
        "interface I extends Base<T>, N.Outer<U> { a: string }\n"
        "class View extends React.Component<P> {}\n"
        "class Store implements Kept<Row>, Db.Closed {}\n"
    )
    found = by_name(text, "view.ts")
    told = {name: item.metadata["references"] for name, item in found.items()}
    assert told == {"I": ["Base", "Outer"], "View": ["Component"], "Store": ["Closed", "Kept"]}


@pytest.mark.parametrize(
    ("path", "text", "signature"),
    [
        ("a.py", "def f(a, b='#'):  # why\n    # Because.\n    return a\n", "def f(a, b='#')"),
        ("a.py", "def f(\n    a,  # the first\n    b,\n):\n    return a\n", "def f( a, b, )"),
        ("a.rb", "def f(a)\n  # Because.\n  a + 1\nend\n", "def f(a)"),
        ("a.c", "int f(int a) // why\n{ /* x */ return a; }\n", "int f(int a)"),
        ("a.ts", "function f(a = 'http://x' /* why */) {\n  return a;\n}\n", "function f(a = 'http://x' )"),
        ("a.go", "type Cart struct {\n\tlines []int\n}\n", "type Cart struct"),
        ("a.go", "type Priced[T any] interface {\n\tTotal() T\n}\n", "type Priced[T any] interface"),
        ("a.go", "type Rate func(a int) error\n", "type Rate func(a int) error"),
    ],
)
def test_a_signature_is_the_head_alone(path, text, signature):
    [item] = [item for item in read(text + TAIL, path) if item.metadata["signature"]]
    assert item.metadata["signature"] == signature


# Functions


def test_a_function_in_a_function_belongs_to_it():
    text = "def outer():\n    def inner():\n        return 1\n    return inner\n"
    found = by_name(text)
    assert set(found) == {"outer"}
    assert "return 1" in found["outer"].text


def test_a_long_function_in_a_function_stands_on_its_own():
    body = "".join(f"        step_{number}()\n" for number in range(MIN_NESTED_LINES))
    text = f"def outer():\n    def inner():\n{body}    return inner\n"
    found = by_name(text)
    assert set(found) == {"outer", "outer.inner"}
    assert found["outer"].text == "def outer():\n    def inner():\n    return inner"
    assert found["outer.inner"].metadata["unit"] == "function"


def test_the_rest_of_a_function_too_long_to_be_shown_is_in_windows_of_its_name():
    body = "".join(
        f"    total = add(total, {number:04}, 'some words to fill the line')\n" for number in range(400)
    )
    items = read(f"def long(total):\n    '''Adds.'''\n{body}    return total\n")
    function, *windows = items
    assert len(function.text) <= MAX_SHOWN_CHARACTERS
    assert function.metadata["end_line"] == 403
    assert {item.metadata["unit"] for item in windows} == {"window"}
    assert {item.about for item in windows} == {"shop/cart.py › long"}
    shown = "\n".join(item.text for item in items)
    assert all(f"{number:04}" in shown for number in range(400))


def test_decorators_belong_to_the_text_and_not_to_the_signature():
    item = by_name("@route('/cart')\n@login\ndef show(cart):\n    return page(cart)\n")["show"]
    assert item.text.startswith("@route('/cart')\n@login\ndef show")
    assert item.metadata["signature"] == "def show(cart)"
    assert item.metadata["references"] == ["login", "page", "route"]


def test_a_comment_apart_from_a_function_is_not_its_own():
    item = by_name("# A thought.\n\n# Adds.\ndef add(): return 1\n")["add"]
    assert item.text == "# Adds.\ndef add(): return 1"


def test_the_line_that_names_the_interpreter_is_no_comment():
    assert by_name("#!/bin/sh\ngo() { run; }\n", "go.sh")["go"].text == "go() { run; }"


def test_what_a_function_calls_is_bounded_and_sorted():
    calls = "\n".join(f"    name_{number:03}()" for number in range(200))
    references = by_name(f"def all():\n{calls}\n")["all"].metadata["references"]
    assert references == [f"name_{number:03}" for number in range(MAX_REFERENCES)]


def test_old_javascript_has_names_too():
    text = (
        "Cart.prototype.total = function () {\n  return 1;\n};\nexports.load = function () {\n  go();\n};\n"
    )
    found = by_name(text, "cart.js")
    assert found["Cart.total"].metadata["unit"] == "method"
    assert found["load"].metadata["unit"] == "function"


# Everything else


def test_a_small_file_is_one_item():
    text = '"""Prices."""\nimport tax\n\nRATE = 0.2\n\ndef gross(net):\n    return tax.add(net, RATE)\n'
    [item] = read(text)
    assert item.text == text.rstrip()
    assert item.about == "shop/cart.py — Prices."
    assert item.metadata["unit"] == "module"
    assert item.metadata["references"] == ["add", "tax"]


def test_an_item_tells_where_it_is_from():
    item = by_name(SAMPLES["cart.py"])["load"]
    assert item.kind == "code"
    assert item.workspace == "shop"
    assert item.created_at == NOW
    assert item.source == Source("file:shop/cart.py", "repository")
    assert item.metadata["hash"] == hash_content((SAMPLES["cart.py"] + TAIL).encode())
    assert item.metadata["path"] == "shop/cart.py"


def test_text_of_no_known_language_is_cut_into_windows_that_overlap():
    lines = [f"setting_{number} = {number}" for number in range(100)]
    items = read("\n".join(lines), "settings.toml")
    ranges = [(item.metadata["start_line"], item.metadata["end_line"]) for item in items]
    assert ranges == [
        (1, WINDOW_LINES),
        (1 + WINDOW_LINES - WINDOW_OVERLAP_LINES, 2 * WINDOW_LINES - WINDOW_OVERLAP_LINES),
        (61, 100),
    ]
    assert items[0].text == "\n".join(lines[:WINDOW_LINES])


def test_constants_between_functions_are_kept_and_imports_alone_are_not():
    text = (
        "import os\nfrom sys import (\n    path,\n)\n\n\ndef one():\n    return 1\n\n\nMAX_RETRIES = 3\n\n\n"
        "def two():\n    return 2\n\n\nif __name__ == '__main__':\n    main()\n"
    )
    windows = [item for item in read(text + TAIL) if item.metadata["unit"] == "window"]
    assert [item.text for item in windows] == ["MAX_RETRIES = 3"]


@pytest.mark.parametrize("text", ["", "   \n\n", b"", b"\n"])
def test_a_file_without_words_gives_nothing(text):
    assert read(text) == []


def test_windows_line_ends_and_marks_of_order_do_not_show():
    data = b"\xef\xbb\xbf" + "def größe():\r\n    return 1\r\n".encode() + b"\r\n" * 50
    [item] = read(data)
    assert item.text == "def größe():\n    return 1"
    assert item.metadata["qualified_name"] == "größe"


def test_a_file_in_an_old_encoding_is_read():
    [item] = read("# Preis in Übersee\nprice = 1\n".encode("latin-1"))
    assert "Übersee" in item.text


def test_a_null_character_does_not_stop_a_file():
    [item] = read(b"x = '\0'\n")
    check_item(item)


def test_broken_code_gives_what_can_be_read():
    text = (
        "def good():\n    return 1\n\n\nclass Broken(:\n    def half(self\n\n\ndef after():\n    return 2\n"
    )
    found = by_name(text)
    assert found["good"].text == "def good():\n    return 1"
    assert "return 2" in "".join(item.text for item in found.values())


def test_a_path_that_no_field_could_hold_is_shown_by_its_end():
    [item] = read("x = 1\n", "a/" * 4_000 + "end\n.py", "python")
    check_item(item)
    assert item.about.endswith("end .py")


def test_a_file_that_takes_too_long_is_cut_into_windows(monkeypatch, caplog):
    monkeypatch.setattr(grammars, "PARSE_SECONDS", 0.000_1)
    monkeypatch.setattr(grammars, "_thread_parsers", type(grammars._thread_parsers)())
    items = read("".join(f"value_{number} = f({number})\n" for number in range(20_000)))
    assert {item.metadata["unit"] for item in items} == {"window"}
    assert "windows" in caplog.text
    assert read("x = 1\n")  # the parser begins anew with the next file


@pytest.mark.parametrize(
    "text",
    [
        "<a" * 3_000,
        "\n".join(f"name_{number} <" for number in range(3_000)),
        "\n".join(f"name_{number}[" for number in range(3_000)),
        "def yield {<}\n" * 3_000,
        "word " * 3_000,
    ],
)
def test_what_nobody_writes_is_not_parsed(text, caplog):
    """A parser takes gigabytes for some of these."""
    cut_code("odd.js", text, "javascript", "shop", NOW)
    assert "is cut into windows" in caplog.text


def test_what_people_write_is_parsed(monkeypatch):
    monkeypatch.setattr(grammars, "PARSE_SECONDS", 60.0)  # a busy machine is not what is asked about
    monkeypatch.setattr(grammars, "_thread_parsers", type(grammars._thread_parsers)())
    rows = [f"    if (count_{number} < most && lines[{number}] > 0) {{ go(); }}" for number in range(3_000)]
    text = "function all() {\n" + "\n".join(rows) + "\n}\n"
    assert read(text, "long.js")[0].metadata["unit"] == "function"


def test_without_the_grammars_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(grammars, "_thread_parsers", type(grammars._thread_parsers)())
    monkeypatch.setitem(grammars._GRAMMARS, "python", ("tree_sitter_of_nobody", "language"))
    with pytest.raises(MissingExtra, match=r"foreword\[code\]"):
        read("x = 1\n")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("namespace a {" * 20_000, "deep.cpp"),
        ("function a() {" * 20_000, "deep.js"),
        ("\n" * 200_000 + "x = 1", "blank.py"),
        (" \t" * 100_000 + "'x'", "spaces.py"),
        ("function a() { b() } " * 10_000, "line.js"),
        ("a = b " * 40_000, "line.toml"),
        ("// a\n" * 50_000 + "int f() { return 1; }", "comments.c"),
    ],
)
def test_a_text_of_many_repeated_marks_is_read_to_its_end(text, path):
    """Steps that grow with the square of any of these would not come to an end within a test's time."""
    lines = text.count("\n") + 1
    for item in read(text, path):
        check_item(item)
        assert item.metadata["end_line"] <= lines


def test_several_threads_read_at_once():
    expected = {path: read(SAMPLES[path] * 3, path) for path in SAMPLES}
    with ThreadPoolExecutor(4) as threads:
        for _ in range(5):
            found = threads.map(lambda path: (path, read(SAMPLES[path] * 3, path)), SAMPLES, timeout=120)
            assert dict(found) == expected


# Whatever is in the file

WORDS = st.sampled_from(
    [
        *("def f(", "):", "class A", "{", "}", "(", ")", "function", "=>", "return", "impl", "fn x", "@d"),
        *("end", "#", "//", "/*", "*/", '"', "'", "`", "$(", "<?php", ";", "template<", "import a", "struct"),
        *("x = 1", "é", "😀", "\n", "\n    ", "\t", "\0", "\r\n", "\r"),
    ]
)
TEXTS = st.lists(WORDS, max_size=150).map(" ".join) | st.text(max_size=300)


@given(
    st.binary(max_size=400) | TEXTS.map(lambda text: text.encode(errors="replace")),
    st.sampled_from(sorted(LANGUAGES)),
)
def test_any_bytes_give_items_whose_lines_and_text_are_the_files(data, language):
    check(data, language)


@given(st.sampled_from(sorted(SAMPLES)), st.data())
def test_damaged_code_gives_items_whose_lines_and_text_are_the_files(path, data):
    """Real code with a piece cut out, another put in, and enough lines to be more than one item."""
    sample = SAMPLES[path] * data.draw(st.integers(1, 4))
    cut = data.draw(st.integers(0, len(sample)))
    resumed = data.draw(st.integers(cut, min(len(sample), cut + 200)))
    check(
        (sample[:cut] + data.draw(TEXTS) + sample[resumed:] + TAIL).encode(errors="replace"),
        language_of(path),
    )


def check(data, language):
    text = decode_text(data)
    items = cut_code("any/file", text, language, "shop", NOW)
    assert items == cut_code("any/file", text, language, "shop", NOW)
    lines = text.split("\n")
    for item in items:
        check_item(item)
        first, last = item.metadata["start_line"], item.metadata["end_line"]
        assert 1 <= first <= last <= len(lines)
        there = "\n".join(lines[first - 1 : last])
        assert item.text in there or is_cut_from(item.text, there)


def is_cut_from(text, there):
    """Whether a text is another from which stretches were cut: its characters come in the same order."""
    rest = iter(there)
    return all(character in rest for character in text if not character.isspace())


@given(st.text(max_size=200), st.text(max_size=40))
def test_any_path_and_any_text_can_be_kept(text, path):
    for item in cut_code(path, text, "python", "shop", NOW):
        check_item(item)


def test_a_long_docstring_is_kept_whole():
    said = "\n    ".join(f"Line {number} of what it does, in so many words." for number in range(60))
    source = f'def renew():\n    """{said}\n    """\n    return 1\n' + "\n".join(
        f"A{n} = {n}" for n in range(50)
    )
    unit = next(
        item for item in cut_code("a.py", source, "python", "w", NOW) if item.metadata["name"] == "renew"
    )
    assert unit.metadata["docstring"].endswith("Line 59 of what it does, in so many words.")


def test_imports_are_in_no_window_and_part_what_stands_around_them():
    imports = "\n".join(f"from package{number} import name{number}" for number in range(30))
    guarded = (
        "if TYPE_CHECKING:\n    from types import ModuleType\n\ntry:\n    import fast\nexcept ImportError:\n"
    )
    source = (
        f'"""What the module is about."""\n\n{imports}\n{guarded}    fast = None\n\nROOMS = 12\n\n\n'
        "def renew():\n    return ROOMS\n"
    )
    windows = [
        item.text
        for item in cut_code("a.py", source, "python", "w", NOW)
        if item.metadata["unit"] == "window"
    ]
    assert windows[0] == '"""What the module is about."""'
    assert any("ROOMS = 12" in text for text in windows)
    assert not any("import " in text or "TYPE_CHECKING" in text for text in windows)


def test_a_signature_and_a_summary_end_with_whole_words():
    words = " ".join(f"word{number}" for number in range(80))
    arguments = ", ".join(f"argument_{number}=None" for number in range(60))
    source = f'def renew({arguments}):\n    """{words}"""\n' + "    step()\n" * 50
    unit = cut_code("a.py", source, "python", "w", NOW)[0]
    assert unit.metadata["signature"].endswith("=None,")
    assert unit.about.rpartition(" ")[2] in words.split()

"""A real browser on the page of a real service that holds the sample project and some hostile words."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="run: make browser")

ROOT = Path(__file__).parent.parent.parent
CHROMIUM = os.environ.get("FOREWORD_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
INJECTIONS = ROOT.parent / "shared" / "data" / "prompt_injection" / "items.jsonl"
QUESTION = "How long does a basket hold its places?"

XSS = [
    "<script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "<svg/onload=window.hacked=1>",
    '"><script>window.hacked=1</script>',
    "' onmouseover='window.hacked=1",
    '" autofocus onfocus="window.hacked=1',
    "</textarea><script>window.hacked=1</script>",
    "</title><script>window.hacked=1</script>",
    "</script><script>window.hacked=1</script>",
    "<iframe srcdoc='<script>parent.hacked=1</script>'></iframe>",
    "<a href='javascript:window.hacked=1'>click</a>",
    "javascript:window.hacked=1",
    "<math><mtext></mtext><mglyph><style></math><img src onerror=window.hacked=1>",
    "<details open ontoggle=window.hacked=1>",
    "<form><button formaction=javascript:window.hacked=1>x",
    "<base href='//evil.example/'>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<style>*{background:url(//evil.example/x)}</style>",
    "&lt;script&gt;window.hacked=1&lt;/script&gt;",
    "\u202egpj.exe\u202c <b>bold</b>",
    "{{constructor.constructor('window.hacked=1')()}}",
    "<noscript><p title='</noscript><img src=x onerror=window.hacked=1>'>",
    "<object data=javascript:window.hacked=1>",
    "<scr\u00adipt>window.hacked=1</scr\u00adipt>",
]
LANGUAGES = {
    "he": "החלטנו להשתמש ב-Postgres עבור ההזמנות.",
    "ar": "قررنا استخدام Postgres لتخزين الحجوزات.",
    "fa": "ما تصمیم گرفتیم که می‌خواهیم از Postgres استفاده کنیم.",
    "zh": "我们决定用 Postgres 保存订单。",
    "ja": "予約は Postgres に保存することにした。",
    "hi": "हमने बुकिंग के लिए Postgres चुना।",
    "emoji": "Ship it 👩‍💻🏳️‍🌈",
}


def hostile_texts() -> list[str]:
    """Our own list, and a set of texts that were written to mislead a model, where it is there."""
    if not INJECTIONS.exists():
        return XSS
    lines = INJECTIONS.read_text(encoding="utf-8").strip().split("\n")
    return [*XSS, *(str(json.loads(line).get("text", "")) for line in lines)]


def run_foreword(home: Path, *arguments: str, stdin: str | None = None) -> str:
    """What a command prints."""
    environment = {
        **os.environ,
        "FOREWORD_HOME": str(home),
        "FOREWORD_READER": os.environ.get("FOREWORD_READER", "bundled"),
    }
    ran = subprocess.run(
        [sys.executable, "-m", "foreword", *arguments],
        input=stdin, capture_output=True, text=True, env=environment, check=False, timeout=240,
    )  # fmt: skip
    assert ran.returncode in (0, 1), ran.stderr
    return ran.stdout.strip()


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """The data folder of a newcomer who has typed what `make demo` says last."""
    folder = tmp_path_factory.mktemp("browser") / "home"
    run_foreword(folder, "demo", "--keep", str(folder))
    run_foreword(folder, "context", "-w", "lighthouse", QUESTION)
    lines = [
        json.dumps({"text": text, "type": "decision", "session": text[:40]})
        for text in hostile_texts()
        if text.strip()
    ]
    lines += [
        json.dumps({"id": f"lang-{name}", "text": text, "type": "decision"})
        for name, text in LANGUAGES.items()
    ]
    run_foreword(folder, "import", "-", "-w", "hostile", "--no-embed", stdin="\n".join(lines))
    for text in XSS[:6]:
        run_foreword(folder, "context", "-w", "hostile", "--floor", "0", text)
    scratch = [
        {"text": "One museum visit a month, for everybody.", "type": "decision"},
        {"text": "TODO: rotate the signing key.", "type": "task"},
        {"text": "Code freeze from 14 December to 4 January.", "type": "decision"},
    ]
    run_foreword(folder, "import", "-", "-w", "scratch", stdin="\n".join(map(json.dumps, scratch)))
    yield folder
    run_foreword(folder, "stop")


@pytest.fixture
def run(home):
    """Run a command on the same data."""
    return lambda *arguments: run_foreword(home, *arguments)


@pytest.fixture
def hostile():
    return hostile_texts()


@pytest.fixture
def languages():
    return LANGUAGES


@pytest.fixture(scope="session")
def address(home):
    """The address that `foreword view` prints."""
    return run_foreword(home, "view", "-w", "lighthouse", "--no-browser")


@pytest.fixture(scope="session")
def chromium():
    if CHROMIUM is None:
        pytest.skip("no Chromium; run: make browser")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Page:
    """A tab, with everything that it asked for and everything that went wrong in it."""

    def __init__(self, tab, address: str) -> None:
        self.tab = tab
        self.origin, _, rest = address.partition("/view/")
        self.key = rest.partition("#")[2]
        self.asked: list[str] = []
        self.wrong: list[str] = []
        tab.on("request", lambda request: self.asked.append(request.url))
        tab.on(
            "console",
            lambda line: self.wrong.append(line.text) if line.type in ("error", "warning") else None,
        )
        tab.on("pageerror", lambda error: self.wrong.append(str(error)))
        tab.set_default_timeout(60_000)

    def open(self, path: str, workspace: str = "lighthouse") -> None:
        """Go to a part by its address."""
        self.tab.goto(f"{self.origin}/view/{path}{'&' if '?' in path else '?'}w={workspace}#{self.key}")
        self.wait()

    def click(self, selector: str) -> None:
        """Click on something that leads to another part, and wait for that."""
        self.tab.evaluate("delete document.getElementById('main').dataset.ready")
        self.tab.click(selector)
        self.wait()

    def wait(self) -> None:
        self.tab.wait_for_selector("main[data-ready]:not(:has([data-load]))")

    @property
    def text(self) -> str:
        return self.tab.inner_text("main")

    def check(self) -> None:
        """That nothing came from elsewhere, nothing went wrong, and no words became anything else."""
        assert [url for url in self.asked if not url.startswith(self.origin)] == []
        assert self.wrong == []
        assert self.tab.evaluate("window.hacked") is None


@pytest.fixture
def page(chromium, address):
    """A tab of a browser of its own; whatever a test does in it, at the end nothing may have gone wrong."""
    context = chromium.new_context(viewport={"width": 1180, "height": 860})
    page = Page(context.new_page(), address)
    yield page
    page.check()
    context.close()

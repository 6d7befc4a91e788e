"""Take the pictures in docs/images: every part of the page, light and dark, of the sample project.

    python tools/take_screenshots.py docs/images

Needs Playwright and a Chromium; `make screenshots` sees to both. The pictures have 128 colours, so that all
of them together stay small.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

QUESTION = "How long does a basket hold its places?"
WIDTH, HEIGHT = 1120, 840
SCHEMES = ("light", "dark")


def main(folder: Path) -> None:
    """Take all pictures and write them to a folder."""
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("FOREWORD_CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        _fill_home(Path(home))
        address = _run_foreword(home, "view", "-w", "lighthouse", "--no-browser")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            for scheme in SCHEMES:
                _take_all(browser, address, scheme, folder)
        finally:
            browser.close()
            _run_foreword(home, "stop")


def _fill_home(home: Path) -> None:
    """Store the sample, and some prompts of an agent, so that the page has content."""
    _run_foreword(home, "demo", "--keep", str(home))
    questions = (
        "Which company handles the card payments of someone who buys today?",
        "Write a poem about lobsters",
        "On which weekday do we ship to production, and why then?",
        QUESTION,
    )
    for question in questions:
        _run_foreword(
            home, "context", "-w", "lighthouse", "--recipe", "coding", "--session", "evening", question
        )


def _run_foreword(home: Path | str, *arguments: str) -> str:
    environment = {**os.environ, "FOREWORD_HOME": str(home)}
    command = [sys.executable, "-m", "foreword", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)  # noqa: S603
    if ran.returncode > 1:
        sys.exit(ran.stderr)
    return ran.stdout.strip()


def _take_all(browser: object, address: str, scheme: str, folder: Path) -> None:
    """One picture of each part, in one colour scheme."""
    context = browser.new_context(
        viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme, reduced_motion="reduce"
    )
    tab = context.new_page()
    origin, key = address.partition("/view/")[0], address.partition("#")[2]

    def take(name: str, path: str, height: int = HEIGHT) -> None:
        tab.set_viewport_size({"width": WIDTH, "height": height})
        tab.goto(f"{origin}/view/{path}{'&' if '?' in path else '?'}w=lighthouse#{key}")
        tab.wait_for_selector("main[data-ready]:not(:has([data-load]))")
        if name == "try":
            tab.fill("#prompt", QUESTION)
            tab.wait_for_selector("#answer[data-answered] .candidate")
            tab.evaluate("document.activeElement.blur()")
        file = folder / f"view-{name}-{scheme}.png"
        tab.screenshot(path=file)
        _reduce_colours(file)

    take("now", "now?q=hold", 900)
    take("prompts", "prompts", 700)
    receipt = tab.locator("[data-receipt]").first.get_attribute("data-receipt")
    take("prompt", f"prompts/{receipt}", 1180)
    take("try", "try", 1000)
    take("memory", "memory", 760)
    take("item", "memory/dec-hold-12", 980)
    take("health", "health", 900)
    context.close()


def _reduce_colours(file: Path) -> None:
    """Make a picture small: few colours, best compression; without Pillow it stays as it is.

    The octree keeps colours that few dots have, such as those of a legend.
    """
    try:
        from PIL import Image
    except ImportError:
        return
    with Image.open(file) as image:
        few = image.convert("RGB").quantize(128, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        few.save(file, optimize=True)


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images")
    target.mkdir(parents=True, exist_ok=True)
    main(target)

"""Every part of the page, clicked through in a real browser."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

PARTS = ("now", "prompts", "try", "memory", "health")
QUESTION = "How long does a basket hold its places?"


def test_a_newcomer_reads_from_the_page_what_holds_about_basket_holds(page):
    """The walk-through of docs/view.md."""
    page.open("now")
    page.tab.fill("#about", "basket hold")
    page.click("form[role=search] button")
    line = page.tab.locator("li.line", has_text="Basket holds now last 12 minutes")
    assert "A basket holds its places for 20 minutes" in line.locator(".history .old").inner_text()

    page.click("nav.parts a:has-text('Prompts')")
    page.click(f"a.asked:has-text('{QUESTION}')")
    said = page.tab.locator("section:has(h2:has-text('Said')) .candidate").first
    assert "Basket holds now last 12 minutes" in said.inner_text()
    assert re.search(r"shares ‘\w+’.*in meaning", said.locator(".why").inner_text())
    assert "Basket holds now last 12 minutes" in page.tab.inner_text("pre.exact")
    near = page.tab.locator("section:has(h2:has-text('Nearly said')) .candidate").first
    assert "A basket holds its places for 20 minutes" in near.inner_text()
    assert "replaced on 30 September" in near.locator(".why").inner_text()

    page.click(".candidate:has-text('20 minutes') a.said")
    assert "This holds no longer" in page.text
    page.click(".notice a")
    assert page.tab.locator(".version").count() == 2


def test_every_part_is_reached_by_a_click_and_by_a_key(page):
    page.open("now")
    for number, part in enumerate(PARTS, 1):
        page.click(f"nav.parts a[data-part={part}]")
        assert page.tab.locator("nav.parts a[aria-current]").inner_text().lower() == part
        page.open("now")
        page.tab.evaluate("delete document.getElementById('main').dataset.ready")
        page.tab.keyboard.press(str(number))
        page.wait()
        assert f"/view/{part}?" in page.tab.url
    page.tab.go_back()
    page.wait()


def test_the_key_does_not_stay_in_the_address_and_opens_a_second_tab(page):
    page.open("memory")
    assert "key=" not in page.tab.url
    second = page.tab.context.new_page()
    second.goto(page.tab.url)
    second.wait_for_selector("main[data-ready=memory]")
    second.close()


def test_without_the_key_the_page_says_what_to_type(chromium, page):
    context = chromium.new_context()
    tab = context.new_page()
    tab.goto(f"{page.origin}/view/now?w=lighthouse")
    tab.wait_for_selector("main[data-ready=closed]")
    assert "foreword view" in tab.inner_text("main")
    context.close()


def test_a_link_to_a_receipt_finds_its_project(page):
    page.open("prompts")
    receipt = page.tab.locator("[data-receipt]").first.get_attribute("data-receipt")
    page.tab.goto(f"{page.origin}/view/r/{receipt}")
    page.tab.wait_for_selector(f"main[data-ready='prompts/{receipt}']")
    assert "w=lighthouse" in page.tab.url


def test_try_answers_as_one_types_and_as_the_knobs_move(page):
    page.open("try")
    page.tab.fill("#prompt", QUESTION)
    page.tab.wait_for_selector("#answer[data-answered] .candidate")
    before = page.tab.locator("section:has(h2:has-text('Said')) .candidate").count()
    assert "12 minutes" in page.tab.inner_text("pre.exact")
    with page.tab.expect_response("**/page/try"):
        page.tab.locator("#floor").evaluate(
            "e => { e.value = 0.5; e.dispatchEvent(new Event('input', {bubbles: true})) }"
        )
    page.tab.wait_for_selector("#answer:has-text('Silence is an answer')")
    assert page.tab.inner_text("output[for=floor]") == "0.5"
    with page.tab.expect_response("**/page/try"):
        page.tab.locator("#floor").evaluate(
            "e => { e.value = 0.01; e.dispatchEvent(new Event('input', {bubbles: true})) }"
        )
    page.tab.wait_for_selector("#answer:not([aria-busy]) pre.exact")
    with page.tab.expect_response("**/page/try"):
        page.tab.select_option("#recipe", "summary")
    page.tab.wait_for_selector("pre.exact:has-text('Key information')")
    assert before >= 1


def test_memory_is_searched_filtered_paged_and_walked_with_keys(page):
    page.open("memory")
    page.click("a[rel=next]")
    assert "41–80 of 333" in page.text
    page.tab.keyboard.press("j")
    page.tab.keyboard.press("j")
    assert page.tab.evaluate("document.activeElement.className") == "said"
    page.open("memory")
    page.tab.keyboard.press("/")
    page.tab.keyboard.type("deadlock")
    page.click("form[role=search] button")
    assert "DeadlockDetected" in page.text
    page.open("memory")
    page.tab.evaluate("delete document.getElementById('main').dataset.ready")
    page.tab.select_option("#f-trust", "tool")
    page.wait()
    assert "q=" not in page.tab.url
    assert page.tab.locator("li.row").count() < 40
    page.open("memory")
    page.click(".timeline a >> nth=0")
    assert "since=" in page.tab.url


def test_an_item_is_edited_confirmed_and_forgotten_with_proof(page):
    page.open("memory?q=museum+visit", "scratch")
    page.click("li.row a.said >> nth=0")
    first = page.tab.inner_text(".whole")
    page.tab.click("button:has-text('Edit')")
    page.tab.fill("dialog textarea", "One museum visit a quarter, for everybody.")
    page.tab.click("dialog button[type=submit]")
    page.tab.wait_for_selector(".whole:has-text('a quarter')")
    assert first in page.tab.inner_text(".versions")
    page.tab.click("button:has-text('Confirm')")
    page.tab.wait_for_selector("#status:has-text('Confirmed')")
    page.wait()
    page.tab.click("button:has-text('Forget…')")
    page.tab.wait_for_selector("dialog h2:has-text('for good')")
    assert "a quarter" in page.tab.inner_text("dialog[open]")
    page.tab.click("dialog button:has-text('Keep it')")
    page.tab.click("button:has-text('Forget…')")
    page.tab.click("dialog button.danger")
    page.tab.wait_for_selector("dialog .proof")
    page.tab.click("dialog button:has-text('Done')")
    page.tab.wait_for_selector("main[data-ready=memory]")
    assert "a quarter" not in page.text


def test_a_line_is_corrected_and_closed_where_it_stands(page):
    page.open("now", "scratch")
    page.tab.click("li.line:has-text('signing key') button:has-text('Close')")
    page.tab.wait_for_selector("main:not(:has-text('signing key'))")
    assert page.tab.locator("li.line:has-text('Code freeze')").count() == 1
    page.tab.click("li.line:has-text('Code freeze') button:has-text('Correct')")
    page.tab.fill("dialog textarea", "The code freeze lasts until 11 January.")
    page.tab.click("dialog button[type=submit]")
    page.tab.wait_for_selector("li.line:has-text('until 11 January') .history .old")
    assert "signing key" not in page.text
    assert page.tab.locator("li.line:has-text('until 11 January')").count() == 1


def test_health_shows_plots_findings_and_switches(page):
    page.open("health")
    assert page.tab.locator("svg.plot").count() == 6
    assert "rows, indexes and vectors agree" in page.text
    page.tab.select_option("#for-project", "3600")
    page.tab.click("button:has-text('Private')")
    page.tab.wait_for_selector(".notice:has-text('paused')")
    page.tab.click("button:has-text('Resume')")
    page.tab.wait_for_selector("button:has-text('Private')")


def test_prompts_show_the_next_one_without_being_asked(page, run):
    page.open("prompts", "scratch")
    asked = page.tab.locator("a.asked:has-text('When is the code freeze?')")
    before = asked.count()
    run("context", "-w", "scratch", "--floor", "0", "When is the code freeze?")
    asked.nth(before).wait_for()
    assert asked.count() == before + 1


def test_who_uses_keys_alone_stays_where_they_are(page, run):
    """After each change the same line has the focus, or the one in its place."""
    for text in ("Only keys are used here.", "Another line."):
        run("remember", "-w", "keys", "--type", "decision", "--no-embed", text)
    page.open("now", "keys")
    focused = "document.activeElement.textContent"

    def press_until(name):
        for _ in range(40):
            page.tab.keyboard.press("Tab")
            if page.tab.evaluate(focused) == name:
                return page.tab.keyboard.press("Enter")
        raise AssertionError(name)

    page.tab.keyboard.press("j")
    line = page.tab.evaluate(focused)
    press_until("Confirm")
    page.tab.wait_for_selector(".flag:has-text('confirmed')")
    assert page.tab.evaluate(focused) == line
    press_until("Correct")
    page.tab.wait_for_selector("dialog[open] textarea:focus")
    page.tab.keyboard.press("Control+A")
    page.tab.keyboard.type("New words.")
    press_until("Keep as what holds now")
    page.tab.wait_for_selector("main a.said:focus:has-text('New words.')")
    press_until("Forget…")
    page.tab.wait_for_selector("dialog[aria-label='Forget this for good?'] button:focus:has-text('Keep it')")
    press_until("Forget")
    page.tab.wait_for_selector("dialog .proof")
    page.tab.keyboard.press("Escape")
    page.tab.wait_for_selector("main:not(:has-text('New words.')) a.said:focus")


def test_what_went_wrong_is_said_and_what_was_typed_stays(page, run):
    run("remember", "-w", "wrong", "--type", "decision", "--no-embed", "A line that goes.")
    page.open("now", "wrong")
    page.tab.click("button:has-text('Correct')")
    page.tab.fill("dialog textarea", "  ")
    page.tab.click("dialog button[type=submit]")
    page.tab.wait_for_selector("dialog .complaint [role=alert]")
    assert page.tab.input_value("dialog textarea") == "  "
    page.tab.click("dialog button:has-text('Cancel')")
    name = page.tab.locator("main a.said").get_attribute("href").split("/")[-1].partition("?")[0]
    run("forget", "-w", "wrong", name)
    page.tab.click("button:has-text('Forget…')")
    page.tab.wait_for_selector("dialog[open]:has-text('it is gone already')")
    page.tab.click("dialog button:has-text('Close')")
    page.tab.context.set_offline(offline=True)
    page.tab.click("button:has-text('Confirm')")
    page.tab.wait_for_selector("#status:has-text('The service does not answer')")
    page.tab.context.set_offline(offline=False)
    page.wrong.clear()  # the browser names each answer that was no success


def test_a_new_prompt_leaves_the_reader_where_they_are(page, run):
    run("context", "-w", "scratch", "--floor", "0", "Who visits a museum?")
    page.open("prompts", "scratch")
    page.tab.locator("a.asked").first.focus()
    read = page.tab.evaluate("document.activeElement.href")
    page.tab.locator("main").evaluate("main => { main.dataset.old = 1; main.firstChild.dataset.old = 1; }")
    run("context", "-w", "scratch", "--floor", "0", "Which month is it?")
    page.tab.wait_for_selector("main > :first-child:not([data-old])")
    page.tab.wait_for_selector("a.asked:has-text('Which month is it?')")
    assert page.tab.evaluate("document.activeElement.href") == read


def test_who_comes_back_finds_what_they_tried(page):
    page.open("try")
    page.tab.fill("#prompt", QUESTION)
    page.tab.select_option("#recipe", "chat")
    page.tab.wait_for_selector("#answer:not([aria-busy]) .candidate")
    page.click("#answer a.said >> nth=0")
    page.tab.go_back()
    page.tab.wait_for_selector("#answer .candidate")
    assert page.tab.input_value("#prompt") == QUESTION
    assert page.tab.input_value("#recipe") == "chat"
    assert "basket" not in page.tab.url


# Words that were written to become something else


@pytest.mark.parametrize(
    "path", ["now", "memory", "memory?skip=40", "prompts", "try?q=<script>window.hacked=1</script>"]
)
def test_hostile_words_stay_words(page, path):
    page.open(path, "hostile")
    assert (
        page.tab.locator("main script, main iframe, main img, main object, main style, main base").count()
        == 0
    )
    assert page.tab.locator("main a:not([href^='/view'])").count() == 0


def test_every_hostile_item_and_receipt_is_shown_as_it_was_written(page, hostile):
    page.open("memory", "hostile")
    links, pages = [], 0
    while pages < 3:
        links += [link.get_attribute("href") for link in page.tab.locator("li.row a.said").all()][:12]
        pages += 1
        if not page.tab.locator("a[rel=next]").count():
            break
        page.click("a[rel=next]")
    for link in links:
        page.open(link.removeprefix("/view/").partition("?")[0], "hostile")
        assert page.tab.inner_text(".whole").strip()
        assert page.tab.locator("main script, main iframe, main img, main object").count() == 0
    page.open("prompts", "hostile")
    for name in [one.get_attribute("data-receipt") for one in page.tab.locator("[data-receipt]").all()]:
        page.open(f"prompts/{name}", "hostile")
        assert page.tab.locator("main script, main iframe, main img, main object").count() == 0
    assert len(hostile) >= 25


def test_markup_in_an_address_stays_words(page):
    page.open("memory/%3Cscript%3Ewindow.hacked=1%3C%2Fscript%3E")
    assert "window.hacked" in page.text
    page.open("now?q=%22%3E%3Cimg%20src=x%20onerror=window.hacked=1%3E")
    page.wrong = [line for line in page.wrong if "404" not in line]


def test_a_script_that_got_in_would_not_run(page):
    """The policy itself: markup put in by hand does nothing, and nothing can be fetched from elsewhere."""
    page.open("now")
    page.tab.evaluate("""() => {
        const made = document.createElement("div");
        try { made.innerHTML = "<img src=x onerror=window.hacked=1>"; } catch { window.refused = true; }
        const script = document.createElement("script");
        try { script.textContent = "window.hacked = 1"; document.body.append(script); } catch { }
        return fetch("https://example.org/").catch(() => { window.blocked = true; });
    }""")
    assert page.tab.evaluate("[window.refused, window.blocked, window.hacked]") == [True, True, None]
    assert page.wrong
    page.wrong.clear()  # the browser has said what it refused
    page.asked = [url for url in page.asked if "example.org" not in url]


# For everybody


@pytest.mark.parametrize("part", PARTS)
def test_every_control_has_a_name_and_every_part_one_title(page, part):
    page.open(part)
    assert page.tab.locator("main h1").count() == 1
    assert page.tab.locator("main").count() == page.tab.locator("header.top nav").count() == 1
    controls = "input:not([type=hidden]), select, textarea, button, a"
    nameless = page.tab.evaluate(
        """(controls) => [...document.querySelectorAll(controls)]
        .filter((one) => one.offsetParent && !(one.labels?.length || one.textContent.trim() || one.ariaLabel))
        .map((one) => one.outerHTML)""",
        controls,
    )
    assert nameless == []
    levels = page.tab.evaluate("[...document.querySelectorAll('main h1, main h2')].map((one) => one.tagName)")
    assert levels[0] == "H1"
    assert page.tab.locator("svg:not(:has(> title))").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(chromium, address, scheme):
    context = chromium.new_context(color_scheme=scheme)
    tab = context.new_page()
    tab.goto(address)
    tab.wait_for_selector("main[data-ready]")
    for name, least in (("--ink", 7.0), ("--soft", 4.5), ("--accent", 4.5), ("--bad", 4.5), ("--old", 4.5)):
        assert tab.evaluate(CONTRAST, name) >= least, name
    context.close()


@pytest.mark.parametrize("part", PARTS)
def test_no_words_are_faded_but_those_of_controls_that_are_off(page, part):
    page.open(part)
    faded = page.tab.evaluate(
        """() => [...document.querySelectorAll("main *:not([aria-disabled])")]
        .filter((one) => one.innerText?.trim() && !one.closest("svg") && getComputedStyle(one).opacity < 1)
        .map((one) => one.outerHTML.slice(0, 200))"""
    )
    assert faded == []


OUTSIDE = """(width) => [...document.querySelectorAll("nav.parts a, main :is(a, button, input, select)")]
    .filter((one) => one.offsetParent && !one.closest(".wide, .timeline, .hidden"))
    .filter((one) => one.getBoundingClientRect().right > width)
    .map((one) => one.outerHTML.slice(0, 120))"""

SMALLEST = """() => Math.min(99, ...[...document.querySelectorAll("main *:not(title)")]
    .filter((one) => [...one.childNodes].some((child) => child.nodeType === 3 && child.data.trim()))
    .map((one) => parseFloat(getComputedStyle(one).fontSize) * (one.ownerSVGElement
        ? one.getScreenCTM().a : 1)).filter((size) => size > 0))"""

CONTRAST = """(name) => {
    const value = (one) => getComputedStyle(document.documentElement).getPropertyValue(one).trim();
    const light = (hex) => {
        const full = hex.length === 4 ? [...hex.slice(1)].map((c) => c + c).join("") : hex.slice(1);
        const [r, g, b] = [0, 2, 4].map((at) => parseInt(full.slice(at, at + 2), 16) / 255)
            .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const [a, b] = [light(value(name)), light(value("--card"))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
}"""


def test_other_scripts_have_their_own_direction(page, languages):
    for name, text in languages.items():
        page.open(f"memory/lang-{name}", "hostile")
        whole = page.tab.locator(".whole")
        assert whole.inner_text() == text
        wanted = "rtl" if name in ("he", "ar", "fa") else "ltr"
        assert whole.evaluate("one => getComputedStyle(one).direction") == wanted


@pytest.mark.parametrize("width", [320, 390, 600])
def test_the_page_can_be_used_on_a_narrow_screen(page, width):
    """Nothing is wider than the screen, every part's name is on it, and no word is too small to read."""
    page.tab.set_viewport_size({"width": width, "height": 800})
    page.open("prompts")
    receipt = page.tab.locator("[data-receipt]").first.get_attribute("data-receipt")
    for part in (*PARTS, f"prompts/{receipt}", "memory/dec-hold-12"):
        page.open(part)
        assert page.tab.evaluate("document.documentElement.scrollWidth") <= width, part
        assert page.tab.evaluate(OUTSIDE, width) == [], part
        assert page.tab.evaluate(SMALLEST) >= 7, part


def test_the_page_is_light(page):
    sizes: list[int] = []
    page.tab.on("response", lambda answer: sizes.append(len(answer.body())))
    for part in PARTS:
        sizes.clear()
        page.open(part)
        page.tab.wait_for_load_state("networkidle")
        assert sum(sizes) <= 150_000, part


def test_a_receipt_in_one_file_needs_nothing_else(page, run, tmp_path):
    file = tmp_path / "why.html"
    run("why", "-w", "lighthouse", "--html", str(file))
    tab = page.tab.context.new_page()
    asked, wrong = [], []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("console", lambda line: wrong.append(line.text))
    tab.goto(file.as_uri())
    assert tab.locator(".candidate .bar").count() >= 1
    assert tab.evaluate("getComputedStyle(document.body).margin") == "0px"
    assert (asked, wrong) == ([file.as_uri()], [])
    tab.close()


def test_the_time_of_a_click_is_measured_beside_its_target(chromium, tmp_path):
    """In a process of its own: Playwright runs once in each."""
    script = (
        "import json, pathlib, sys; from foreword_measure.speed import view; "
        "tables, facts = view.measure(pathlib.Path(sys.argv[1]), (200,), lambda *_: None, runs=2); "
        "print(json.dumps([[row[0] for row in table.rows] for table in tables] + [facts]))"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240)
    times, sizes, facts = json.loads(ran.stdout)
    assert times == ["an empty page", *PARTS]
    assert len(sizes) == len(PARTS) + 1
    assert facts["times"]["memory"]["count"] == 2
    assert max(facts["bytes"].values()) <= 150_000

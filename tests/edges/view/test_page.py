"""The page over HTTP, without a browser: who gets in, what each part shows, what can be done."""

from __future__ import annotations

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.testclient import TestClient

from foreword.capture.pauses import running_pauses
from foreword.edges.http.application import build_api
from foreword.edges.view.application import HEADERS, PageApplication
from foreword.edges.view.markup import isolate_text_direction_of_quotes
from foreword.edges.view.visit import PageBackend
from foreword.store.base import PutReceipt

TOKEN, KEY, PORT = "t" * 40, "k" * 32, 8765
HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}} javascript:alert(3)'


@pytest.fixture
def client(engine):
    page = PageApplication(PageBackend(engine, lambda: {"version": "x", "events": {}}))
    app = build_api(engine, token=TOKEN, port=PORT, status=dict, page=page, page_key=KEY)
    with TestClient(app, base_url=f"http://127.0.0.1:{PORT}") as client:
        yield client


@pytest.fixture
def get(client):
    def fetch(path, key=KEY, **query):
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return client.get(f"/page/{path}", params={"w": "shop", **query}, headers=headers)

    return fetch


@pytest.fixture
def do(client):
    def act(name, **fields):
        headers = {"Authorization": f"Bearer {KEY}"}
        return client.post(f"/page/do/{name}", json={"w": "shop", **fields}, headers=headers)

    return act


PARTS = ("now", "prompts", "try", "memory", "health", "findings")


# Who gets in


@pytest.mark.parametrize("path", ["/view", "/view/now", "/view/prompts/x", "/view/static/page.js"])
def test_the_shell_needs_no_key_and_holds_nothing_of_anybodys(client, engine, path):
    engine.remember("Project falcon starts in May.", "shop")
    answer = client.get(path, params={"w": "shop"})
    assert answer.status_code == 200
    assert "falcon" not in answer.text


@pytest.mark.parametrize("part", [*PARTS, "frame", "memory/x", "r/x", "forget"])
def test_parts_are_for_whoever_has_the_key_alone(get, part):
    assert get(part, key="").status_code == 401
    assert get(part, key="x" * 32).status_code == 401


def test_the_key_opens_the_page_and_nothing_else(client):
    for path in ("/v1/workspaces", "/v1/view", "/openapi.json", "/pages", "/mcp"):
        answer = client.get(path, headers={"Authorization": f"Bearer {KEY}"})
        assert answer.status_code == 401, path


def test_whoever_has_the_token_gets_the_address_of_the_page(client):
    answer = client.get("/v1/view", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.json() == {"address": f"http://127.0.0.1:{PORT}/view#key={KEY}"}


def test_a_link_from_another_site_leads_to_the_shell_and_nothing_can_be_fetched_from_there(client):
    follows = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert client.get("/view/now", headers=follows).status_code == 200
    for changed in ({"sec-fetch-dest": "iframe"}, {"sec-fetch-mode": "no-cors", "sec-fetch-dest": "script"}):
        assert client.get("/view/static/page.js", headers={**follows, **changed}).status_code == 403
    asks = {**follows, "Authorization": f"Bearer {KEY}"}
    assert client.get("/page/now", params={"w": "shop"}, headers=asks).status_code == 403


def test_the_shell_has_another_host_refused_as_everything_has(client):
    assert client.get("/view", headers={"host": "evil.example:8765"}).status_code == 421


def test_acts_are_posted_as_json_with_the_key(client):
    body = {"w": "shop", "id": "x"}
    assert client.post("/page/do/close", json=body).status_code == 401
    formed = client.post("/page/do/close", data=body, headers={"Authorization": f"Bearer {KEY}"})
    assert formed.status_code == 415


@pytest.mark.parametrize("path", ["/view", "/view/static/page.css", "/page/now?w=shop"])
def test_every_answer_has_a_strict_policy(client, path):
    answer = client.get(path, headers={"Authorization": f"Bearer {KEY}"})
    policy = answer.headers["content-security-policy"]
    assert {**HEADERS}.items() <= dict(answer.headers).items()
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http:" not in policy
    assert answer.headers["cache-control"] == "no-store"


def test_no_markup_needs_what_the_policy_forbids(get, engine):
    fill(engine)
    for part in PARTS:
        assert not re.search(r"\sstyle=|<style|<script|\son\w+=|javascript:", get(part).text), part


# What each part shows


def fill(engine):
    """Two versions of a decision, a loose end, and the receipt of a question."""
    old = engine.remember("We decided that deploys happen on Tuesdays.", "shop", type="decision")
    new = engine.remember("Deploys happen on Thursdays now.", "shop", type="decision", supersedes=old.id)
    end = engine.remember("TODO: rotate the signing key.", "shop", type="task")
    return old, new, end, ask(engine, "When do deploys happen?")


def ask(engine, question):
    """The receipt of a question, stored when this returns."""
    receipt = engine.preview_context(question, "shop", floor=0.0).receipt
    engine.store.run(PutReceipt("shop", receipt))
    return receipt


def test_now_shows_what_holds_and_what_it_replaced(get, engine):
    old, new, _, _ = fill(engine)
    page = get("now").text
    assert page.index("Deploys happen on Thursdays now.") < page.index(old.text)
    assert f"/view/memory/{new.id}?" in page
    assert "rotate the signing key" in page
    assert old.text not in get("now", q="signing").text


def test_prompts_show_what_was_asked_said_and_left_out(get, engine):
    *_, receipt = fill(engine)
    assert "When do deploys happen?" in get("prompts").text
    page = get(f"prompts/{receipt.id}").text
    assert "Thursdays" in page
    assert "shares ‘deploys’" in page
    assert "<svg" in page
    assert receipt.text.splitlines()[-1] in page
    assert get("prompts/newest").text == receipt.id


def test_the_list_of_prompts_reads_no_items(get, engine, monkeypatch):
    fill(engine)
    asked, run = set(), engine.store.batch

    def record(operations):
        if threading.current_thread().name != "foreword-embedder":  # which works on beside the page
            asked.update(type(operation).__name__ for operation in operations)
        return run(operations)

    monkeypatch.setattr(engine.store, "batch", record)
    assert "When do deploys happen?" in get("prompts").text
    assert asked == {"ListReceiptFacts", "ListReceipts", "Count"}


def test_other_parts_are_there_while_a_doctor_examines(engine):
    may_answer = threading.Event()
    backend = PageBackend(
        engine, lambda: {"version": "x", "events": {}}, lambda _: may_answer.wait(60) and ()
    )
    app = build_api(engine, token=TOKEN, port=PORT, status=dict, page=PageApplication(backend), page_key=KEY)
    headers = {"Authorization": f"Bearer {KEY}"}
    with (
        TestClient(app, base_url=f"http://127.0.0.1:{PORT}", headers=headers) as client,
        ThreadPoolExecutor(8) as threads,
    ):
        try:
            waiting = [threads.submit(client.get, "/page/findings?w=shop") for _ in range(8)]
            assert client.get("/page/try?w=shop").status_code == 200
            assert not any(one.done() for one in waiting)
        finally:
            may_answer.set()
        assert {one.result().status_code for one in waiting} == {200}


def test_a_receipt_is_found_without_its_workspace(get, engine):
    *_, receipt = fill(engine)
    assert f'data-go="/view/prompts/{receipt.id}?w=shop"' in get(f"r/{receipt.id}").text
    assert get("r/ffff").status_code == 404


def test_try_answers_and_keeps_nothing(client, engine):
    fill(engine)
    before = engine.count("shop").items, engine.count("shop").receipts
    for recipe in ("coding", "chat", "detailed", "summary", "brief"):
        answer = client.post(
            "/page/try",
            json={
                "w": "shop",
                "query": "When do deploys happen?",
                "recipe": recipe,
                "floor": "0",
                "budget": "500",
            },
            headers={"Authorization": f"Bearer {KEY}"},
        )
        assert "Thursdays" in answer.text, recipe
    assert (engine.count("shop").items, engine.count("shop").receipts) == before


@pytest.mark.parametrize("floor", ["1", "nan", "-3", "x", None, [], {}])
def test_try_takes_whatever_a_form_can_send(client, engine, floor):
    fill(engine)
    body = {"w": "shop", "query": "deploys", "recipe": "nonsense", "floor": floor, "budget": floor}
    answer = client.post("/page/try", json=body, headers={"Authorization": f"Bearer {KEY}"})
    assert answer.status_code == 200


def test_memory_is_filtered_searched_and_paged(get, engine):
    engine.import_lines([f'{{"text": "note number {n} is here"}}' for n in range(90)], "shop")
    fill(engine)
    first, second = get("memory").text, get("memory", skip=40).text
    assert first.count("data-row") == second.count("data-row") == 40
    assert "of 93" in first
    assert "note number" not in get("memory", kind="decision").text
    assert get("memory", state="replaced").text.count("data-row") == 1
    assert "rotate" in get("memory", q="signing key").text
    assert "Nothing fits" in get("memory", since="2099-01-01").text
    assert get("memory", since="nonsense", skip="-1").status_code == 200


def test_a_list_that_grew_shorter_shows_its_last_page(get, engine):
    engine.import_lines(
        [f'{{"text": "We decided on number {n}.", "type": "decision"}}' for n in range(50)], "shop"
    )
    ask(engine, "Which number?")
    assert "41–50 of 50" in get("memory", skip=400).text
    assert "41–50 of 50" in get("now", only="decision", skip=400).text
    assert "Which number?" in get("prompts", skip=400).text


def test_words_that_nothing_is_about_are_not_taken_for_an_empty_memory(get, engine):
    fill(engine)
    page = get("now", q="penguins").text
    assert "Nothing here is about that." in page
    assert "Nothing was decided yet" not in page


def test_a_timeline_of_many_months_has_a_column_for_each(get, engine):
    engine.import_lines(
        [
            f'{{"text": "note of {year}-{month:02}", "created_at": "{year}-{month:02}-15T12:00:00+00:00"}}'
            for year in (2024, 2025)
            for month in range(1, 13, 2)
        ],
        "shop",
    )
    page = get("memory").text
    assert "March 2024: 1 items" in page
    assert "since=2024-03-01&amp;until=2024-03-31" in page
    assert "since=2024-04-01" not in page, "a month without anything leads nowhere"
    assert "15 March 2024" in get("memory", since="2024-03-01", until="2024-05-31").text


def test_growth_begins_with_what_was_there_before(get, engine):
    engine.import_lines(
        [
            f'{{"text": "note {n}", "created_at": "202{n}-05-15T12:00:00+00:00"}}'
            for n in range(1, 6)
        ],
        "shop",
    )  # fmt: skip
    assert "5 items" in get("health").text.partition("Growth")[2].partition("</figure>")[0]


def test_what_was_confirmed_is_marked(get, do, engine):
    *_, end, _ = fill(engine)
    assert "confirmed</span>" not in get("now").text
    do("confirm", id=end.id)
    assert "confirmed</span>" in get("now").text


def test_a_quotation_from_right_to_left_does_not_reorder_its_sentence():
    assert isolate_text_direction_of_quotes("by “שלום.”; or ‘a’") == "by “<bdi>שלום.</bdi>”; or ‘a’"
    assert isolate_text_direction_of_quotes("by “<b>שלום”") == "by “<bdi>&lt;b&gt;שלום</bdi>”"


def test_an_item_has_its_history_relations_and_receipts(get, engine):
    old, new, end, _ = fill(engine)
    engine.relate(new.id, end.id, "shop", "blocked_by")
    page = get(f"memory/{new.id}").text
    assert old.text in page
    assert "blocked by" in page
    assert "Last considered for" in page
    assert "This holds no longer" in get(f"memory/{old.id}").text
    assert get("memory/nothing").status_code == 404


def test_health_shows_sizes_plots_and_switches(get, engine):
    fill(engine)
    page = get("health").text
    for words in ("items", "prompts", "in silence", "Growth", "Speed", "Pause", "Private", "Backups"):
        assert words in page


@pytest.mark.parametrize("part", PARTS)
def test_an_empty_workspace_has_a_word_in_every_part(get, part):
    assert get(part, w="nothing here").status_code == 200


def test_a_workspace_must_be_named(get):
    assert get("now", w="").status_code == 400


# Hostile words


def test_hostile_words_stay_words_everywhere(get, client, engine):
    item = engine.remember(
        HOSTILE, "shop", type=HOSTILE[:90], about=HOSTILE, session=HOSTILE, metadata={HOSTILE: HOSTILE}
    )
    engine.relate(item.id, engine.remember("other", "shop").id, "shop", HOSTILE[:90])
    receipt = ask(engine, HOSTILE)
    pages = [get(part).text for part in PARTS]
    pages += [get(f"memory/{item.id}").text, get(f"prompts/{receipt.id}").text, get("memory", q=HOSTILE).text]
    pages += [
        get("now", q=HOSTILE, who=HOSTILE).text,
        get("forget", ids=item.id).text,
        get("frame", w=HOSTILE).text,
    ]
    pages += [get("edit", id=item.id).text, get(HOSTILE).text]
    body = {"w": "shop", "query": HOSTILE}
    pages.append(client.post("/page/try", json=body, headers={"Authorization": f"Bearer {KEY}"}).text)
    for page in pages:
        assert "<script" not in page
        assert "<img" not in page
        assert 'href="javascript' not in page


# What can be done


def test_a_line_is_corrected_closed_and_confirmed_in_place(get, do, engine):
    _, new, end, _ = fill(engine)
    assert do("correct", id=new.id, text="Deploys happen on Fridays.").status_code == 200
    assert "Deploys happen on Fridays." in get("now").text
    assert do("close", id=end.id).status_code == 200
    assert end.text not in get("now").text
    assert do("confirm", id=end.id).json()["message"] == "Confirmed."


def test_an_edit_leads_to_the_new_version(get, do, engine):
    _, new, _, _ = fill(engine)
    assert new.text in get("edit", id=new.id, act="edit").text
    outcome = do("edit", id=new.id, text="Deploys happen on Mondays.").json()
    newest = outcome["go"].removeprefix("/view/memory/").partition("?")[0]
    assert engine.store.get("shop", newest)[0].text == "Deploys happen on Mondays."


def test_forgetting_shows_what_goes_then_proves_it(get, do, engine):
    _, _, end, _ = fill(engine)
    preview = get("forget", ids=end.id).text
    assert "rotate the signing key" in preview
    assert engine.store.get("shop", end.id)[0] is not None
    outcome = do("forget", ids=end.id).json()
    assert end.id in outcome["html"]
    assert "hold nothing of it" in outcome["html"]
    assert engine.store.get("shop", end.id) == (None,)
    assert get("forget", ids=end.id).status_code == 404


def test_the_switches_pause_and_resume(do, engine):
    home = engine.settings.home
    for where, workspace in (("everywhere", ""), ("project", "shop")):
        assert do("pause", where=where, seconds="3600").status_code == 200
        assert [one.workspace for one in running_pauses(home, time.time())] == [workspace]
        assert do("resume", where=where).status_code == 200
        assert running_pauses(home, time.time()) == []


@pytest.mark.parametrize("name", ["nothing", "", "../forget"])
def test_what_the_page_cannot_do_is_said(do, name):
    assert do(name).status_code in (404, 405)


@pytest.mark.parametrize("act", ["correct", "edit", "close", "confirm"])
def test_an_act_on_nothing_is_an_error_in_words(do, act):
    answer = do(act, id="nothing", text="x")
    assert answer.status_code == 404
    assert "nothing" in answer.text

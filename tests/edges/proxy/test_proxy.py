"""The proxy between real clients and an API on loopback."""

from __future__ import annotations

import json
import logging
import time
from concurrent.futures import ThreadPoolExecutor

import httpx2
import openai
import pytest

from foreword import Document, KnowledgeBase, Session
from foreword.capture.pauses import begin_pause
from foreword.edges.proxy.asker import ProxyAsker
from foreword.types import Filters, Source

WORDS = ("The ", "answer ", "is ", "plum.")
ANSWER = "".join(WORDS)
ALLERGY = "I'm allergic to nuts."


def sent_text(model, at=-1):
    return json.dumps(model.requests[at]["body"], ensure_ascii=False)


def kept(engine, workspace="shop"):
    return [item.text for item in engine.store.scan(workspace, Filters(kinds=("turn",)))]


def wait_until_kept(proxy, session, **more):
    """A further request of a conversation or user waits until the one before is kept."""
    return proxy.ask("And now?", session=session, model="refuses", **more)


# Memory --------------------------------------------------------------------------------------------------


def test_what_a_user_said_in_one_conversation_is_known_in_the_next(proxy, model):
    proxy.ask(ALLERGY, user="mara", session="one")
    wait_until_kept(proxy, "one", user="mara")
    answer = proxy.ask("What can I eat for dessert?", user="mara", session="two")
    assert "allergic to nuts" in sent_text(model)
    assert answer.json()["choices"][0]["message"]["content"] == ANSWER
    assert answer.headers["x-foreword-receipt"]


def test_a_user_who_begins_another_conversation_at_once_is_known_in_it(proxy, model):
    for thing in ("nuts", "celery", "sesame"):
        proxy.ask(f"I'm allergic to {thing}.", user=thing, session=f"{thing}-1")
        proxy.ask("What can I eat?", user=thing, session=f"{thing}-2")
        assert f"allergic to {thing}" in sent_text(model)


def test_nobody_is_told_what_another_user_said(proxy, model):
    proxy.ask(ALLERGY, user="mara", session="one")
    wait_until_kept(proxy, "one", user="mara")
    for who in ({"user": "ben", "session": "two"}, {"session": "three"}, {}, {"user": ""}, {"user": "mar"}):
        proxy.ask("What can I eat for dessert?", **who)
        assert "nuts" not in sent_text(model), who


def test_the_user_of_the_body_counts_where_no_header_names_one(proxy, model):
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": ALLERGY}], "user": "u-1"}
    proxy.client.post("/v1/chat/completions", json=body)
    again = {**body, "messages": [{"role": "user", "content": "What is for dessert?"}]}
    proxy.client.post("/v1/chat/completions", json={**body, "model": "refuses"})
    proxy.client.post("/v1/chat/completions", json=again)
    assert "allergic to nuts" in sent_text(model)
    headers = {"x-foreword-user": ""}
    proxy.client.post("/v1/chat/completions", json=again, headers=headers)
    assert "nuts" not in sent_text(model)


def test_a_default_user_is_whoever_names_nobody(start_proxy, model):
    proxy = start_proxy(defaults=ProxyAsker("shop", user="mara"))
    proxy.ask(ALLERGY)
    proxy.ask(ALLERGY, model="refuses")
    proxy.ask("What is for dessert?")
    assert "allergic to nuts" in sent_text(model)
    proxy.ask("What is for dessert?", user="ben")
    assert "nuts" not in sent_text(model)


def test_a_request_of_nobody_leaves_nothing_behind(proxy, engine):
    proxy.ask(ALLERGY)
    proxy.ask("What is for dessert?")
    assert kept(engine) == []


def test_a_workspace_is_another_world(proxy, model, engine):
    headers = {"x-foreword-user": "mara", "x-foreword-workspace": "elsewhere", "x-foreword-session": "one"}
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": ALLERGY}]}
    proxy.client.post("/v1/chat/completions", json=body, headers=headers)
    proxy.client.post("/v1/chat/completions", json={**body, "model": "refuses"}, headers=headers)
    proxy.ask("What is for dessert?", user="mara", session="two")
    assert "nuts" not in sent_text(model)
    assert kept(engine, "elsewhere") == [ALLERGY, ANSWER]


def test_documents_are_for_everybody_in_the_workspace(proxy, model, engine):
    hours = "The bakery opens at eight on Saturdays."
    KnowledgeBase(engine, "shop").index_document(Document("Opening hours", hours))
    engine.embed_pending("shop")
    answer = proxy.ask("When does the bakery open on Saturdays?")
    assert hours in sent_text(model)
    receipt = engine.explain("shop", answer.headers["x-foreword-receipt"])
    assert [entry.section for entry in receipt.entries if entry.decision == "injected"] == ["knowledge"]


def test_what_was_remembered_for_everybody_is_told_and_what_was_remembered_for_one_is_theirs(
    proxy, model, engine
):
    engine.remember("The bakery is closed on Mondays in winter.", "shop")
    engine.remember("Mara's bakery card number is 4711 on Mondays.", "shop", source=Source("mara"))
    engine.remember("The bakery web page says closed on Mondays.", "shop", source=Source("page", "web"))
    engine.embed_pending("shop")
    question = "Is the bakery closed on Mondays, and what is Mara's card number?"
    answer = proxy.ask(question)
    assert "closed on Mondays in winter" in sent_text(model)
    assert "4711" not in sent_text(model)
    assert "web page" not in sent_text(model)
    receipt = engine.explain("shop", answer.headers["x-foreword-receipt"])
    assert [entry.section for entry in receipt.entries if entry.decision == "injected"] == ["memory"]
    proxy.ask(question, user="mara")
    assert "4711" in sent_text(model)


def test_each_turn_is_kept_once_however_often_it_is_sent(proxy, engine):
    messages = []
    for question in ("Hello there!", "yes", "What is a plum?", "yes"):
        messages.append({"role": "user", "content": question})
        said = proxy.ask(messages, user="mara", session="one").json()["choices"][0]["message"]
        messages.append(said)
    proxy.ask([*messages[-4:], {"role": "user", "content": "Bye"}], user="mara", session="one")
    wait_until_kept(proxy, "one", user="mara")
    expected = [
        "Hello there!",
        ANSWER,
        "yes",
        ANSWER,
        "What is a plum?",
        ANSWER,
        "yes",
        ANSWER,
        "Bye",
        ANSWER,
    ]
    assert kept(engine) == expected


def test_an_earlier_exchange_that_is_no_longer_sent_is_told_and_one_that_is_sent_is_not(proxy, model, engine):
    said = "The storage key of the Lighthouse shop is under the blue flowerpot."
    messages = [{"role": "user", "content": said}]
    messages.append(proxy.ask(messages, session="one").json()["choices"][0]["message"])
    wait_until_kept(proxy, "one")
    engine.embed_pending("shop")
    question = {"role": "user", "content": "Where is the storage key of the Lighthouse shop?"}
    proxy.ask([*messages, question], session="one")
    assert sent_text(model).count("blue flowerpot") == 1
    proxy.ask([question], session="one")
    assert sent_text(model).count("blue flowerpot") == 1


def answered(proxy, messages, **who):
    """The messages with the model's answer to them."""
    return [*messages, proxy.ask(messages, **who).json()["choices"][0]["message"]]


KEY = {"role": "user", "content": "The storage key of the Lighthouse shop is under the blue flowerpot."}
WHERE = {"role": "user", "content": "Where is the storage key of the Lighthouse shop?"}
HI = {"role": "user", "content": "Hi"}


@pytest.mark.parametrize("session", [{}, {"session": "one"}])
def test_an_edited_message_takes_back_what_it_said_and_what_followed(proxy, model, engine, session):
    begun = answered(proxy, [HI], user="mara", **session)
    answered(proxy, [*begun, KEY], user="mara", **session)
    wait_until_kept(proxy, "other", user="mara")
    engine.embed_pending("shop")
    edited = answered(proxy, [*begun, WHERE], user="mara", **session)
    assert "flowerpot" not in sent_text(model)
    proxy.ask(
        [*edited, {"role": "user", "content": "So where is the key of the Lighthouse shop?"}],
        user="mara",
        **session,
    )
    assert "flowerpot" not in sent_text(model)


@pytest.mark.parametrize("session", [{}, {"session": "one"}])
def test_an_answer_that_is_asked_for_again_is_not_told(proxy, model, session):
    talk = answered(proxy, [HI], user="mara", **session)
    proxy.ask([*talk, WHERE], user="mara", **session)
    proxy.ask([*talk, WHERE], user="mara", **session)
    assert "foreword-context" not in sent_text(model)
    proxy.ask([HI], user="mara", **session)
    assert "foreword-context" not in sent_text(model)


def test_a_chat_that_begins_with_the_same_words_is_another_by_the_same_user(proxy, model, engine):
    answered(proxy, [*answered(proxy, [HI], user="mara"), KEY], user="mara")
    wait_until_kept(proxy, "other", user="mara")
    engine.embed_pending("shop")
    other = answered(proxy, [HI], user="mara", model="calls")
    answer = {"role": "tool", "tool_call_id": "call-1", "content": "12 plum cakes"}
    proxy.ask([*other, answer, WHERE], user="mara")
    earlier = sent_text(model).partition("From earlier conversations with this user:")[2]
    assert "flowerpot" in earlier
    assert "Earlier in this conversation" not in sent_text(model)
    wait_until_kept(proxy, "other", user="mara")
    conversations = {item.conversation for item in engine.store.scan("shop", Filters(kinds=("turn",)))}
    assert len(conversations) == 2


def test_in_the_tool_loop_of_a_first_message_the_same_context_stands_before_it(proxy, model):
    proxy.ask(ALLERGY, user="mara", session="one")
    wait_until_kept(proxy, "one", user="mara")
    talk = answered(proxy, [{"role": "user", "content": "What can I eat?"}], user="mara", model="calls")
    asked = model.requests[-1]["body"]["messages"][0]
    assert "allergic to nuts" in asked["content"]
    proxy.ask([*talk, {"role": "tool", "tool_call_id": "call-1", "content": "12"}], user="mara")
    assert model.requests[-1]["body"]["messages"][0] == asked


# What is sent --------------------------------------------------------------------------------------------


def test_a_request_without_context_passes_to_the_byte(proxy, model):
    raw = b'{"model": "gpt-4o",  "temperature": 0.10, "messages": [{"role":"user","content":"Hi \\u00e9"}]}'
    answer = proxy.client.post(
        "/v1/chat/completions", content=raw, headers={"content-type": "application/json"}
    )
    assert model.requests[-1]["raw"] == raw
    assert answer.status_code == 200


def test_nothing_but_the_last_message_of_the_user_is_changed(proxy, model):
    proxy.ask(ALLERGY, user="mara", session="one")
    wait_until_kept(proxy, "one", user="mara")
    image = {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}
    before, after = {"type": "text", "text": "Can I eat"}, {"type": "text", "text": "this?"}
    messages = [
        {"role": "system", "content": "You are a baker."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": [before, image, after]},
    ]
    proxy.ask(messages, user="mara", session="two", temperature=0.5, tools=[{"type": "function"}])
    body = model.requests[-1]["body"]
    assert (body["temperature"], body["tools"]) == (0.5, [{"type": "function"}])
    assert body["messages"][:3] == messages[:3]
    added, *rest = body["messages"][3]["content"]
    assert rest == messages[3]["content"]
    assert added["text"].startswith("<foreword-context>")


def test_keys_go_upstream_and_our_headers_do_not(proxy, model, engine, caplog):
    key = "sk-live-1234567890abcdefghij"
    headers = {"authorization": f"Bearer {key}", "x-foreword-user": "mara", "openai-organization": "org-7"}
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": ALLERGY}]}
    with caplog.at_level(logging.DEBUG):
        proxy.client.post("/v1/chat/completions", json=body, headers=headers)
        proxy.client.post("/v1/chat/completions", json={**body, "model": "refuses"}, headers=headers)
    arrived = model.requests[0]["headers"]
    assert (arrived["authorization"], arrived["openai-organization"]) == (f"Bearer {key}", "org-7")
    assert not [name for name in arrived if name.startswith("x-foreword")]
    assert key not in caplog.text
    assert not any(key in path.read_bytes().decode("latin-1") for path in engine.settings.home.rglob("*.db*"))


def test_what_was_injected_is_never_remembered_even_if_it_comes_back(proxy, engine):
    injected = "<foreword-context>\nMara hates plums.\n</foreword-context>\n\nHello there, baker!"
    proxy.ask(injected, user="mara", session="one")
    wait_until_kept(proxy, "one", user="mara")
    assert kept(engine) == ["Hello there, baker!", ANSWER]


def test_context_keeps_out_of_a_window_that_is_full(start_proxy, model, engine):
    hours = "The bakery opens at eight on Saturdays."
    KnowledgeBase(engine, "shop").index_document(Document("Opening hours", hours))
    proxy = start_proxy(window=600)
    question = "When does the bakery open on Saturdays?"
    assert hours in (proxy.ask(question, max_tokens=100) and sent_text(model))
    answer = proxy.ask("plum " * 450 + question, max_tokens=100)
    assert hours not in sent_text(model)
    assert "window" in answer.headers["x-foreword-note"]


# Tools ---------------------------------------------------------------------------------------------------


def test_in_a_tool_loop_the_same_context_stands_before_the_same_question(proxy, model, engine):
    proxy.ask(ALLERGY, user="mara", session="one")
    wait_until_kept(proxy, "one", user="mara")
    messages = [{"role": "user", "content": "Which cakes can I eat?"}]
    said = proxy.ask(messages, user="mara", session="two", model="calls").json()["choices"][0]["message"]
    first = model.requests[-1]["body"]["messages"][0]
    messages += [said, {"role": "tool", "tool_call_id": "call-1", "content": "17 plum cakes"}]
    proxy.ask(messages, user="mara", session="two")
    assert model.requests[-1]["body"]["messages"] == [first, *messages[1:]]
    wait_until_kept(proxy, "two", user="mara")
    turns = Session(engine, "shop", "two").state.turns
    assert [turn.role for turn in turns] == ["user", "assistant", "tool", "assistant"]
    assert turns[1].tool_calls[0]["id"] == turns[2].call_id == "call-1"


def test_calls_of_tools_are_put_together_from_a_stream(proxy, engine):
    proxy.ask("How many plum cakes?", session="one", model="calls", stream=True)
    wait_until_kept(proxy, "one")
    (call,) = Session(engine, "shop", "one").state.turns[1].tool_calls
    assert call["function"]["arguments"] == '{"cake": "plum"}'


# Streams -------------------------------------------------------------------------------------------------


def test_a_stream_arrives_piece_by_piece_and_is_remembered_whole(proxy, model, engine):
    headers = {"x-foreword-session": "one"}
    body = {"model": "slow", "stream": True, "messages": [{"role": "user", "content": "Which cake?"}]}
    with proxy.client.stream("POST", "/v1/chat/completions", json=body, headers=headers) as answer:
        pieces = answer.iter_raw()
        first = next(pieces)
        assert WORDS[0] in first.decode()
        assert WORDS[1] not in first.decode()
        model.go_on.set()
        rest = b"".join(pieces).decode()
    assert rest.endswith("data: [DONE]\n\n")
    wait_until_kept(proxy, "one")
    assert kept(engine) == ["Which cake?", ANSWER]


def test_the_openai_package_talks_through_it(proxy, model, engine):
    headers = {"x-foreword-user": "mara", "x-foreword-session": "one"}
    with openai.OpenAI(
        api_key="sk-none", base_url=proxy.url, default_headers=headers, max_retries=0
    ) as client:
        asked = [{"role": "user", "content": ALLERGY}]
        assert (
            client.chat.completions.create(model="gpt-4o", messages=asked).choices[0].message.content
            == ANSWER
        )
        asked = [{"role": "user", "content": "What is for dessert?"}]
        headers = {"x-foreword-session": "two"}
        stream = client.chat.completions.create(
            model="gpt-4o", messages=asked, stream=True, extra_headers=headers
        )
        assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == ANSWER
        assert "allergic to nuts" in sent_text(model)
        raw = client.chat.completions.with_raw_response.create(model="gpt-4o", messages=asked)
        assert engine.explain("shop", raw.headers["x-foreword-receipt"]) is not None
        with pytest.raises(openai.AuthenticationError, match="bad key"):
            client.chat.completions.create(model="refuses", messages=asked)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses"])
def test_the_other_two_apis_get_context_and_are_remembered(proxy, model, engine, path, stream):
    headers = {"x-foreword-user": "mara", "x-foreword-session": "one"}
    field = "messages" if path.endswith("messages") else "input"
    body = {"model": "any", field: [{"role": "user", "content": ALLERGY}], "stream": stream}
    proxy.client.post(path, json=body, headers=headers)
    proxy.client.post(path, json={**body, "model": "refuses"}, headers=headers)
    assert kept(engine) == [ALLERGY, ANSWER]
    asked = {**body, field: [{"role": "user", "content": "What is for dessert?"}]}
    answer = proxy.client.post(path, json=asked, headers={**headers, "x-foreword-session": "two"})
    assert "allergic to nuts" in sent_text(model)
    assert answer.headers["x-foreword-receipt"]


def test_results_of_tools_stay_first_in_a_message_of_anthropic(proxy, model, engine):
    KnowledgeBase(engine, "shop").index_document(Document("Hours", "The bakery opens at eight on Saturdays."))
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "17"}
    question = {"type": "text", "text": "When does the bakery open on Saturdays?"}
    proxy.client.post(
        "/v1/messages",
        json={"model": "claude", "messages": [{"role": "user", "content": [result, question]}]},
    )
    content = model.requests[-1]["body"]["messages"][0]["content"]
    assert [part["type"] for part in content] == ["tool_result", "text", "text"]
    assert content[2] == question


# What goes wrong -----------------------------------------------------------------------------------------


def test_errors_of_the_api_pass_as_they_are_and_nothing_is_kept(proxy, engine):
    answer = proxy.ask("Hello there!", session="one", model="refuses")
    assert (answer.status_code, answer.json()["error"]["message"]) == (401, "bad key")
    wait_until_kept(proxy, "one")
    assert kept(engine) == []


def test_a_request_that_is_refused_with_context_is_sent_without_it(proxy, model):
    proxy.ask(ALLERGY, user="mara", session="one")
    wait_until_kept(proxy, "one", user="mara")
    answer = proxy.ask("What is for dessert?", user="mara", session="two", model="picky")
    assert answer.status_code == 200
    assert "nuts" not in sent_text(model)
    assert "refused" in answer.headers["x-foreword-note"]
    assert "x-foreword-receipt" not in answer.headers


def test_a_failure_of_ours_lets_the_request_pass(proxy, model, engine, monkeypatch):
    proxy.ask(ALLERGY, user="mara", session="one")
    wait_until_kept(proxy, "one", user="mara")
    monkeypatch.setattr(engine.store, "tally", lambda *_: 1 / 0)
    answer = proxy.ask("What is for dessert?", user="mara", session="one")
    assert answer.json()["choices"][0]["message"]["content"] == ANSWER
    assert "ZeroDivisionError" in answer.headers["x-foreword-note"]
    assert "nuts" not in sent_text(model)


def test_an_answer_that_we_cannot_read_reaches_the_application(proxy, engine, monkeypatch):
    class Broken:
        def feed(self, piece):
            raise RecursionError

    monkeypatch.setattr("foreword.edges.proxy.application.make_answer_reader", lambda *_: Broken())
    answer = proxy.ask("Which cake?", session="one", stream=True)
    assert answer.text.endswith("data: [DONE]\n\n")
    wait_until_kept(proxy, "one")
    assert kept(engine) == []


def test_a_context_that_is_late_is_left_out(start_proxy, model, engine):
    proxy = start_proxy(deadline_ms=0.001)
    answer = proxy.ask("What is for dessert?", user="mara", session="one")
    assert answer.status_code == 200
    assert "longer than" in answer.headers["x-foreword-note"]


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"not json", b"[]", b'{"messages": 5}', b'{"messages": []}'),
        b'{"messages": [5, null, {"role": "user"}]}',
    ],
)
def test_whatever_the_body_is_it_passes(proxy, model, raw):
    headers = {"content-type": "application/json", "x-foreword-user": "mara"}
    proxy.client.post("/v1/chat/completions", content=raw, headers=headers)
    assert model.requests[-1]["raw"] == raw


def test_a_header_that_comes_twice_gets_no_context(proxy, model):
    headers = [("x-foreword-user", "mara"), ("x-foreword-user", "ben")]
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
    answer = proxy.client.post("/v1/chat/completions", json=body, headers=headers)
    assert answer.status_code == 200
    assert "ValidationError" in answer.headers["x-foreword-note"]


def test_an_upstream_that_is_not_there_is_an_error_in_the_words_of_the_apis(start_proxy):
    proxy = start_proxy(url="http://127.0.0.1:9/v1")
    answer = proxy.ask("Hello")
    assert (answer.status_code, answer.json()["error"]["type"]) == (502, "upstream_unreachable")


def test_an_upstream_that_hangs_is_not_waited_for_forever(start_proxy):
    proxy = start_proxy(timeout=0.5)
    answer = proxy.ask("Hello", model="hangs")
    assert (answer.status_code, answer.json()["error"]["type"]) == (504, "upstream_timeout")


def test_who_leaves_before_an_answer_is_not_asked_for_any_longer(proxy, model):
    with pytest.raises(httpx2.TimeoutException):
        proxy.client.post(
            "/v1/chat/completions",
            json={"model": "hangs", "messages": [{"role": "user", "content": "Hello"}]},
            timeout=httpx2.Timeout(30, read=1),
        )
    assert model.disconnected.wait(30)


def test_who_leaves_in_the_middle_of_a_stream_stops_it_and_half_an_answer_is_not_kept(proxy, model, engine):
    body = {"model": "pauses", "stream": True, "messages": [{"role": "user", "content": "Which cake?"}]}
    headers = {"x-foreword-session": "one"}
    with proxy.client.stream("POST", "/v1/chat/completions", json=body, headers=headers) as answer:
        assert WORDS[0] in next(answer.iter_raw()).decode()
    assert model.disconnected.wait(30)
    wait_until_kept(proxy, "one")
    assert kept(engine) == []


def test_a_stream_that_breaks_off_breaks_off_for_the_application_too(proxy, engine):
    with pytest.raises(httpx2.RemoteProtocolError):
        proxy.ask("Which cake?", session="one", model="breaks", stream=True)
    wait_until_kept(proxy, "one")
    assert kept(engine) == []


def test_while_foreword_is_paused_requests_pass_and_nothing_is_recalled_or_kept(proxy, model, engine):
    proxy.ask(ALLERGY, user="mara", session="one")
    wait_until_kept(proxy, "one", user="mara")
    before = kept(engine)
    begin_pause(engine.settings.home, time.time())
    answer = proxy.ask("What is for dessert?", user="mara", session="two")
    assert "StorePaused" in answer.headers["x-foreword-note"]
    assert "nuts" not in sent_text(model)
    wait_until_kept(proxy, "two", user="mara")
    assert kept(engine) == before


# Everything else -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/models?limit=3"),
        ("POST", "/v1/embeddings"),
        ("DELETE", "/v1/files/f%2F1"),
        ("POST", "/v1/files"),
    ],
)
def test_everything_else_passes_untouched(proxy, model, method, path):
    content = b"--x\r\nbytes \xff\r\n--x--" if method == "POST" else None
    answer = proxy.client.request(method, path, content=content, headers={"content-type": "multipart/x"})
    request = model.requests[-1]
    assert (request["method"], request["raw"]) == (method, content or b"")
    assert path.partition("?")[2] == request["query"]
    assert (answer.headers["x-own"], answer.headers["set-cookie"]) == ("kept", "a=1")


@pytest.mark.parametrize("headers", [{"host": "evil.example"}, {"origin": "https://evil.example"},
                                     {"sec-fetch-site": "cross-site"}, {"upgrade": "websocket"}])  # fmt: skip
def test_web_pages_are_refused(proxy, model, headers):
    answer = proxy.client.post("/v1/chat/completions", json={"messages": []}, headers=headers)
    assert answer.status_code in (403, 421)
    assert model.requests == []


def test_many_users_at_once_get_their_own(proxy, model, engine):
    things = ("nuts", "shellfish", "gluten", "lactose", "celery", "sesame", "mustard", "soy")

    def talk(thing):
        proxy.ask(f"I'm allergic to {thing}.", user=thing, session=f"{thing}-1")
        wait_until_kept(proxy, f"{thing}-1", user=thing)
        proxy.ask(f"What can I eat? I am number {thing}!", user=thing, session=f"{thing}-2")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(talk, things))
    asked = [text for at in range(len(model.requests)) if "I am number" in (text := sent_text(model, at))]
    assert len(asked) == len(things)
    for text in asked:
        own = next(thing for thing in things if f"I am number {thing}!" in text)
        assert f"allergic to {own}" in text
        assert not [other for other in things if other != own and other in text]

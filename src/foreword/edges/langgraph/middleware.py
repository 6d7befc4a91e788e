"""ContextMiddleware: before an agent's model is called, context for the user's message is put before it.

The context is part of the call, never of the state: the checkpoints of a thread stay as they are. It is put
before the same message again with every later call, also after a restart, so that the model does not lose it
in a loop of tools and a provider's cache of the prompt stays valid; while it is there, nothing in it is
injected again. Before each call it is checked what was forgotten since, and a message whose context held any
of it gets another. Whatever fails or is late is a warning, and the call goes on without it; only a run that
does not say whose workspace it is raises.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.config import get_config

from foreword.capture.agent import AgentEvent, items_from_event
from foreword.compose.budget import TokenBudget
from foreword.edges.langgraph.scope import WorkspaceScope
from foreword.edges.langgraph.thread_contexts import MessageContext, ThreadContexts
from foreword.edges.message_lists import DEFAULT_BUDGET, DEFAULT_DEADLINE_MS, extract_question
from foreword.errors import ValidationError
from foreword.log import get_logger
from foreword.options import check_whole_number
from foreword.recipes.coding.injection import InjectionPipeline
from foreword.store.base import ClearShown, MarkShown
from foreword.text.frame import wrap_in_frame

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from langchain.agents.middleware import ModelRequest, ModelResponse
    from langchain_core.messages import AnyMessage

    from foreword.edges.langgraph.scope import Workspace
    from foreword.engine.context_engine import ContextEngine

_log = get_logger("foreword.langgraph")

MIN_BUDGET = 60
"""With fewer tokens left to a thread, nothing more is put into it."""

_MAX_TOKENS = 10_000_000
_DEADLINES_WAITED = 2.0
"""How many deadlines are waited for in all; what is later than that is left out."""


class ContextMiddleware(AgentMiddleware):
    """For `create_agent(middleware=[…])`. With `capture`, what user and agent say is remembered as turns.

    `workspace` is a name, a template such as `"acme/{user_id}"`, or a function of the run's config and
    runtime. `budget` is how many tokens the context of one message may take, `thread_budget` those of a
    thread's messages together.
    """

    def __init__(
        self,
        engine: ContextEngine,
        workspace: Workspace,
        *,
        budget: int = DEFAULT_BUDGET,
        thread_budget: int | None = None,
        deadline_ms: float = DEFAULT_DEADLINE_MS,
        capture: bool = False,
    ) -> None:
        super().__init__()
        self._scope = WorkspaceScope(workspace)
        self._engine = engine
        self._pipeline = InjectionPipeline(engine)
        self._budget = TokenBudget.with_total(budget)
        self._thread_budget = _MAX_TOKENS
        if thread_budget is not None:
            self._thread_budget = check_whole_number("thread_budget", thread_budget, 1, _MAX_TOKENS)
        self._deadline_ms = deadline_ms
        self._max_wait_seconds = deadline_ms / 1000 * _DEADLINES_WAITED
        self._capture = capture
        self._contexts = ThreadContexts(engine.store)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with the context, then remember what was said."""
        workspace, session = self._scope.resolve(), _find_session_id(request.messages)
        standing: dict[str, MessageContext] = {}
        try:
            found = _start_in_thread(self._find_contexts, request.messages, workspace, session, standing)
            contexts = found.result(self._max_wait_seconds)
        except Exception as error:  # noqa: BLE001  (an agent must not fail for want of context)
            contexts = _contexts_after_failure(workspace, standing, error)
        response = handler(_request_with_contexts(request, contexts))
        self._capture_turns(request.messages, response, workspace, session)
        return response

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """The same, without keeping the event loop waiting."""
        workspace, session = self._scope.resolve(), _find_session_id(request.messages)
        standing: dict[str, MessageContext] = {}
        try:
            found = _start_in_thread(self._find_contexts, request.messages, workspace, session, standing)
            contexts = await asyncio.wait_for(asyncio.wrap_future(found), self._max_wait_seconds)
        except Exception as error:  # noqa: BLE001  (as above)
            contexts = _contexts_after_failure(workspace, standing, error)
        response = await handler(_request_with_contexts(request, contexts))
        await asyncio.to_thread(self._capture_turns, request.messages, response, workspace, session)
        return response

    def receipt_id(self, thread: str, workspace: str | None = None) -> str:
        """The receipt of the context before a thread's last message; empty when there is none.

        Where the run decides on the workspace, `workspace` must be named.
        """
        contexts = list(self._contexts.get_known(self._workspace_name(workspace), thread).values())
        return contexts[-1].receipt_id if contexts else ""

    def tokens(self, thread: str, workspace: str | None = None) -> int:
        """How many tokens of context a call for this thread carries, all its messages together."""
        contexts = self._contexts.get_known(self._workspace_name(workspace), thread)
        return sum(one.tokens for one in contexts.values())

    def _workspace_name(self, workspace: str | None) -> str:
        name = workspace or self._scope.fixed_workspace
        if name is None:
            raise ValidationError(
                f"name the workspace: {self._scope.description!r} is another one for each run"
            )
        return name

    def _find_contexts(
        self,
        messages: Sequence[AnyMessage],
        workspace: str,
        session: str,
        standing: dict[str, MessageContext],
    ) -> Mapping[str, MessageContext]:
        """The context of each message of the user, by the message's key; memory is asked about the last one.

        `standing` gets those that still hold, as soon as that is known: the rest may come too late.
        """
        prompts = {_message_key(one): one for one in messages if isinstance(one, HumanMessage)}
        known = self._contexts.load(workspace, session, prompts)
        standing.update(self._without_forgotten_contexts(workspace, known))
        contexts = dict(standing)
        for key, message in prompts.items():
            if key not in contexts and (key in known or key == next(reversed(prompts))):
                contexts[key] = self._find_context_for_message(key, message, workspace, session, contexts)
        contexts = {key: contexts[key] for key in prompts if key in contexts}
        self._contexts.cache(workspace, session, contexts)
        return contexts

    def _without_forgotten_contexts(
        self, workspace: str, known: Mapping[str, MessageContext]
    ) -> dict[str, MessageContext]:
        """Those contexts of which every item is still remembered."""
        ids = list(dict.fromkeys(item for one in known.values() for item in one.ids))
        items = self._engine.store.get(workspace, *ids) if ids else ()
        forgotten = {item_id for item_id, item in zip(ids, items, strict=True) if item is None}
        return {key: one for key, one in known.items() if not one.gone and forgotten.isdisjoint(one.ids)}

    def _find_context_for_message(
        self,
        key: str,
        message: HumanMessage,
        workspace: str,
        session: str,
        earlier: Mapping[str, MessageContext],
    ) -> MessageContext:
        """What memory holds on a message, beside what earlier messages were given, if there is room."""
        question = extract_question(message.text)
        left = min(self._budget.total, self._thread_budget - sum(one.tokens for one in earlier.values()))
        if not question or left < min(MIN_BUDGET, self._budget.total):
            return MessageContext()
        self._mark_only_these_as_shown(
            workspace, session, [item for one in earlier.values() for item in one.ids]
        )
        result = self._pipeline.generate_context(
            question,
            session,
            self._budget if left == self._budget.total else TokenBudget.with_total(left),
            workspace=workspace,
            deadline_ms=self._deadline_ms,
            record=False,
        )
        framed = wrap_in_frame(result.formatted_context)
        found = MessageContext(
            framed, result.included_memories, tokens=self._engine.tokenizer.count(framed) if framed else 0
        )
        return self._contexts.record(result.receipt, key, found)

    def _mark_only_these_as_shown(self, workspace: str, session: str, ids: Sequence[str]) -> None:
        """Mark these, and no others, as shown to the session: what has left its messages may come again."""
        store = self._engine.store
        if session and store.shown(workspace, session) - set(ids):
            mark = MarkShown(workspace, session, tuple(ids), self._engine.clock())
            store.batch([ClearShown(workspace, session), mark])

    def _capture_turns(
        self, messages: Sequence[AnyMessage], response: ModelResponse[Any], workspace: str, session: str
    ) -> None:
        """Remember the user's message, once, and what the agent answered in the end."""
        prompts = [message for message in messages if isinstance(message, HumanMessage)]
        if not self._capture or not prompts:
            return
        contexts = self._contexts.get_known(workspace, session)
        key = _message_key(prompts[-1])
        before = contexts.get(key, MessageContext())
        prompt = "" if before.captured else prompts[-1].text
        try:
            ids = self._store_turns(prompt, _final_answer_text(response), workspace, session)
            captured = replace(before, ids=(*before.ids, *ids), captured=True)
            self._contexts.mark_captured(workspace, captured)
        except Exception as error:  # noqa: BLE001  (what the model said must reach the user)
            _log.warning("a turn was not remembered", workspace=workspace, problem=str(error))
            return
        self._contexts.cache(workspace, session, {**contexts, key: captured})

    def _store_turns(self, prompt: str, answer: str, workspace: str, session: str) -> list[str]:
        """Store both turns; they are in the thread already, so they are marked as shown to it."""
        now = self._engine.clock()
        events = (
            AgentEvent("UserPromptSubmit", now, session, agent="langgraph", prompt=prompt),
            AgentEvent("Stop", now, session, agent="langgraph", message=answer),
        )
        items = [item for event in events for item in items_from_event(event, workspace)]
        ids = [item.id for item in self._engine.remember_all(items, workspace)] if items else []
        if session and ids:
            self._engine.store.post(MarkShown(workspace, session, tuple(ids), now))
        return ids


def _contexts_after_failure(
    workspace: str, standing: Mapping[str, MessageContext], error: Exception
) -> Mapping[str, MessageContext]:
    """The contexts of earlier messages, as far as they are known to hold; for the last there is none."""
    problem = str(error) or type(error).__name__
    _log.warning("no context for a message", workspace=workspace, problem=problem)
    return dict(standing)


def _find_session_id(messages: Sequence[AnyMessage]) -> str:
    """The thread; a conversation without one is known by its first message, if that has a name."""
    try:
        thread = get_config().get("configurable", {}).get("thread_id")
    except RuntimeError:  # called outside of a graph
        thread = None
    return str(thread or next((message.id for message in messages if message.id), ""))


def _message_key(message: HumanMessage) -> str:
    return message.id or message.text


def _request_with_contexts(
    request: ModelRequest[Any], contexts: Mapping[str, MessageContext]
) -> ModelRequest[Any]:
    """The request with each context before its message, in a copy of it: models may insist on turns."""
    if not any(one.text for one in contexts.values()):
        return request
    messages = [_message_with_context(message, contexts) for message in request.messages]
    return request.override(messages=messages)


def _message_with_context(message: AnyMessage, contexts: Mapping[str, MessageContext]) -> AnyMessage:
    one = contexts.get(_message_key(message)) if isinstance(message, HumanMessage) else None
    if one is None or not one.text:
        return message
    content: Any = message.content
    if isinstance(content, str):
        content = f"{one.text}\n\n{content}"
    else:
        content = [{"type": "text", "text": one.text}, *content]
    return message.model_copy(update={"content": content})


def _final_answer_text(response: ModelResponse[Any]) -> str:
    """What the agent said to the user; a message that calls tools is not its last word."""
    last = response.result[-1] if response.result else None
    return last.text if isinstance(last, AIMessage) and not last.tool_calls else ""


def _start_in_thread(work: Callable[..., Any], *arguments: object) -> Future[Any]:
    """Work in a thread that nobody has to wait for, with the caller's context variables."""
    done: Future[Any] = Future()
    done.set_running_or_notify_cancel()  # who stops waiting does not stop it
    context = copy_context()

    def run() -> None:
        try:
            done.set_result(context.run(work, *arguments))
        except Exception as error:  # noqa: BLE001  (handed to whoever waits)
            done.set_exception(error)

    threading.Thread(target=run, name="foreword-context", daemon=True).start()
    return done

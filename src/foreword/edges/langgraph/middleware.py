"""ContextMiddleware: context for the user's message is put before it when the agent's model is called.

The context is part of the call, never of the state: the checkpoints of a thread stay as they are. It is put
before the same message again in every later call, also after a restart, so that the model does not lose it in
a loop of tools and a provider's cache of the prompt stays valid; meanwhile nothing in it is injected again.
Before each call, a message whose context has an item that was forgotten gets a new context. If something
fails or is late, a warning is logged and the call goes on without it; only a run that does not name its
workspace raises an error.
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
"""If a thread has fewer tokens left than this, its next messages get no context."""

_MAX_TOKENS = 10_000_000
_DEADLINES_WAITED = 2.0
"""How many times the deadline to wait for a context before the call goes on without it."""


class ContextMiddleware(AgentMiddleware):
    """For `create_agent(middleware=[…])`. With `capture`, the messages of user and agent are stored as turns.

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
        """Call the model with the contexts, then store the turns if `capture` is set."""
        workspace, session = self._scope.workspace_of_current_run(), _find_session_id(request.messages)
        still_valid: dict[str, MessageContext] = {}
        try:
            found = _start_in_thread(self._find_contexts, request.messages, workspace, session, still_valid)
            contexts = found.result(self._max_wait_seconds)
        except Exception as error:  # noqa: BLE001  (an agent must not fail for want of context)
            contexts = _fall_back_to_valid_contexts(workspace, still_valid, error)
        response = handler(_add_contexts_to_request(request, contexts))
        self._capture_turns(request.messages, response, workspace, session)
        return response

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """The same, without keeping the event loop waiting."""
        workspace, session = self._scope.workspace_of_current_run(), _find_session_id(request.messages)
        still_valid: dict[str, MessageContext] = {}
        try:
            found = _start_in_thread(self._find_contexts, request.messages, workspace, session, still_valid)
            contexts = await asyncio.wait_for(asyncio.wrap_future(found), self._max_wait_seconds)
        except Exception as error:  # noqa: BLE001  (as above)
            contexts = _fall_back_to_valid_contexts(workspace, still_valid, error)
        response = await handler(_add_contexts_to_request(request, contexts))
        await asyncio.to_thread(self._capture_turns, request.messages, response, workspace, session)
        return response

    def receipt_id(self, thread: str, workspace: str | None = None) -> str:
        """The id of the receipt of the context before a thread's last message; empty if there is none.

        If the workspace depends on the run, `workspace` must be named.
        """
        contexts = list(self._contexts.get_cached(self._require_workspace_name(workspace), thread).values())
        return contexts[-1].receipt_id if contexts else ""

    def tokens(self, thread: str, workspace: str | None = None) -> int:
        """How many tokens of context a call for this thread has, for all its messages together."""
        contexts = self._contexts.get_cached(self._require_workspace_name(workspace), thread)
        return sum(context.tokens for context in contexts.values())

    def _require_workspace_name(self, workspace: str | None) -> str:
        """The named workspace, or the one of every run; ValidationError if the run decides."""
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
        still_valid: dict[str, MessageContext],
    ) -> Mapping[str, MessageContext]:
        """The context of each message of the user, by the message's key; only new ones need a search.

        Those that need no search are added to `still_valid` at once, since the search may come too late.
        """
        prompts = {
            _message_key(message): message for message in messages if isinstance(message, HumanMessage)
        }
        known = self._contexts.load(workspace, session, prompts)
        still_valid.update(self._drop_contexts_with_forgotten_items(workspace, known))
        contexts = dict(still_valid)
        for key, message in prompts.items():
            if key not in contexts and (key in known or key == next(reversed(prompts))):
                contexts[key] = self._find_context_for_message(key, message, workspace, session, contexts)
        contexts = {key: contexts[key] for key in prompts if key in contexts}
        self._contexts.cache(workspace, session, contexts)
        return contexts

    def _drop_contexts_with_forgotten_items(
        self, workspace: str, known: Mapping[str, MessageContext]
    ) -> dict[str, MessageContext]:
        """The contexts all of whose items are still stored."""
        ids = list(dict.fromkeys(item for context in known.values() for item in context.ids))
        items = self._engine.store.get(workspace, *ids) if ids else ()
        forgotten = {item_id for item_id, item in zip(ids, items, strict=True) if item is None}
        return {
            key: context
            for key, context in known.items()
            if not context.gone and forgotten.isdisjoint(context.ids)
        }

    def _find_context_for_message(
        self,
        key: str,
        message: HumanMessage,
        workspace: str,
        session: str,
        earlier: Mapping[str, MessageContext],
    ) -> MessageContext:
        """A new context for a message, without what earlier ones have; empty if too few tokens are left."""
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
        """Mark these items, and no others, as shown to the session; others may be injected again."""
        store = self._engine.store
        if session and store.shown_ids(workspace, session) - set(ids):
            mark = MarkShown(workspace, session, tuple(ids), self._engine.clock())
            store.batch([ClearShown(workspace, session), mark])

    def _capture_turns(
        self, messages: Sequence[AnyMessage], response: ModelResponse[Any], workspace: str, session: str
    ) -> None:
        """Store the user's message, once, and the agent's final answer."""
        prompts = [message for message in messages if isinstance(message, HumanMessage)]
        if not self._capture or not prompts:
            return
        contexts = self._contexts.get_cached(workspace, session)
        key = _message_key(prompts[-1])
        before = contexts.get(key, MessageContext())
        prompt = "" if before.captured else prompts[-1].text
        try:
            ids = self._store_turns(prompt, _final_answer_text(response), workspace, session)
            captured = replace(before, ids=(*before.ids, *ids), captured=True)
            self._contexts.record_message_stored(workspace, captured)
        except Exception as error:  # noqa: BLE001  (what the model said must reach the user)
            _log.warning("a turn was not remembered", workspace=workspace, problem=str(error))
            return
        self._contexts.cache(workspace, session, {**contexts, key: captured})

    def _store_turns(self, prompt: str, answer: str, workspace: str, session: str) -> list[str]:
        """Store both turns, marked as shown, since they are in the thread already; returns their ids."""
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


def _fall_back_to_valid_contexts(
    workspace: str, still_valid: Mapping[str, MessageContext], error: Exception
) -> Mapping[str, MessageContext]:
    """Log the failure; returns the contexts of earlier messages that are known to be valid."""
    problem = str(error) or type(error).__name__
    _log.warning("no context for a message", workspace=workspace, problem=problem)
    return dict(still_valid)


def _find_session_id(messages: Sequence[AnyMessage]) -> str:
    """The thread's id; without a thread, the id of the first message that has one, or empty."""
    try:
        thread = get_config().get("configurable", {}).get("thread_id")
    except RuntimeError:  # called outside of a graph
        thread = None
    return str(thread or next((message.id for message in messages if message.id), ""))


def _message_key(message: HumanMessage) -> str:
    return message.id or message.text


def _add_contexts_to_request(
    request: ModelRequest[Any], contexts: Mapping[str, MessageContext]
) -> ModelRequest[Any]:
    """The request with each context inside its message: models may require alternating roles."""
    if not any(context.text for context in contexts.values()):
        return request
    messages = [_add_context_to_message(message, contexts) for message in request.messages]
    return request.override(messages=messages)


def _add_context_to_message(message: AnyMessage, contexts: Mapping[str, MessageContext]) -> AnyMessage:
    context = contexts.get(_message_key(message)) if isinstance(message, HumanMessage) else None
    if context is None or not context.text:
        return message
    content: Any = message.content
    if isinstance(content, str):
        content = f"{context.text}\n\n{content}"
    else:
        content = [{"type": "text", "text": context.text}, *content]
    return message.model_copy(update={"content": content})


def _final_answer_text(response: ModelResponse[Any]) -> str:
    """The text of the agent's final answer; empty if its last message calls tools."""
    last = response.result[-1] if response.result else None
    return last.text if isinstance(last, AIMessage) and not last.tool_calls else ""


def _start_in_thread(work: Callable[..., Any], *arguments: object) -> Future[Any]:
    """Do some work in a daemon thread, with the caller's context variables; returns its future."""
    done: Future[Any] = Future()
    done.set_running_or_notify_cancel()  # a caller that stops waiting does not cancel the work
    context = copy_context()

    def run() -> None:
        try:
            done.set_result(context.run(work, *arguments))
        except Exception as error:  # noqa: BLE001  (handed to whoever waits)
            done.set_exception(error)

    threading.Thread(target=run, name="foreword-context", daemon=True).start()
    return done

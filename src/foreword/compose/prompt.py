"""A whole prompt from its parts: [SYSTEM], [CONTEXT], [KNOWLEDGE], [USER]; what is empty is left out.

In the middle of a loop of tools, [TOOLS] follows: what was asked of them since the query, and their answers.
Whatever the parts say, the headings are ours alone: a line of them that looks like one is escaped. The query
is never left out and never cut.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from foreword.compose.content_parts import anthropic_parts, images_tokens, openai_parts, sent_parts
from foreword.compose.entity_context import entities_text
from foreword.compose.history import FormattedHistory, history_text
from foreword.compose.knowledge_chunk import knowledge_text
from foreword.compose.quoting import (
    escape_heading_line,
    escape_headings,
    escape_headings_only,
    heading_and_text,
    remove_half_characters,
)
from foreword.compose.turns import ToolCall, tool_calls, turns_images_tokens
from foreword.compose.user_context import NO_USER, UserContext

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.compose.entity_context import EntityContext
    from foreword.compose.knowledge_chunk import KnowledgeChunk
    from foreword.compose.quoting import PartName
    from foreword.compose.turns import FormattedTurn
    from foreword.text.tokens import Tokenizer
    from foreword.types import Turn

NO_HISTORY = FormattedHistory()


@dataclass(frozen=True, slots=True)
class ContextContent:
    """What a prompt is made of, every part within its budget.

    `asked` is the query as a turn, where it is more than text or somebody by name asks it; `since` is what
    was said and done for it already, in the middle of a loop of tools.
    """

    query: str
    system: str = ""
    history: FormattedHistory = NO_HISTORY
    entities: tuple[EntityContext, ...] = ()
    rag_chunks: tuple[KnowledgeChunk, ...] = ()
    user: UserContext = NO_USER
    asked: Turn | None = None
    since: tuple[FormattedTurn, ...] = ()


def prompt_parts(content: ContextContent) -> dict[PartName, str]:
    """The parts that say something, by name, in their order; always the user's."""
    told = (content.user.text, content.history.text, entities_text(content.entities))
    context = "\n\n".join(filter(None, told))
    said: dict[PartName, str] = {
        "SYSTEM": content.system,
        "CONTEXT": context,
        "KNOWLEDGE": knowledge_text(content.rag_chunks),
    }
    parts: dict[PartName, str] = {name: escape_headings(text) for name, text in said.items() if text.strip()}
    parts["USER"] = escape_headings_only(_query_with_speaker(content))
    if content.since:
        parts["TOOLS"] = escape_headings("\n".join(turn.formatted for turn in content.since))
    return parts


def _query_with_speaker(content: ContextContent) -> str:
    """The query, after the name of the one who asks where there is one."""
    name = escape_heading_line(content.asked.name) if content.asked else ""
    return f"{name}: {content.query}" if name else content.query


def prompt_text(content: ContextContent) -> str:
    """The prompt as one text."""
    return "\n\n".join(heading_and_text(name, text) for name, text in prompt_parts(content).items())


def prompt_tokens(content: ContextContent, tokenizer: Tokenizer) -> int:
    """What the prompt costs, headings, joins and the images that are sent with it included."""
    images = turns_images_tokens((*content.history.recent_turns, *content.since))
    images += images_tokens(content.asked.parts) if content.asked else 0
    return tokenizer.count(prompt_text(content)) + images


# Messages_of_chat_APIs ------------------------------------------------------------------------------------


Message = dict[str, Any]

_BEFORE = "(Earlier turns are left out.)"
"""What the user says before a conversation that begins with the assistant, where that is not allowed."""


@dataclass(frozen=True, slots=True)
class _Utterance:
    """A turn to send: its words, the calls it makes that are answered, and their answers."""

    role: str
    text: str
    calls: tuple[tuple[ToolCall, str], ...] = ()
    turn: Turn | None = None
    """The turn itself, where it has more than text."""


def openai_messages(content: ContextContent) -> list[Message]:
    """The prompt for the chat completions API: the system, the recent turns, the query, what came since."""
    messages: list[Message] = []
    if content.system.strip():
        messages.append({"role": "system", "content": prompt_parts(content)["SYSTEM"]})
    messages += _openai_turns(content.history.recent_turns)
    question = _final_user_message(content)
    asked = openai_parts(content.asked, question) if content.asked and content.asked.parts else question
    return [*messages, {"role": "user", "content": asked}, *_openai_turns(content.since)]


def _openai_turns(turns: Sequence[FormattedTurn]) -> list[Message]:
    """The turns with the calls of tools and their answers."""
    messages: list[Message] = []
    for said in _utterances(turns):
        words = openai_parts(said.turn, said.text) if said.turn else said.text
        message: Message = {"role": said.role, "content": words or None}
        if said.calls:
            message["tool_calls"] = [_openai_call(call) for call, _ in said.calls]
        messages.append(message)
        messages += [
            {"role": "tool", "tool_call_id": call.call_id, "content": answer} for call, answer in said.calls
        ]
    return messages


def anthropic_messages(content: ContextContent) -> tuple[str, list[Message]]:
    """The system prompt, and the messages of user and assistant in turn, the user first and last."""
    said: list[tuple[str, list[Message]]] = []
    _append_anthropic_turns(said, content.history.recent_turns)
    if said and said[0][0] == "assistant":
        said.insert(0, ("user", _text_as_content_blocks(_BEFORE)))
    question = _final_user_message(content)
    asked = anthropic_parts(content.asked, question) if content.asked and content.asked.parts else []
    _append_text(said, "user", asked or [{"type": "text", "text": question}])
    _append_anthropic_turns(said, content.since)
    system = prompt_parts(content).get("SYSTEM", "")
    return system, [{"role": role, "content": _collapse_text_blocks(blocks)} for role, blocks in said]


def _append_anthropic_turns(said: list[tuple[str, list[Message]]], turns: Sequence[FormattedTurn]) -> None:
    """Append the turns with the calls of tools and their answers."""
    for each in _utterances(turns):
        role = "assistant" if each.role == "assistant" else "user"
        text = f"System: {each.text}" if each.role == "system" else each.text
        words = anthropic_parts(each.turn, text) if each.turn else _text_as_content_blocks(text)
        uses = [
            {"type": "tool_use", "id": call.call_id, "name": call.name, "input": call.input}
            for call, _ in each.calls
        ]
        _append_text(said, role, [*words, *uses])
        answers = [
            {"type": "tool_result", "tool_use_id": call.call_id, "content": answer}
            for call, answer in each.calls
        ]
        _append_text(said, "user", answers)


def _utterances(turns: Sequence[FormattedTurn]) -> list[_Utterance]:
    """The turns that can be sent: none that is empty, and no answer of a tool without its call."""
    said: list[_Utterance] = []
    for at, turn in enumerate(turns):
        if turn.turn.role == "tool":
            continue
        calls = _pair_calls_with_answers(turns, at)
        text = _text_with_speaker(turn)
        if text or calls:
            parts = turn.turn if sent_parts(turn.turn) else None
            said.append(_Utterance(turn.turn.role, text, calls, parts))
    return said


def _pair_calls_with_answers(turns: Sequence[FormattedTurn], at: int) -> tuple[tuple[ToolCall, str], ...]:
    """The calls of a turn that the tools right after it have answered, in the order of the calls."""
    answers: dict[str, str] = {}
    for following in turns[at + 1 :]:
        if following.turn.role != "tool":
            break
        answers.setdefault(following.turn.call_id, following.content)
    calls = tool_calls(turns[at].turn) if turns[at].turn.role == "assistant" else ()
    known = {call.call_id: call for call in calls if call.call_id and call.call_id in answers}
    return tuple((call, answers[call_id]) for call_id, call in known.items())


def _text_with_speaker(turn: FormattedTurn) -> str:
    """What was said, after its time where that is wanted, and the speaker's name where there is one."""
    text = turn.content.strip()
    name = escape_heading_line(turn.turn.name)
    said = f"{name}: {text}" if name and text else text
    return f"{turn.stamp}{said}" if said else ""


def _openai_call(call: ToolCall) -> Message:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.call_id, "type": "function", "function": function}


def _final_user_message(content: ContextContent) -> str:
    """The query, after what is known for it; alone and as it came, when nothing is."""
    history = content.history
    told = history_text(history.summary, history.recalled, (), history.template)
    parts = prompt_parts(replace(content, history=replace(history, text=told)))
    parts.pop("SYSTEM", None)
    parts.pop("TOOLS", None)
    if len(parts) == 1:
        return remove_half_characters(_query_with_speaker(content))
    return "\n\n".join(heading_and_text(name, text) for name, text in parts.items())


def _append_text(said: list[tuple[str, list[Message]]], role: str, blocks: list[Message]) -> None:
    """More from this role: in its last message, if it spoke last, else in a new one."""
    if not blocks:
        return
    if said and said[-1][0] == role:
        said[-1][1].extend(blocks)
    else:
        said.append((role, blocks))


def _text_as_content_blocks(text: str) -> list[Message]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _collapse_text_blocks(blocks: list[Message]) -> str | list[Message]:
    """Text alone as text, a paragraph a block; anything else as blocks."""
    if all(block["type"] == "text" for block in blocks):
        return "\n\n".join(block["text"] for block in blocks)
    return blocks

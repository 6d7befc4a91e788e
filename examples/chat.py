"""A whole chat assistant with Foreword in one file: a chat in the terminal over a folder of documents.

    python examples/chat.py ~/notes
    python examples/chat.py ~/notes --url http://localhost:11434/v1 --model llama3.2
    echo "When do we open?" | python examples/chat.py ~/notes

Without --url no model is needed: the answer then says what the prompt held. With it, any endpoint that speaks
OpenAI's chat API answers; the key is read from OPENAI_API_KEY. Run it again with the same session and it goes
on where it ended. In the chat, /why says what the last prompt was made of and why, /prompt shows it, /quit
ends.
"""
# ruff: noqa: T201  (a chat talks)

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterator
from http.client import HTTPException
from pathlib import Path
from urllib.request import Request, urlopen

from foreword import ContextEngine, InjectedContext, KnowledgeBase, Session, Turn, inject_context
from foreword.errors import ForewordError

INSTRUCTIONS = "You answer from the user's documents. Name your source; say so when the answer is not there."

Model = Callable[[InjectedContext], str]


def main() -> int:
    """Read the documents, open the conversation, talk."""
    asked = arguments()
    try:
        with ContextEngine() as engine:
            index(engine, asked.folder, asked.workspace)
            session = Session(
                engine, asked.workspace, asked.session, user=asked.user, base_instructions=INSTRUCTIONS
            )
            chat(session, remote(asked.url, asked.model) if asked.url else echo, asked.tokens)
    except ForewordError as error:
        print(f"chat: {error}", file=sys.stderr)
        return 1
    return 0


def index(engine: ContextEngine, folder: Path, workspace: str) -> None:
    """Bring the workspace in step with the folder; only what changed is read again."""
    print(f"Reading {folder} …", file=sys.stderr)
    indexed = KnowledgeBase(engine, workspace).index_folder(folder)
    print(f"{indexed.files} files are new, {indexed.unchanged} as they were.", file=sys.stderr)
    engine.embed_pending(
        workspace, lambda done: print(f"\r{done} pieces understood", end="", file=sys.stderr)
    )
    print(file=sys.stderr)


def chat(session: Session, model: Model, tokens: int) -> None:
    """One prompt, one answer and two turns for each line that the user writes."""
    prompt: InjectedContext | None = None
    for line in lines():
        if line in ("/why", "/prompt"):
            print(shown(line, prompt))
            continue
        try:
            prompt = inject_context(line, session, tokens)
            answer = model(prompt)
        except (ForewordError, OSError, HTTPException, ValueError) as error:
            print(f"(no answer: {error})")  # and nothing of it is kept
            continue
        session.add_all([Turn(line), Turn(answer, role="assistant")])
        print(answer)


def lines() -> Iterator[str]:
    """The lines that the user writes, until /quit or the end of the input."""
    while True:
        try:
            line = input("> " if sys.stdin.isatty() else "").strip()
        except (EOFError, KeyboardInterrupt):
            return
        if line == "/quit":
            return
        if line:
            yield line


def shown(command: str, prompt: InjectedContext | None) -> str:
    """The last prompt, or why it is as it is."""
    if prompt is None:
        return "(ask something first)"
    return prompt.formatted if command == "/prompt" else "\n".join(reasons(prompt))


def reasons(prompt: InjectedContext) -> Iterator[str]:
    """A line for everything that was found for the prompt; `foreword why` says the same of any receipt."""
    receipt, words = prompt.receipt, said(prompt)
    yield f"{receipt.tokens} of {receipt.budget} tokens; compression: {prompt.level.name.lower()}"
    for entry in receipt.entries:
        how = f" ({entry.detail})" if entry.detail else ""
        sure = f", relevance {entry.score:.2f}" if entry.score else ""
        yield f"  {entry.decision}: {entry.kind} {entry.item_id}{how}{sure}{words.get(entry.item_id, '')}"
    for entity in prompt.content.entities:
        yield f"  about: {entity.name} ({entity.entity_type}), relevance {entity.relevance:.2f}"
    for note in receipt.notes:
        yield f"  note: {note.part}: {note.message}"


def said(prompt: InjectedContext) -> dict[str, str]:
    """The beginning of each turn, piece of a document and statement of the user that the prompt has."""
    content = prompt.content
    turns = (*content.history.recent_turns, *content.history.recalled)
    words = {turn.turn_id: f"{turn.speaker}: {turn.content}" for turn in turns}
    words |= {chunk.chunk_id: f"{chunk.source.title}: {chunk.content}" for chunk in content.rag_chunks}
    words |= {line.turn_id: line.text for line in content.user.lines}
    return {name: f"\n      {textwrap.shorten(text, 90, placeholder=' …')}" for name, text in words.items()}


def echo(prompt: InjectedContext) -> str:
    """Stands in for a model: it says what the prompt held."""
    titles = dict.fromkeys(chunk.source.title for chunk in prompt.content.rag_chunks)
    turns = len(prompt.content.history.recent_turns) + len(prompt.content.history.recalled)
    return f"(I was given {', '.join(titles) or 'no source'}, and {turns} turns of our conversation.)"


def remote(url: str, name: str) -> Model:
    """A model behind an endpoint that speaks OpenAI's chat API."""

    def ask(prompt: InjectedContext) -> str:
        body = json.dumps({"model": name, "messages": prompt.openai_messages()}).encode()
        key = os.environ.get("OPENAI_API_KEY")
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        with urlopen(Request(f"{url.rstrip('/')}/chat/completions", body, headers), timeout=120) as response:  # noqa: S310
            answer = json.load(response)
        try:
            return str(answer["choices"][0]["message"]["content"])
        except (KeyError, IndexError, TypeError):
            raise ValueError(f"{url} does not speak the chat API: {str(answer)[:200]}") from None

    return ask


def arguments() -> argparse.Namespace:
    """What was asked for on the command line."""
    parser = argparse.ArgumentParser(description="Chat over a folder of documents.")
    parser.add_argument("folder", type=Path, help="the documents: Markdown, text, HTML, PDF…")
    parser.add_argument("--url", help="an endpoint of OpenAI's chat API, up to /v1; without one, an echo")
    parser.add_argument("--model", default="gpt-4o-mini", help="the model's name there")
    parser.add_argument("--tokens", type=int, default=4096, help="the most tokens of a prompt")
    parser.add_argument("--workspace", default="chat", help="where documents and turns are kept")
    parser.add_argument("--session", default="terminal", help="which conversation it is")
    parser.add_argument("--user", default="", help="whose conversation it is; known again in other sessions")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

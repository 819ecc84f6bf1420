"""A scripted coding agent: a real program that asks a model, edits files in its folder and ends when it is refused.

Rules:
1. It finds its provider as agents do: ANTHROPIC_BASE_URL speaks Messages, OPENAI_BASE_URL Chat or Responses.
2. It writes below its working folder only.
3. It tells what it does on stdout, one line a step, and the provider's own words when it is refused.

`python -m docket.demo.agent edit` works until the model is done; `loop` never sees an end; `cheap N` asks N times;
`parallel N` asks N times at once; `idle S` asks once and then sleeps.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from docket.demo.asked import Wire
from docket.demo.client import Broken, Conversation, ModelClient, Refused, Said, Step, WantedTool
from docket.formats.dataclass import dataclass, replace

EXIT_DONE, EXIT_REFUSED, EXIT_BROKEN, EXIT_USAGE = 0, 1, 3, 2
DEFAULT_MODELS = {Wire.MESSAGES: "claude-sonnet-4-6", Wire.CHAT: "gpt-4o", Wire.RESPONSES: "gpt-5.2"}
REMEMBERED_STEPS = 3
FIRST_WAIT_SECONDS = 0.2
TASK = "Fix the spelling mistake in notes.md and keep going until the tests pass."


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """What the agent is asked to do; `count` is the N of cheap and parallel and the seconds of idle."""

    mode: str
    count: int
    base_url: str
    wire: Wire
    model: str
    streaming: bool
    max_calls: int
    pause_ms: int
    context_bytes: int = 0
    retries: int = 0


def run(options: AgentOptions, folder: Path) -> int:
    """Do it; return the exit code."""
    if options.mode == "parallel":
        return _ask_at_once(options)
    calls = options.count if options.mode == "cheap" else 1 if options.mode == "idle" else options.max_calls
    client = _client(options)
    try:
        code = _work(options, client, folder, calls)
    finally:
        client.close()
    if options.mode == "idle" and code == EXIT_DONE:
        _tell(f"sleeping {options.count} s")
        time.sleep(options.count)
    return code


def _work(options: AgentOptions, client: ModelClient, folder: Path, calls: int) -> int:
    conversation = _conversation(options)
    for number in range(1, calls + 1):
        said = _ask_patiently(options, client, conversation)
        if not isinstance(said, Said):
            return _ended(said)
        _tell(f"call {number}: {said.text or '(no words)'}")
        if not said.tools and options.mode not in ("cheap", "loop"):
            _tell("done")
            return EXIT_DONE
        results = tuple(_use(tool, folder) for tool in said.tools)
        # A real agent sends all of its history; the last steps are enough to keep every request alike in size.
        steps = (*conversation.steps, Step(said=said, results=results))[-REMEMBERED_STEPS:]
        conversation = replace(conversation, steps=steps)
        time.sleep(options.pause_ms / 1000)
    _tell(f"done after {calls} calls")
    return EXIT_DONE


def _ask_patiently(options: AgentOptions, client: ModelClient, conversation: Conversation) -> Said | Refused | Broken:
    """Ask, and ask again after what may pass: a broken connection, 429, a status from 500 on."""
    said = client.ask(conversation)
    for attempt in range(options.retries):
        if isinstance(said, Said) or (isinstance(said, Refused) and said.status != 429 and said.status < 500):
            break
        told = said.retry_after_seconds if isinstance(said, Refused) else None
        seconds = FIRST_WAIT_SECONDS * 2**attempt if told is None else told
        reason = f"HTTP {said.status}" if isinstance(said, Refused) else said.detail
        _tell(f"{reason}; trying again in {seconds:g} s")
        time.sleep(seconds)
        said = client.ask(conversation)
    return said


def _ask_at_once(options: AgentOptions) -> int:
    answers: list[Said | Refused | Broken] = []
    barrier = threading.Barrier(options.count)

    def ask() -> None:
        client = _client(options)
        barrier.wait()
        answers.append(client.ask(_conversation(options)))
        client.close()

    threads = [threading.Thread(target=ask) for _ in range(options.count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    refused = [answer for answer in answers if not isinstance(answer, Said)]
    _tell(f"{len(answers) - len(refused)} of {options.count} calls were answered")
    return _ended(refused[0]) if refused else EXIT_DONE


def _client(options: AgentOptions) -> ModelClient:
    key = os.environ.get("ANTHROPIC_API_KEY" if options.wire is Wire.MESSAGES else "OPENAI_API_KEY", "no-key")
    return ModelClient(options.base_url, options.wire, key)


def _conversation(options: AgentOptions) -> Conversation:
    return Conversation(
        model=options.model,
        task=TASK + _context(options.context_bytes),
        tools=() if options.mode == "cheap" else ("write_file", "append_file"),
        streaming=options.streaming,
    )


def _context(size_bytes: int) -> str:
    """Return text as long as what a real agent sends along with every request."""
    line = "\n- a rule of the project that goes along with every request"
    return (line * (size_bytes // len(line) + 1))[:size_bytes]


def _ended(answer: Refused | Broken) -> int:
    if isinstance(answer, Refused):
        _tell(f"refused (HTTP {answer.status}): {answer.message}")
        _tell("stopping")
        return EXIT_REFUSED
    _tell(f"the connection broke: {answer.detail}")
    return EXIT_BROKEN


def _use(tool: WantedTool, folder: Path) -> str:
    path, content = tool.arguments.get("path"), tool.arguments.get("content")
    if tool.name not in ("write_file", "append_file") or not isinstance(path, str) or not isinstance(content, str):
        return "no such tool, or its arguments are wrong"
    parts = PurePosixPath(path)
    if not path or parts.is_absolute() or ".." in parts.parts:
        return "only paths below the working folder are written"
    target = folder / parts
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("a" if tool.name == "append_file" else "w", encoding="utf-8") as stream:
            stream.write(content)
    except OSError as error:
        return f"{type(error).__name__}"
    _tell(f"  {tool.name} {path} ({len(content.encode())} bytes)")
    return "written"


def _tell(line: str) -> None:
    print(f"agent: {line}", flush=True)


def read_options(arguments: Sequence[str], environment: Mapping[str, str]) -> AgentOptions | str:
    """Return the options, or what is missing. `SystemExit` for an unusable command line, as argparse has it."""
    parser = argparse.ArgumentParser(prog="docket.demo.agent", description="A scripted coding agent.")
    parser.add_argument("mode", choices=("edit", "loop", "cheap", "parallel", "idle"))
    parser.add_argument("count", type=int, nargs="?", default=10, help="N of cheap and parallel, seconds of idle")
    parser.add_argument("--wire", choices=("messages", "chat", "responses"))
    parser.add_argument("--model")
    parser.add_argument("--no-stream", action="store_true")
    parser.add_argument("--max-calls", type=int, default=1000)
    parser.add_argument("--pause-ms", type=int, default=0)
    parser.add_argument("--context-bytes", type=int, default=0, help="text sent along with every request")
    parser.add_argument("--retries", type=int, default=0, help="times it asks again after what may pass")
    asked = parser.parse_args(arguments)
    wire = {"messages": Wire.MESSAGES, "chat": Wire.CHAT, "responses": Wire.RESPONSES, None: None}[asked.wire]
    if wire is None:
        wire = Wire.MESSAGES if environment.get("ANTHROPIC_BASE_URL") else Wire.CHAT
    variable = "ANTHROPIC_BASE_URL" if wire is Wire.MESSAGES else "OPENAI_BASE_URL"
    base_url = environment.get(variable)
    if not base_url:
        return f"{variable} is not set: the agent has no model to ask"
    return AgentOptions(
        mode=asked.mode,
        count=asked.count,
        base_url=base_url,
        wire=wire,
        model=asked.model or DEFAULT_MODELS[wire],
        streaming=not asked.no_stream,
        max_calls=asked.max_calls,
        pause_ms=asked.pause_ms,
        context_bytes=asked.context_bytes,
        retries=asked.retries,
    )


def main(arguments: Sequence[str]) -> int:
    """Run the agent in the working folder; return its exit code."""
    options = read_options(arguments, os.environ)
    if isinstance(options, str):
        print(f"agent: {options}", file=sys.stderr)
        return EXIT_USAGE
    try:
        return run(options, Path.cwd())
    except KeyboardInterrupt:
        _tell("interrupted")
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

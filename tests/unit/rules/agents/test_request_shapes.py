"""How each agent asks once it is pointed at the boundary: in small shapes of the requests it makes, from its plan's own
address to the endpoint, the model and what its stream will tell.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest

from docket.rules.agents.interface import LaunchRequest
from docket.rules.agents.registry import recognise
from docket.rules.boundary.access import Entered, knock, without_token
from docket.rules.boundary.http1 import RequestHead
from docket.rules.providers.interface import EndpointKind, RequestTarget
from docket.rules.providers.registry import provider

ORIGIN, TOKEN = "http://127.0.0.1:4000", "0123456789abcdef"
HOST = (b"Host", b"127.0.0.1:4000")
STREAM = {"stream": True}
COUNTED = {"stream": True, "stream_options": {"include_usage": True}}
SAID = {"messages": [{"role": "user", "content": "hi"}]}
CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One request: where the plan puts the agent's address, what the agent appends, which header brings the token."""

    argv: tuple[str, ...]
    address: str
    appends: str
    body: dict
    wire: str
    model: str
    header: str | None = None
    streaming: bool = True
    include_usage: bool | None = None
    environ: dict = field(default_factory=dict)


def variable(name):
    return f"env:{name}"


SHAPES = {
    "claude": Shape(
        argv=("claude", "-p", "hi"),
        address=variable("ANTHROPIC_BASE_URL"),
        appends="/v1/messages?beta=true",
        body={"model": "claude-haiku-4-5", "max_tokens": 32000, **STREAM, **SAID},
        wire="anthropic-messages",
        model="claude-haiku-4-5",
    ),
    "codex": Shape(
        argv=("codex", "exec", "hi"),
        address='argv:openai_base_url="',
        appends="/responses",
        body={"model": "gpt-5.2-codex", "input": [], "store": False, **STREAM},
        wire="openai-responses",
        model="gpt-5.2-codex",
        header=f"OpenAI-Project: docket {TOKEN}",
    ),
    "gemini": Shape(
        argv=("gemini", "-p", "hi"),
        address=variable("GOOGLE_GEMINI_BASE_URL"),
        appends="/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse",
        body=CONTENTS,
        wire="gemini",
        model="gemini-3.8-flash",
    ),
    "gemini's router": Shape(
        argv=("gemini", "-p", "hi"),
        address=variable("GOOGLE_GEMINI_BASE_URL"),
        appends="/v1beta/models/gemini-3.5-flash-lite:generateContent",
        body=CONTENTS,
        wire="gemini",
        model="gemini-3.5-flash-lite",
        streaming=False,
    ),
    "gemini on vertex": Shape(
        argv=("gemini", "-p", "hi"),
        address=variable("GOOGLE_VERTEX_BASE_URL"),
        appends="/v1beta1/projects/p/locations/global/publishers/google/models/gemini-3.8-flash:streamGenerateContent?alt=sse",
        body=CONTENTS,
        wire="gemini",
        model="gemini-3.8-flash",
    ),
    "gemini with a login": Shape(
        argv=("gemini", "-p", "hi"),
        address=variable("CODE_ASSIST_ENDPOINT"),
        appends="/v1internal:streamGenerateContent?alt=sse",
        body={"model": "gemini-3.8-flash", "request": CONTENTS},
        wire="gemini",
        model="gemini-3.8-flash",
    ),
    "opencode": Shape(
        argv=("opencode", "run", "hi"),
        address="content:anthropic",
        appends="/messages",
        body={"model": "claude-haiku-4-5", "max_tokens": 32000, **STREAM, **SAID},
        wire="anthropic-messages",
        model="claude-haiku-4-5",
        header=f"x-docket-token: {TOKEN}",
    ),
    "copilot": Shape(
        argv=("copilot", "-p", "hi"),
        address=variable("COPILOT_PROVIDER_BASE_URL"),
        appends="/chat/completions",
        body={"model": "gpt-4.1", **COUNTED, **SAID},
        wire="openai-chat",
        model="gpt-4.1",
        header=f"x-docket-token: {TOKEN}",
        include_usage=True,
        environ={"COPILOT_PROVIDER_BASE_URL": "https://api.openai.com/v1"},
    ),
    "aider": Shape(
        argv=("aider", "--message", "hi"),
        address=variable("OPENAI_API_BASE"),
        appends="/chat/completions",
        body={"model": "gpt-4o", **STREAM, **SAID},
        wire="openai-chat",
        model="gpt-4o",
        include_usage=False,
    ),
    "mini": Shape(
        argv=("mini", "-t", "hi"),
        address=variable("OPENAI_API_BASE"),
        appends="/chat/completions",
        body={"model": "gpt-4o", **SAID},
        wire="openai-chat",
        model="gpt-4o",
        streaming=False,
    ),
    "qwen": Shape(
        argv=("qwen", "-p", "hi"),
        address=variable("OPENAI_BASE_URL"),
        appends="/chat/completions",
        body={"model": "gpt-4.1", **COUNTED, **SAID},
        wire="openai-chat",
        model="gpt-4.1",
        include_usage=True,
    ),
    "pi": Shape(
        argv=("pi", "-p", "hi"),
        address="extension:openai",
        appends="/responses",
        body={"model": "gpt-4.1", "input": [], "store": False, **STREAM},
        wire="openai-responses",
        model="gpt-4.1",
        header=f"x-docket-token: {TOKEN}",
    ),
    "pi with google": Shape(
        argv=("pi", "-p", "hi"),
        address="extension:google",
        appends="/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
        body=CONTENTS,
        wire="gemini",
        model="gemini-2.5-flash",
        header=f"x-docket-token: {TOKEN}",
    ),
    "cline": Shape(
        argv=("cline", "-P", "anthropic", "hi"),
        address="providers:anthropic",
        appends="/messages",
        body={"model": "claude-haiku-4-5", "max_tokens": 8192, **STREAM, **SAID},
        wire="anthropic-messages",
        model="claude-haiku-4-5",
        header=f"x-docket-token: {TOKEN}",
    ),
}


def address_in(planned, place):
    kind, _, name = place.partition(":")
    if kind == "env":
        return planned.env_set[name]
    if kind == "argv":
        (word,) = [word for word in planned.argv if word.startswith(name)]
        return word.removeprefix(name).rstrip('"')
    if kind == "content":
        return json.loads(planned.env_set["OPENCODE_CONFIG_CONTENT"])["provider"][name]["options"]["baseURL"]
    text = planned.files[0].data.decode()
    if kind == "extension":
        (line,) = [line for line in text.splitlines() if f'"{name}", ' in line]
        return json.loads(line.partition(", ")[2].removesuffix(");"))["baseUrl"]
    return json.loads(text)["providers"][name]["settings"]["baseUrl"]


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_request_finds_its_endpoint(shape):
    request = LaunchRequest(
        argv=shape.argv, environ={"HOME": "/h", **shape.environ}, base_url=f"{ORIGIN}/{TOKEN}", run_dir="/run/d"
    )
    planned = recognise(shape.argv).plan(request)
    target = (address_in(planned, shape.address) + shape.appends).removeprefix(ORIGIN)
    fields = [HOST]
    if shape.header is not None:
        name, _, value = shape.header.partition(": ")
        fields.append((name.encode(), value.encode()))
        assert TOKEN not in target
    head = RequestHead(method="POST", target=target, headers=tuple(fields))
    entered = knock(head, TOKEN)
    assert isinstance(entered, Entered)
    assert without_token(head).headers == (HOST,)
    endpoint = provider(entered.provider).classify("POST", entered.rest)
    assert endpoint.kind is EndpointKind.BILLED
    facts = endpoint.wire.read_request(json.dumps(shape.body).encode(), RequestTarget(path=entered.rest))
    assert (endpoint.wire.name, facts.model, facts.streaming) == (shape.wire, shape.model, shape.streaming)
    if shape.wire == "openai-chat" and shape.streaming:
        assert bool(facts.include_usage) is shape.include_usage
        # A stream that does not ask for usage is only asked for it where the recipe says that the agent bears it.
        assert shape.include_usage or planned.tolerates_usage_injection

"""The scripted agent against the scripted provider, as a program and piece by piece."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from docket.demo.agent import DEFAULT_MODELS, AgentOptions, main, read_options, run
from docket.demo.asked import Wire
from docket.demo.client import (
    Broken,
    Conversation,
    ModelClient,
    Refused,
    Said,
    Step,
    WantedTool,
    read_reply,
    request_body,
)
from docket.demo.provider import ScriptedProvider
from docket.demo.script import Cut, Failure, Script, ToolCall, Turn

WRITE = ToolCall(name="write_file", arguments={"path": "sub/notes.md", "content": "the\n"})
APPEND = ToolCall(name="append_file", arguments={"path": "log", "content": "try\n"})
REFUSAL = Turn(failure=Failure(status=400, code="max_usd", message="the cap of 0.05 USD is reached"))


def options_for(provider, mode, wire=Wire.MESSAGES, count=1, streaming=True):
    url = provider.url if wire is Wire.MESSAGES else provider.url + "/v1"
    return AgentOptions(
        mode=mode, count=count, base_url=url, wire=wire, model="m", streaming=streaming, max_calls=20, pause_ms=0
    )


@pytest.mark.parametrize("streaming", [True, False], ids=["stream", "json"])
@pytest.mark.parametrize("wire", list(DEFAULT_MODELS))
class TestOverEveryWire:
    def test_edit_works_until_the_model_is_done(self, tmp_path, capsys, wire, streaming):
        script = Script(turns=(Turn(text="On it.", tool_calls=(WRITE, APPEND)), Turn(text="Finished.")))
        with ScriptedProvider(script) as provider:
            assert run(options_for(provider, "edit", wire, streaming=streaming), tmp_path) == 0
        assert (tmp_path / "sub/notes.md").read_text() == "the\n"
        assert (tmp_path / "log").read_text() == "try\n"
        assert len(provider.calls) == 2
        assert capsys.readouterr().out.splitlines()[-2:] == ["agent: call 2: Finished.", "agent: done"]

    def test_loop_goes_on_until_it_is_refused_and_says_why(self, tmp_path, capsys, wire, streaming):
        script = Script(turns=(*[Turn(text="Again.", tool_calls=(APPEND,))] * 4, REFUSAL))
        with ScriptedProvider(script) as provider:
            assert run(options_for(provider, "loop", wire, streaming=streaming), tmp_path) == 1
        assert (tmp_path / "log").read_text() == "try\n" * 4
        assert len(provider.calls) == 5
        assert "refused (HTTP 400): the cap of 0.05 USD is reached" in capsys.readouterr().out

    def test_a_broken_connection_is_no_refusal(self, tmp_path, capsys, wire, streaming):
        with ScriptedProvider(Script(turns=(Turn(text="x" * 300, cut=Cut(after_bytes=100)),))) as provider:
            assert run(options_for(provider, "edit", wire, streaming=streaming), tmp_path) == 3
        assert "the connection broke" in capsys.readouterr().out

    def test_a_body_without_its_end_is_broken(self, tmp_path, wire, streaming):
        with ScriptedProvider(Script(turns=(Turn(text="x" * 300, cut=Cut(after_bytes=100, clean=True)),))) as provider:
            assert run(options_for(provider, "edit", wire, streaming=streaming), tmp_path) == 3


@pytest.mark.parametrize("wire", [Wire.MESSAGES, Wire.CHAT, Wire.RESPONSES])
def test_an_error_in_a_stream_is_a_refusal(tmp_path, wire, capsys):
    turn = Turn(failure=Failure(code="insufficient_quota", message="no money left", in_band=True))
    with ScriptedProvider(Script(turns=(turn,))) as provider:
        assert run(options_for(provider, "edit", wire), tmp_path) == 1
    assert "refused (HTTP 200): no money left" in capsys.readouterr().out


def test_it_asks_again_after_what_may_pass_where_it_is_told_to(tmp_path, capsys):
    busy = Turn(failure=Failure(status=429, message="slower"), headers={"retry-after": "0"})
    broken, down = Turn(cut=Cut()), Turn(failure=Failure(status=500, message="down"), headers={"retry-after": "0"})
    script = Script(turns=(busy, down, broken, Turn(text="Finished.")))
    with ScriptedProvider(script) as provider:
        assert run(replace(options_for(provider, "edit"), retries=3), tmp_path) == 0
        assert len(provider.calls) == 4
    said = capsys.readouterr().out
    assert "agent: HTTP 429; trying again in 0 s" in said
    assert "trying again in 0.8 s" in said


def test_it_asks_no_more_often_than_it_may_and_never_after_a_final_word(tmp_path):
    down = Turn(failure=Failure(status=500, message="down"), headers={"retry-after": "0"})
    for turn, calls in ((down, 3), (REFUSAL, 1)):
        with ScriptedProvider(Script(turns=(turn,))) as provider:
            assert run(replace(options_for(provider, "edit"), retries=2), tmp_path) == 1
            assert len(provider.calls) == calls


def test_cheap_asks_just_so_often(tmp_path):
    with ScriptedProvider(Script(turns=(Turn(text="ok"),))) as provider:
        assert run(options_for(provider, "cheap", count=7), tmp_path) == 0
    assert len(provider.calls) == 7
    assert list(tmp_path.iterdir()) == []


def test_parallel_asks_all_at_once_and_counts(tmp_path, capsys):
    with ScriptedProvider(Script(turns=(Turn(text="ok"), Turn(text="ok"), REFUSAL))) as provider:
        assert run(options_for(provider, "parallel", count=8), tmp_path) == 1
    assert len(provider.calls) == 8
    assert "2 of 8 calls were answered" in capsys.readouterr().out


def test_parallel_without_a_refusal_is_a_success(tmp_path):
    with ScriptedProvider(Script(turns=(Turn(text="ok"),))) as provider:
        assert run(options_for(provider, "parallel", count=3), tmp_path) == 0


def test_idle_asks_once_and_waits(tmp_path, capsys):
    with ScriptedProvider(Script(turns=(Turn(text="ok"),))) as provider:
        assert run(options_for(provider, "idle", count=0), tmp_path) == 0
    assert len(provider.calls) == 1
    assert "sleeping 0 s" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("write_file", {"path": "/etc/x", "content": ""}, "only paths below"),
        ("write_file", {"path": "a/../../x", "content": ""}, "only paths below"),
        ("write_file", {"path": "", "content": ""}, "only paths below"),
        ("write_file", {"path": 1, "content": ""}, "no such tool"),
        ("run", {"path": "a", "content": ""}, "no such tool"),
        ("write_file", {"path": "folder", "content": ""}, "IsADirectoryError"),
    ],
)
def test_it_writes_below_its_folder_only(tmp_path, name, arguments, result):
    (tmp_path / "work/folder").mkdir(parents=True)
    script = Script(turns=(Turn(tool_calls=(ToolCall(name=name, arguments=arguments),)), Turn(text="end")))
    with ScriptedProvider(script, keep_bodies=True) as provider:
        run(options_for(provider, "edit"), tmp_path / "work")
    assert [path.name for path in tmp_path.rglob("*")] == ["work", "folder"]
    told = json.loads(provider.calls[1].body)["messages"][2]["content"][0]["content"]
    assert told.startswith(result)


class TestOptions:
    def test_provider_by_environment(self):
        both = {"ANTHROPIC_BASE_URL": "http://a", "OPENAI_BASE_URL": "http://o"}
        assert read_options(["loop"], both).base_url == "http://a"
        assert read_options(["loop", "--wire", "chat"], both).base_url == "http://o"
        chat = read_options(["cheap", "5"], {"OPENAI_BASE_URL": "http://o"})
        assert (chat.wire, chat.count, chat.mode) == (Wire.CHAT, 5, "cheap")

    def test_no_provider_is_a_sentence(self, capsys, monkeypatch):
        monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
        monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
        assert main(["loop"]) == 2
        assert "OPENAI_BASE_URL is not set" in capsys.readouterr().err


def test_as_a_program(tmp_path):
    with ScriptedProvider(Script(turns=(Turn(tool_calls=(WRITE,)), Turn(text="end")))) as provider:
        environment = os.environ | {"ANTHROPIC_BASE_URL": provider.url}
        command = [sys.executable, "-m", "docket.demo.agent", "edit"]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "sub/notes.md").exists()


def test_nobody_listens(tmp_path):
    client = ModelClient("http://127.0.0.1:9", Wire.CHAT, "k")
    answer = client.ask(Conversation(model="m", task="t"))
    client.close()
    assert isinstance(answer, Broken)


@pytest.mark.parametrize(("sent", "message"), [(b"<html>bad gateway", "<html>bad gateway"), (b"", "no message")])
def test_a_refusal_that_is_not_json_shows_what_came(sent, message):
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = ModelClient(f"http://127.0.0.1:{server.getsockname()[1]}", Wire.CHAT, "k", timeout_seconds=10)

        def serve():
            peer, _ = server.accept()
            with peer:
                peer.recv(65536)
                peer.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: %d\r\n\r\n%b" % (len(sent), sent))

        thread = threading.Thread(target=serve)
        thread.start()
        answer = client.ask(Conversation(model="m", task="t"))
        thread.join()
        client.close()
    assert answer == Refused(status=502, message=message)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"content": 1}', b"\xff", b'{"content":[{"type":"text"}]}'])
@pytest.mark.parametrize("wire", list(DEFAULT_MODELS))
def test_replies_that_cannot_be_read_are_broken(wire, data):
    assert isinstance(read_reply(wire, data, streaming=False), Broken)


STEPS = (
    Step(said=Said(text="first", tools=(WantedTool(id="t1", name="edit", arguments={"a": 1}),)), results=("ok",)),
    Step(said=Said(text="second", tools=()), results=()),
)


def test_a_conversation_in_messages():
    body = request_body(Wire.MESSAGES, Conversation(model="m", task="do", steps=STEPS, tools=("edit",)))
    assert body["max_tokens"] == 1024
    assert body["tools"][0]["name"] == "edit"
    assert body["messages"] == [
        {"role": "user", "content": "do"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "first"},
                {"type": "tool_use", "id": "t1", "name": "edit", "input": {"a": 1}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "second"}]},
        {"role": "user", "content": "go on"},
    ]


def test_a_conversation_in_chat():
    body = request_body(Wire.CHAT, Conversation(model="m", task="do", steps=STEPS, tools=("edit",)))
    assert body["stream_options"] == {"include_usage": True}
    assert body["tools"][0]["function"]["name"] == "edit"
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "tool", "assistant", "user"]
    assert body["messages"][1]["tool_calls"][0]["function"] == {"name": "edit", "arguments": '{"a": 1}'}
    assert body["messages"][2] == {"role": "tool", "tool_call_id": "t1", "content": "ok"}


def test_a_conversation_in_responses():
    body = request_body(Wire.RESPONSES, Conversation(model="m", task="do", steps=STEPS, streaming=False))
    assert "tools" not in body
    assert body["stream"] is False
    assert body["input"] == [
        {"role": "user", "content": "do"},
        {"role": "assistant", "content": "first"},
        {"type": "function_call", "call_id": "t1", "name": "edit", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "t1", "output": "ok"},
        {"role": "assistant", "content": "second"},
    ]

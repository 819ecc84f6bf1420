"""`docket.Session` against a real boundary in the same process: what it answers, refuses and keeps to itself."""

from __future__ import annotations

import hashlib
import socket
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import docket
from boundary_rig.rig import TOKEN, Rig, boundary
from docket.errors import UnavailableError, UsageError
from docket.formats.amount import Usd
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import CapsPolicy
from docket.surfaces.sdk.door import Door
from docket.surfaces.sdk.material import size_and_digest

SECRET = "sess10n-t0ken_of_the_rig"


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    policy = Policy(caps=CapsPolicy(max_usd=Usd.parse("2.50")))
    with boundary(tmp_path, "http://127.0.0.1:9", policy=policy, name="openai", session_token=SECRET) as running:
        monkeypatch.setenv("DOCKET_SESSION_URL", f"http://127.0.0.1:{running.port}/{SECRET}/docket")
        yield running


def test_a_session_that_joins_knows_the_run(rig: Rig) -> None:
    with docket.Session() as session:
        assert session.docket_number == "DKT-20260101-ABCDEF"
        assert (session.spent, session.remaining) == (Decimal(0), Decimal("2.50"))
        assert session.base_url("openai") == f"http://127.0.0.1:{rig.port}/{TOKEN}/openai/v1"
        assert not session.is_own_run
        with pytest.raises(UsageError, match="no provider is called 'gemini' here; known: openai"):
            session.base_url("gemini")
        environment = session.environ()
        assert environment["OPENAI_BASE_URL"] == session.base_url("openai")
        assert "ANTHROPIC_BASE_URL" not in environment
        assert environment["DOCKET_SESSION_URL"].endswith(f"{SECRET}/docket")
    assert (session.spent, session.receipt_path, session.problems) == (Decimal(0), None, ())


def test_a_session_is_entered_once_and_used_within(rig: Rig) -> None:
    session = docket.Session()
    for use in (lambda: session.docket_number, lambda: session.base_url("openai"), lambda: session.note("x", "y")):
        with pytest.raises(UsageError, match="not open"):
            use()
    with session, pytest.raises(UsageError, match="entered already"):
        session.__enter__()


def test_what_is_said_too_late_breaks_nothing(rig: Rig) -> None:
    with docket.Session() as session:
        late = session.tool_call("late")
    assert session.note("x", "y") is False
    with late:
        pass
    assert [problem.detail for problem in session.problems] == [
        f"{type_} was said after the session had been left" for type_ in ("note", "tool.call", "tool.result")
    ]
    with docket.Session(strict=True) as strict:
        pass
    with pytest.raises(UsageError, match="after the session had been left"):
        strict.note("x", "y")


class Wordless:
    """A value that cannot say what it is."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")


def test_no_value_of_a_tool_breaks_the_tool(rig: Rig) -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with docket.Session() as session:
        with session.tool_call("x", Wordless()) as use:
            use.result({Wordless(): 1})
        assert session.note("x", "y", deep) is False
    assert [problem.reason for problem in session.problems] == ["wrong-type"]


def test_what_is_refused_is_a_problem_and_with_strict_an_error(rig: Rig) -> None:
    with docket.Session() as session:
        assert session.note("Not A Code", "x") is False
        assert session.event("note", {"code": "x", "message": object()}) is False
        assert session.event("session.end", {}) is False
        assert [problem.reason for problem in session.problems] == ["wrong-value", "wrong-type", "wrong-value"]
        assert "code is of 1 to 64" in session.problems[0].detail
    with docket.Session(strict=True) as strict:
        assert strict.note("ok", "x") is True
        with pytest.raises(UsageError, match="code is of 1 to 64"):
            strict.note("Not A Code", "x")
        with pytest.raises(UsageError, match="written as JSON"):
            strict.note("x", "y", {"a": object()})
    assert [item["code"] for item in rig.data("note")] == ["ok"]


def test_problems_are_bounded(rig: Rig) -> None:
    with docket.Session() as session:
        for _ in range(120):
            session.note("Not A Code", "x")
    assert len(session.problems) == 100


def test_a_tool_that_fails_within_and_says_so_is_one_failure(rig: Rig) -> None:
    with docket.Session() as session:
        try:
            with session.tool_call("bash", b"ls") as tool:
                tool.fail("it was not there")
                raise KeyError("x")
        except KeyError:
            pass
        with session.tool_call("bash") as tool:
            tool.result({"b": 1, "a": [True, None]})
    first, second = rig.data("tool.result")
    assert (first["ok"], first["error"]) == (False, "it was not there")
    assert second["result_bytes"] == len('{"a":[true,null],"b":1}')
    assert rig.data("tool.call")[0]["input_sha256"] == hashlib.sha256(b"ls").hexdigest()


def test_a_boundary_that_has_gone_is_a_problem(rig: Rig) -> None:
    session = docket.Session()
    session.__enter__()
    rig.stop()
    assert session.note("x", "y") is False
    assert session.problems[0].reason == "upstream_unreachable"
    session.__exit__(None, None, None)
    assert session.spent == Decimal(0)


@pytest.mark.parametrize(
    "url",
    ["https://127.0.0.1:1/x", "http://evil.example:1/x", "http://127.0.0.1/x", "http://127.0.0.1:99999/x", "", "x"],
)
def test_an_address_that_is_none_of_this_machines_boundaries_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        Door(url)


def test_a_token_that_is_not_the_sessions_is_told(rig: Rig) -> None:
    door = Door(f"http://127.0.0.1:{rig.port}/{TOKEN}/docket")
    with pytest.raises(UnavailableError, match="does not know this session"):
        door.session()
    door.close()


@pytest.mark.parametrize(
    "answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nno", b"\xff"]
)
def test_whatever_answers_in_the_boundarys_place_is_an_error_of_docket(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        door = Door(f"http://127.0.0.1:{server.getsockname()[1]}/t/docket")
        with pytest.raises(UnavailableError, match="does not answer"):
            door.session()
        door.close()
        thread.join()


def test_a_kept_connection_that_was_closed_is_opened_anew(rig: Rig) -> None:
    door = Door(f"http://127.0.0.1:{rig.port}/{SECRET}/docket")
    assert door.session()["calls"] == 0
    assert door._connection is not None
    assert door._connection.sock is not None
    door._connection.sock.shutdown(socket.SHUT_RDWR)
    assert door.session()["calls"] == 0
    door.close()


def test_an_option_that_is_none_is_named() -> None:
    with pytest.raises(TypeError, match="no option 'max_dollars'"):
        docket.Session(max_dollars=1)  # type: ignore[call-arg]
    with pytest.raises(AttributeError, match="no attribute 'Sessions'"):
        _ = docket.Sessions  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (b"x", b"x"), (bytearray(b"x"), b"x"), (memoryview(b"xy"), b"xy"), ("caf\u00e9", "caf\u00e9".encode()),
        ("\udc80", b"\xed\xb2\x80"), ({"b": 1.5, "a": "\u00e9"}, '{"a":"\u00e9","b":1.5}'.encode()), (None, b"null"),
        (Path("/x"), b'"PosixPath(\'/x\')"'), ({1: 2, "a": 3}, b"{1: 2, 'a': 3}"), ([], b"[]"),
    ],
)  # fmt: skip
def test_size_and_digest_are_of_bytes_text_or_json(value: object, data: bytes) -> None:
    assert size_and_digest(value) == (len(data), hashlib.sha256(data).hexdigest())


def test_a_circle_has_a_digest_too() -> None:
    circle: list[object] = []
    circle.append(circle)
    assert size_and_digest(circle) == (7, hashlib.sha256(b"[[...]]").hexdigest())

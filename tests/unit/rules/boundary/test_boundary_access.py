import pytest

from docket.rules.boundary.access import TELL_EVERY_NS, Door, Entered, TurnawayCounter, TurnedAway, knock, without_token
from docket.rules.boundary.http1 import RequestHead

HOST = (b"Host", b"127.0.0.1:8080")


def head(target: str, *headers: tuple[bytes, bytes], method: str = "POST") -> RequestHead:
    return RequestHead(method=method, target=target, headers=headers or (HOST,))


@pytest.mark.parametrize(
    ("target", "provider", "rest"),
    [
        ("/tok/anthropic/v1/messages?beta=true", "anthropic", "/v1/messages?beta=true"),
        ("/tok//anthropic//v1//x%2Fy", "anthropic", "/v1//x%2Fy"),
        ("/tok/anthropic", "anthropic", "/"),
        ("/tok/anthropic?a=/b", "anthropic", "/?a=/b"),
        ("/tok", "", "/"),
        ("/tok/", "", "/"),
    ],
)
def test_the_token_is_cut_off(target, provider, rest):
    assert knock(head(target), "tok") == Entered(provider, rest)


TOKEN = (b"X-Docket-Token", b"tok")


@pytest.mark.parametrize(
    ("target", "fields", "provider", "rest"),
    [
        ("/anthropic/v1/messages?beta=true", [TOKEN], "anthropic", "/v1/messages?beta=true"),
        ("/tok/anthropic/v1", [TOKEN], "anthropic", "/v1"),
        ("/tok/anthropic/v1", [(b"X-Docket-Token", b"of another run")], "anthropic", "/v1"),
        ("/openai/v1", [(b"x-docket-token", b"wrong"), TOKEN], "openai", "/v1"),
        ("/openai/v1", [(b"OpenAI-Project", b"docket tok")], "openai", "/v1"),
        ("/openai/v1", [(b"openai-project", b"docket tok proj_1")], "openai", "/v1"),
        ("/", [TOKEN], "", "/"),
    ],
)
def test_the_token_may_stand_in_a_header(target, fields, provider, rest):
    assert knock(head(target, HOST, *fields), "tok") == Entered(provider, rest)


@pytest.mark.parametrize(
    "fields",
    [
        [(b"x-docket-token", b"tokk")],
        [(b"x-docket-token", b"")],
        [(b"x-docket-token", b"t\xf6k")],
        [(b"x-docket-tokens", b"tok")],
        [(b"openai-project", b"tok")],
        [(b"openai-project", b"docket")],
        [(b"openai-project", b"docket proj tok")],
        [(b"openai-organization", b"docket tok")],
    ],
)
def test_another_header_lets_nobody_in(fields):
    assert knock(head("/openai/v1", HOST, *fields), "tok") == TurnedAway(Door.NO_TOKEN)


def test_no_provider_sees_the_token():
    own = (b"Authorization", b"Bearer k")
    carried = (b"OpenAI-Project", b"docket tok proj_1")
    assert without_token(head("/x", HOST, TOKEN, own, carried)).headers == (HOST, own, (b"OpenAI-Project", b"proj_1"))
    assert without_token(head("/x", HOST, (b"openai-project", b"docket tok"))).headers == (HOST,)
    # A run within a run: each boundary takes its own.
    twice = (b"openai-project", b"docket tok docket outer proj_1")
    assert without_token(head("/x", HOST, twice)).headers == (HOST, (b"openai-project", b"docket outer proj_1"))
    plain = head("/x", HOST, own, (b"openai-project", b"proj_1"))
    assert without_token(plain) is plain


def test_a_record_shows_no_query():
    entered = Entered("anthropic", "/v1/messages?key=secret")
    assert entered.path == "/v1/messages"
    assert entered.recorded_path == "/anthropic/v1/messages"


@pytest.mark.parametrize(
    ("target", "headers", "method", "kind"),
    [
        ("/tokk/x", (), "POST", Door.NO_TOKEN),
        ("/to/x", (), "POST", Door.NO_TOKEN),
        ("/", (), "POST", Door.NO_TOKEN),
        ("/\xe9/x", (), "POST", Door.NO_TOKEN),
        ("/tok/x", ((b"Host", b"evil.example"),), "POST", Door.FOREIGN_HOST),
        ("/tok/x", ((b"Host", b"127.0.0.1.evil.example"),), "POST", Door.FOREIGN_HOST),
        ("/tok/x", (HOST, HOST), "POST", Door.FOREIGN_HOST),
        ("/tok/x", ((b"X", b"y"),), "POST", Door.FOREIGN_HOST),
        ("/tok/x", (HOST, (b"Origin", b"http://evil.example")), "POST", Door.FOREIGN_ORIGIN),
        ("/tok/x", (HOST, (b"Origin", b"null")), "POST", Door.FOREIGN_ORIGIN),
        ("/tok/x", (HOST, (b"Origin", b"file://localhost")), "POST", Door.FOREIGN_ORIGIN),
        ("evil.example:443", (), "CONNECT", Door.CONNECT),
        ("http://evil.example/tok/x", (), "GET", Door.ABSOLUTE_FORM),
        ("*", (), "OPTIONS", Door.ABSOLUTE_FORM),
    ],
)
def test_who_is_turned_away(target, headers, method, kind):
    assert knock(head(target, *headers, method=method), "tok") == TurnedAway(kind)


@pytest.mark.parametrize("host", [b"localhost", b"LOCALHOST:1", b"[::1]:65535", b"127.0.0.1"])
def test_this_machine_by_any_of_its_names(host):
    own = (b"Origin", b"http://localhost:3000")
    assert knock(head("/tok/a/b", (b"Host", host), own), "tok") == Entered("a", "/b")


def test_turned_away_requests_are_told_at_once_then_rarely_then_at_the_end():
    counter = TurnawayCounter()
    first = counter.count(Door.NO_TOKEN, 5)
    assert (first.count, first.kind, first.reason) == (1, "no-token", "bad_token")
    assert counter.count(Door.NO_TOKEN, 6) is None
    assert counter.count(Door.CONNECT, 6).count == 1
    assert counter.count(Door.NO_TOKEN, 4 + TELL_EVERY_NS) is None
    assert counter.count(Door.NO_TOKEN, 5 + TELL_EVERY_NS).count == 3
    counter.count(Door.NO_TOKEN, 6 + TELL_EVERY_NS)
    counter.count(Door.CONNECT, 7)
    assert [(event.kind, event.count) for event in counter.rest()] == [("connect", 1), ("no-token", 1)]
    assert counter.rest() == ()
    assert counter.total == 7

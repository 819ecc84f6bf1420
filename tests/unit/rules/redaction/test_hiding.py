"""How single values are hidden: requests' paths, command lines, secrets, names; and what is no record to be copied."""

from __future__ import annotations

from typing import Any

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.ledger.redaction_facts import Profile
from docket.rules.redaction.collect import collected
from docket.rules.redaction.copy import CopyAsked, redacted
from docket.rules.redaction.hide import Hider
from docket.rules.redaction.names import Names
from docket.rules.redaction.secrets import argv_without_secrets, has_form, without_secrets
from golden_ledgers import elsewhere, samples
from golden_ledgers.build import start


def hider(*profiles: Profile, hidden: tuple[str, ...] = (), hosts: tuple[str, ...] = ()) -> Hider:
    return Hider(frozenset(profiles), Names(key=b"k" * 32, paths=(b"a", b"b"), hosts=hosts, hidden=hidden))


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/v1/messages", "/v1/messages"),
        ("/openai/deployments/blue/chat/completions?v=7", "/openai/deployments/[redacted]/chat/completions?[redacted]"),
        ("/v1/projects/acme-42/locations/eu/publishers/google/models/gem:generateContent",
         "/v1/projects/[redacted]/locations/[redacted]/publishers/google/models/gem:generateContent"),
        ("/model/gem/invoke", "/model/gem/invoke"),
        ("/v1/messages:x-1", "/v1/[redacted]"),
    ],
)  # fmt: skip
def test_the_path_of_a_request_keeps_the_words_of_apis_and_the_model(path: str, shown: str) -> None:
    data = {"provider": "p", "method": "POST", "path": path, "model": "gem"}
    assert hider(Profile.HOSTS).event("model.request", data)["path"] == shown
    assert hider(Profile.ARGV).event("model.request", data)["path"] == path


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("key sk-proj-abcdefghij0123456789 end", "key [secret] end"),
        ("AKIAABCDEFGHIJKLMNOP", "[secret]"),
        ("ghp_abcdefghij0123456789x", "[secret]"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.c2ln", "[secret]"),
        ("Authorization: Bearer abcdefghijkl0123", "Authorization: Bearer [secret]"),
        ("https://user:pass@host/x", "https://[secret]@host/x"),
        ("DB_PASSWORD=hunter2 rest", "DB_PASSWORD=[secret] rest"),
        ('{"api_key": "abc def"}', '{"api_key": [secret]}'),
        ("-----BEGIN RSA PRIVATE KEY-----\nx\n-----END RSA PRIVATE KEY----- after", "[secret] after"),
        ("-----BEGIN PRIVATE KEY-----\ncut off", "[secret]"),
        ("task-abcdefghijklmnopqrst", "task-abcdefghijklmnopqrst"),
        ("a token of thanks", "a token of thanks"),
        ("basic training", "basic training"),
    ],
)
def test_secrets_of_known_forms_are_found_and_nothing_else(text: str, shown: str) -> None:
    assert without_secrets(text) == shown
    assert without_secrets(shown) == shown


def test_a_secret_behind_an_option_of_a_command_line() -> None:
    words = ["curl", "--token", "abc", "-password", "x y", "--token=abc", "--tokens-left", "5"]
    assert argv_without_secrets(words) == [
        "curl", "--token", "[secret]", "-password", "[secret]", "--token=[secret]", "--tokens-left", "5",
    ]  # fmt: skip
    assert has_form("x AKIAABCDEFGHIJKLMNOP")
    assert not has_form("x password=y")


@pytest.mark.parametrize(
    ("profiles", "shown"),
    [
        ((Profile.ARGV,), ["[redacted]"]),
        ((Profile.PATHS,), ["run", "[redacted]", "[redacted]", "https", "[redacted]", "x-[redacted]-y"]),
        ((Profile.HOSTS,), ["run", "a/b", "~", "https", "[redacted]", "x-wombat-y"]),
        ((Profile.SECRETS,), ["run", "a/b", "~", "https", "http://me.example/p", "x-wombat-y"]),
    ],
)
def test_words_of_a_command_line_that_may_be_what_is_hidden_go(profiles: tuple[Profile, ...], shown: list[str]) -> None:
    argv = ["run", "a/b", "~", "https", "http://me.example/p", "x-wombat-y"]
    words = ("src/wombat",) if Profile.PATHS in profiles else ()
    hidden = hider(*profiles, hidden=words)
    data = {"argv": argv, "argv_b64": ["eA=="] * 6, "cwd": "/x", "cwd_b64": "L3g="}
    event = hidden.event("proc.spawn", data)
    assert event["argv"] == shown
    # Exact bytes stay only beside a text that stays.
    assert ("argv_b64" in event) == (shown == argv)
    assert ("cwd_b64" in event) == (Profile.PATHS not in profiles)


def test_names_lose_what_is_hidden_elsewhere_the_longest_first() -> None:
    names = Names(key=b"k", paths=(), hosts=(), hidden=("src/wombat/wombats.py", "abc"))
    assert names.swept("mcp__wombats.py__wombat_abc") == "mcp__[redacted]__[redacted]_abc"
    assert names.swept("womba") == "womba"


def test_paths_and_hosts_are_numbered_in_their_order_with_as_many_digits() -> None:
    names = Names(key=b"k", paths=[b"%d" % at for at in range(12)], hosts=("b", "a"), hidden=())
    assert names.path(b"0") == "[path-01]"
    assert names.path(b"9") == "[path-12]"
    assert (names.host("a"), names.host("b")) == ("[host-1]", "[host-2]")


def test_a_digest_is_keyed_and_as_long_as_it_was() -> None:
    # printf %s abcd1234abcd1234 | openssl dgst -sha256 -hmac kkkk
    digest = Names(key=b"kkkk", paths=(), hosts=(), hidden=()).digest("abcd1234abcd1234")
    assert digest == "dbabdf88ff4f5e1b"
    assert len(digest) == 16


def test_a_path_with_a_secret_in_it_is_a_path_that_is_hidden() -> None:
    names = Names(key=b"k", paths=(b"AKIAABCDEFGHIJKLMNOP.txt", b"b"), hosts=(), hidden=())
    hidden = Hider(frozenset((Profile.SECRETS,)), names)
    assert hidden.event("fs.change", {"path": "AKIAABCDEFGHIJKLMNOP.txt", "change": "added"})["path"] == "[path-1]"
    assert hidden.event("fs.change", {"path": "b", "change": "added"})["path"] == "b"
    assert hidden.replaced == 1


def test_the_account_of_a_provider_goes_with_hosts() -> None:
    data = {"provider_request_id": "req-7"}
    assert hider(Profile.HOSTS).event("model.response", data) == {}
    assert hider(Profile.ARGV).event("model.response", data) == data


def test_sections_of_the_policy_that_name_paths_and_hosts() -> None:
    document: dict[str, Any] = {
        "name": "p", "files": {"watch": [".", "x"], "ignore": ["y"]}, "upstreams": {"openai": "http://h"},
        "egress": {"mode": "tunnel", "allow": ["h"]}, "proof": {"sign": "/k", "seal": True}, "odd": 7,
        "caps": {"max_usd": "1.00", "words": ["token=abc"], "deep": {"a": 1}},
    }  # fmt: skip

    def under(*profiles: Profile) -> Any:
        return hider(*profiles).event("policy.applied", {"name": "p", "digest": "d", "document": document})["document"]

    assert under(Profile.PATHS)["files"] == {"watch": [".", "[redacted]"], "ignore": ["[redacted]"]}
    assert under(Profile.PATHS)["proof"] == {"sign": "[redacted]", "seal": True}
    assert under(Profile.PATHS)["upstreams"] == document["upstreams"]
    assert under(Profile.HOSTS)["upstreams"] == {"openai": "[redacted]"}
    assert under(Profile.HOSTS)["egress"] == {"mode": "tunnel", "allow": ["[redacted]"]}
    assert under(Profile.SECRETS)["caps"]["words"] == ["token=[secret]"]
    # What stands under a key that nobody knows is taken for anything.
    assert under(Profile.ARGV) == document | {"caps": {"max_usd": "1.00", "words": ["[redacted]"], "deep": {"a": 1}}}
    assert hider(Profile.ARGV).event("policy.applied", {"document": 7}) == {"document": 7}


def test_details_of_a_remark_go_or_are_swept() -> None:
    data = {"code": "c", "message": "m", "detail": {"a": ["token=abc", 1, {"b": None}]}}
    assert hider(Profile.PATHS).event("note", data) == {"code": "c", "message": "[redacted]", "detail": {}}
    assert hider(Profile.SECRETS).event("note", data)["detail"] == {"a": ["token=[secret]", 1, {"b": None}]}


def test_hosts_have_names_only_where_hosts_are_hidden() -> None:
    data = {"reason": "egress", "kind": "tunnel", "count": 1, "host": "h.example"}
    assert hider(Profile.HOSTS, hosts=("h.example",)).event("net.denied", data)["host"] == "[host-1]"
    assert hider(Profile.PATHS, hidden=("example",)).event("net.denied", data)["host"] == "h.[redacted]"


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ([], "another writer's"),
        (elsewhere.ledger().events, "another writer's"),
        (samples.hidden().events, "a redacted copy already"),
        (samples.busy().events, "a type of event that this version does not know"),
    ],
)
def test_what_is_no_record_to_be_copied_is_refused(events: list[Any], why: str) -> None:
    with pytest.raises(InvalidDocumentError, match=why):
        redacted(events, CopyAsked(profiles=frozenset((Profile.PATHS,)), key=b"k", opening=b"o" * 32))


def test_a_copy_that_is_signed_names_its_key_and_no_run_before() -> None:
    builder = samples.numbered()
    asked = CopyAsked(profiles=frozenset((Profile.PATHS,)), key=b"k", opening=b"o" * 32, public_key=bytes(32))
    proof = redacted(builder.events, asked)[0].data["proof"]
    assert proof == {
        # The fingerprint is where the SHA-256 of 32 zero bytes begins.
        "origin": "docket.local/66687aadf862bd77/0123456789ab",
        "project": "0f" * 16,
        "run": 4,
        "signature": {"alg": "ed25519", "public_key": "00" * 32},
    }
    facts = redacted(builder.events, asked)[0].data["redaction"]
    assert facts["not_carried"] == ["previous-run"]  # type: ignore[call-overload,index]


def test_a_window_of_which_nobody_saw_the_beginning_keeps_one_name() -> None:
    builder = samples.zero()
    events = [builder.events[0]]
    for type_ in ("tool.result", "x-docket.tool-delta"):
        builder.add_raw(type_, {"name": "n", "window_id": "ab" * 16})
        events.append(builder.events[-1])
    copy = redacted(events, CopyAsked(profiles=frozenset((Profile.PATHS,)), key=b"k", opening=b"o" * 32))
    first, second = (event.data["window_id"] for event in copy[1:])
    assert first == second != "ab" * 16
    assert len(str(first)) == 32


def test_the_start_may_say_nothing_of_what_vouches() -> None:
    assert "proof" not in start().to_data()
    copy = redacted(samples.zero().events, CopyAsked(profiles=frozenset((Profile.PATHS,)), key=b"k", opening=b"o" * 32))
    assert "proof" not in copy[0].data


def test_what_has_another_form_than_its_member_holds_nothing_to_be_hidden() -> None:
    builder = samples.zero()
    junk = builder.add_raw("x-docket.omissions", {"phase": "before", "omissions": [7]})
    odd = builder.add_raw("proc.spawn", {"argv": 7, "cwd": 7})
    found = collected([junk, odd])
    assert found.paths == set()
    assert found.words[Profile.ARGV] == set()

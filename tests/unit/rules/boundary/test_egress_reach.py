"""Where a program may go: destinations in their one spelling, the policy's names, addresses of every kind."""

from __future__ import annotations

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.reason import Reason
from docket.formats.run.policy_reach import EgressMode, EgressPolicy
from docket.rules.boundary.denials import Denials
from docket.rules.boundary.destination import Destination, of_absolute, of_connect
from docket.rules.boundary.reach import MODEL_HOSTS, Naming, address_refused, host_refused, naming


@pytest.mark.parametrize(
    ("target", "host", "port"),
    [
        ("example.com:443", "example.com", 443),
        ("EXAMPLE.com.:443", "example.com", 443),
        ("[2001:DB8:0::1]:8443", "2001:db8::1", 8443),
        ("[::ffff:127.0.0.1]:80", "::ffff:7f00:1", 80),
        ("10.1.2.3:22", "10.1.2.3", 22),
        ("my_host:1", "my_host", 1),
        ("bücher.example:443".encode().decode("latin-1"), "xn--bcher-kva.example", 443),
    ],
)
def test_a_connect_names_a_destination(target, host, port):
    assert of_connect(target) == Destination(host, port)


@pytest.mark.parametrize(
    "target",
    [
        "example.com", "example.com:", "example.com:0", "example.com:65536", "example.com:http", ":443", "[::1]",
        "[::1:443", "[fe80::1%25eth0]:1", "[fe80::1%eth0]:1", "[zz]:1", "a b:1", "user@example.com:1", "a..b:1",
        "-a:1", "x" * 254 + ":1", "\xff\xfe:1", "example.com:1/x",
    ],
)  # fmt: skip
def test_what_is_no_destination_is_refused(target):
    with pytest.raises(InvalidDocumentError) as refused:
        of_connect(target)
    assert refused.value.reason == Reason.MALFORMED_MESSAGE


@pytest.mark.parametrize(
    ("target", "host", "port", "authority", "there"),
    [
        ("http://example.com/a?b", "example.com", 80, "example.com", "/a?b"),
        ("HTTP://Example.com:80/", "example.com", 80, "example.com", "/"),
        ("http://example.com:8080", "example.com", 8080, "example.com:8080", "/"),
        ("http://example.com?x=http://y", "example.com", 80, "example.com", "/?x=http://y"),
        ("http://[::1]:81/x#frag", "::1", 81, "[::1]:81", "/x"),
        ("http://[::1]/", "::1", 80, "[::1]", "/"),
    ],
)
def test_an_absolute_target_names_one(target, host, port, authority, there):
    read = of_absolute(target)
    assert (read.destination, read.authority, read.target) == (Destination(host, port), authority, there)


@pytest.mark.parametrize("target", ["https://example.com/", "example.com/", "http://", "http:///x", "*"])
def test_what_is_no_absolute_target_is_refused(target):
    with pytest.raises(InvalidDocumentError):
        of_absolute(target)


@pytest.mark.parametrize(
    ("entry", "host", "expected"),
    [
        ("example.com", "example.com", Naming.EXACTLY),
        ("example.com", "www.example.com", Naming.NOT),
        (".example.com", "www.example.com", Naming.BELOW),
        (".example.com", "example.com", Naming.BELOW),
        (".example.com", "evilexample.com", Naming.NOT),
        ("*.example.com", "www.example.com", Naming.BELOW),
        ("*.example.com", "example.com", Naming.NOT),
        ("example.com:443", "example.com", Naming.EXACTLY),
        ("example.com:444", "example.com", Naming.NOT),
        (".example.com:443", "a.example.com", Naming.BELOW),
        ("[2001:db8:0:0::1]", "2001:db8::1", Naming.EXACTLY),
        ("[2001:db8::1]:443", "2001:db8::1", Naming.EXACTLY),
        ("[2001:db8::1]:1", "2001:db8::1", Naming.NOT),
        ("[:::]", "2001:db8::1", Naming.NOT),
        ("10.0.0.1", "10.0.0.1", Naming.EXACTLY),
    ],
)
def test_an_entry_names_a_host(entry, host, expected):
    assert naming(Destination(host, 443), (entry,)) is expected


def test_no_entry_names_nothing_and_the_best_one_counts():
    assert naming(Destination("a.b", 1), ()) is Naming.NOT
    assert naming(Destination("a.b", 1), (".b", "a.b", "c")) is Naming.EXACTLY


@pytest.mark.parametrize(
    ("host", "mode", "allow", "reason"),
    [
        ("example.com", EgressMode.DENY, (), Reason.EGRESS_HOST),
        ("example.com", EgressMode.TUNNEL, (), None),
        ("example.com", EgressMode.DENY, ("example.com",), None),
        ("api.anthropic.com", EgressMode.TUNNEL, (), Reason.EGRESS_MODEL_HOST),
        ("api.anthropic.com", EgressMode.DENY, (), Reason.EGRESS_MODEL_HOST),
        ("api.anthropic.com", EgressMode.DENY, (".anthropic.com",), Reason.EGRESS_MODEL_HOST),
        ("api.anthropic.com", EgressMode.DENY, ("api.anthropic.com",), None),
        ("europe-west1-aiplatform.googleapis.com", EgressMode.TUNNEL, (), Reason.EGRESS_MODEL_HOST),
        ("bedrock-runtime.us-east-1.amazonaws.com", EgressMode.TUNNEL, (), Reason.EGRESS_MODEL_HOST),
        ("storage.googleapis.com", EgressMode.TUNNEL, (), None),
        ("gateway.example", EgressMode.TUNNEL, (), Reason.EGRESS_MODEL_HOST),
    ],
)
def test_the_policy_says_which_hosts(host, mode, allow, reason):
    upstreams = [Destination("gateway.example", 8443)]
    refused = host_refused(Destination(host, 443), EgressPolicy(mode=mode, allow=allow), upstreams)
    assert (None if refused is None else refused.reason) is reason


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "ollama.localhost"])
@pytest.mark.parametrize(
    ("port", "mode", "allow", "reason"),
    [
        (11434, EgressMode.TUNNEL, (), Reason.EGRESS_MODEL_HOST),
        (11434, EgressMode.DENY, ("{host}:8080",), Reason.EGRESS_MODEL_HOST),
        (11434, EgressMode.DENY, ("{host}",), None),
        (8080, EgressMode.TUNNEL, (), None),  # what it is at is then refused as an address
        (8080, EgressMode.DENY, ("{host}:8080",), None),
        (8080, EgressMode.DENY, ("{host}",), None),
        (8080, EgressMode.DENY, ("{host}:8081",), Reason.EGRESS_HOST),
        (8080, EgressMode.DENY, (), Reason.EGRESS_HOST),
    ],
)
def test_an_upstream_on_this_machine_is_a_host_of_models_at_its_own_port_alone(host, port, mode, allow, reason):
    shown = f"[{host}]" if ":" in host else host
    policy = EgressPolicy(mode=mode, allow=tuple(entry.format(host=shown) for entry in allow))
    refused = host_refused(Destination(host, port), policy, [Destination(host, 11434)])
    assert (None if refused is None else refused.reason) is reason


def test_the_hosts_of_models_are_spelt_as_hosts_are():
    assert all(host == host.lower() and " " not in host for host in MODEL_HOSTS)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "2002:5db8:d822::1"])
def test_public_addresses_are_free(address):
    assert address_refused(Destination("example.com", 443), address, ()) is None


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("127.0.0.1", "loopback"), ("127.8.9.1", "loopback"), ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"), ("64:ff9b::7f00:1", "loopback"), ("2002:7f00:1::", "loopback"),
        ("::127.0.0.1", "loopback"), ("64:ff9b:1::7f00:1", "loopback"),
        ("10.0.0.1", "private"), ("172.16.5.4", "private"), ("192.168.1.1", "private"), ("100.64.0.1", "private"),
        ("fd12:3456::1", "private"), ("192.0.2.1", "private"), ("2001:db8::1", "private"),
        ("169.254.1.1", "link-local"), ("fe80::1", "link-local"), ("fe80::1%eth0", "link-local"),
        ("169.254.169.254", "metadata"), ("fd00:ec2::254", "metadata"), ("168.63.129.16", "metadata"),
        ("100.100.100.200", "metadata"), ("::ffff:169.254.169.254", "metadata"),
        ("0.0.0.0", "unspecified"), ("::", "unspecified"),
        ("224.0.0.1", "multicast"), ("ff02::1", "multicast"),
        ("240.0.0.1", "reserved"), ("255.255.255.255", "reserved"), ("fec0::1", "reserved"),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "reserved"), ("4000::1", "reserved"),
    ],
)  # fmt: skip
def test_special_addresses_are_refused_with_their_kind(address, kind):
    refused = address_refused(Destination("example.com", 443), address, (".example.com",))
    assert refused is not None
    assert refused.reason is Reason.EGRESS_ADDRESS
    assert f"a {kind} address" in refused.detail
    named = address_refused(Destination("example.com", 443), address, ("example.com",))
    assert (named is None) is (kind in ("loopback", "private"))


@pytest.mark.parametrize("address", ["169.254.169.254", "224.0.0.1", "10.0.0.1"])
def test_an_address_that_is_named_itself_is_reached(address):
    assert address_refused(Destination("example.com", 80), address, (address,)) is None
    assert address_refused(Destination("example.com", 80), address, (f"{address}:81",)) is not None
    assert address_refused(Destination("example.com", 80), f"::ffff:{address}", (address,)) is None


def test_denials_are_told_at_once_then_once_a_minute_and_at_the_end():
    denials, where, minute = Denials(), Destination("a.example", 443), 60 * 10**9
    first = denials.count("tunnel", where, Reason.EGRESS_HOST, 0)
    assert first is not None
    assert (first.count, first.host, first.port, first.kind, first.reason) == (
        1, "a.example", 443, "tunnel", "egress_host",
    )  # fmt: skip
    assert [denials.count("tunnel", where, Reason.EGRESS_HOST, 1) for _ in range(4)] == [None] * 4
    later = denials.count("tunnel", where, Reason.EGRESS_HOST, minute)
    assert later is not None
    assert later.count == 5
    assert denials.rest() == ()
    assert denials.count("tunnel", where, Reason.EGRESS_HOST, minute + 1) is None
    assert [event.count for event in denials.rest()] == [1]
    assert denials.rest() == ()


def test_of_very_many_hosts_the_rest_is_counted_without_names():
    denials = Denials()
    told = [denials.count("request", Destination(f"h{i}", 80), Reason.EGRESS_HOST, i) for i in range(600)]
    events = [event for event in (*told, *denials.rest()) if event is not None]
    assert sum(event.count for event in events) == 600
    assert len(events) == 514
    assert [event.host for event in events[-2:]] == [None, None]

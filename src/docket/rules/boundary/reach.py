"""Which hosts and addresses a run may reach through the proxy.

Rules:
1. Under `deny` a host must be named in `egress.allow`: exactly, or below a `.example.com` (the name itself too) or
   `*.example.com` (not itself). An entry with a port allows that port alone. Under `tunnel` every host may be
   asked for.
2. A model provider's host is refused unless it is named exactly: what goes through a tunnel is neither metered nor
   capped. An upstream of the run is one, at whatever port; one on this machine at its own port alone, for the same name
   stands for everything else that listens here.
3. A name is worth what it resolves to: every address of it is looked at. Loopback and private ones are refused unless
   the host is named exactly; link-local, metadata, unspecified, multicast and reserved ones unless the address itself
   is. An IPv4 address inside an IPv6 one counts as the IPv4 address.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from enum import IntEnum
from fnmatch import fnmatchcase
from typing import TypeAlias

from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.formats.run.policy_reach import EgressMode, EgressPolicy
from docket.rules.boundary.destination import Destination
from docket.rules.providers.registry import is_local_host

Address: TypeAlias = "ipaddress.IPv4Address | ipaddress.IPv6Address"

# Where clouds keep credentials for whatever runs in them; some stand in ranges that are otherwise public or private.
_METADATA = frozenset(
    map(
        ipaddress.ip_address,
        ("169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254"),
    )
)
_NAT64 = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))
_COMPATIBLE = ipaddress.IPv6Network("::/96")
MODEL_HOSTS = (
    "api.anthropic.com", "api.openai.com", "chatgpt.com", "generativelanguage.googleapis.com",
    "cloudcode-pa.googleapis.com", "aiplatform.googleapis.com", "*-aiplatform.googleapis.com",
    "aiplatform.*.rep.googleapis.com", "*.openai.azure.com", "*.services.ai.azure.com",
    "*.cognitiveservices.azure.com", "bedrock-runtime*.amazonaws.com", "bedrock-mantle.*.api.aws", "openrouter.ai",
    "api.deepseek.com", "api.groq.com", "api.mistral.ai", "codestral.mistral.ai", "api.x.ai", "api.moonshot.ai",
    "api.moonshot.cn", "api.together.xyz", "api.together.ai", "api.fireworks.ai", "api.cohere.com", "api.cohere.ai",
    "api.perplexity.ai", "api.cerebras.ai", "api.githubcopilot.com", "*.githubcopilot.com", "ollama.com",
    "dashscope*.aliyuncs.com", "api.z.ai", "open.bigmodel.cn", "api.minimax.io", "router.huggingface.co",
    "api-inference.huggingface.co", "api.replicate.com", "integrate.api.nvidia.com", "models.github.ai",
    "ai-gateway.vercel.sh",
)  # fmt: skip
"""Hosts of model providers, as patterns in the one spelling of a host."""


class Naming(IntEnum):
    """How far the policy names a host."""

    NOT = 0
    BELOW = 1
    EXACTLY = 2


@dataclass(frozen=True, slots=True)
class Unreachable:
    """A destination that the policy does not let a run reach."""

    reason: Reason
    detail: str


def naming(destination: Destination, allow: Iterable[str]) -> Naming:
    """Return how far a policy's entries name a destination."""
    return max((_named_by(destination, entry) for entry in allow), default=Naming.NOT)


def host_refused(
    destination: Destination, policy: EgressPolicy, upstreams: Iterable[Destination]
) -> Unreachable | None:
    """Return why a destination may not be asked for, None if it may; nothing is resolved for this."""
    named = naming(destination, policy.allow)
    if named is not Naming.EXACTLY and _is_model_host(destination, upstreams):
        return Unreachable(
            Reason.EGRESS_MODEL_HOST,
            f"{destination.host} is a model provider's host, and what goes through a tunnel is neither metered nor "
            "capped; point the agent at docket's base URL instead, or name the host in egress.allow",
        )
    if named is Naming.NOT and policy.mode is EgressMode.DENY:
        return Unreachable(Reason.EGRESS_HOST, f"{destination.authority} is not named in egress.allow")
    return None


def address_refused(destination: Destination, found: str, allow: tuple[str, ...]) -> Unreachable | None:
    """Return why an address that a destination has may not be connected to, None if it may."""
    address = _plain(ipaddress.ip_address(found.partition("%")[0]))
    kind = _kind(address)
    if kind is None or naming(Destination(str(address), destination.port), allow) is Naming.EXACTLY:
        return None
    if kind in ("loopback", "private") and naming(destination, allow) is Naming.EXACTLY:
        return None
    return Unreachable(
        Reason.EGRESS_ADDRESS,
        f"{destination.host} is at {address}, a {kind} address, and egress.allow does not name "
        f"{'the host itself' if kind in ('loopback', 'private') else 'that address'}",
    )


def _is_model_host(destination: Destination, upstreams: Iterable[Destination]) -> bool:
    host, port = destination.host, destination.port
    if any(fnmatchcase(host, pattern) for pattern in MODEL_HOSTS):
        return True
    return any(one.host == host and (one.port == port or not is_local_host(host)) for one in upstreams)


def _named_by(destination: Destination, entry: str) -> Naming:
    host, port = _entry(entry)
    if port is not None and port != destination.port:
        return Naming.NOT
    if host.startswith("*."):
        return Naming.BELOW if destination.host.endswith(host[1:]) else Naming.NOT
    if host.startswith("."):
        return Naming.BELOW if f".{destination.host}".endswith(host) else Naming.NOT
    return Naming.EXACTLY if destination.host == host else Naming.NOT


def _entry(entry: str) -> tuple[str, int | None]:
    if entry.startswith("["):
        inner, _, port = entry[1:].partition("]")
        try:
            return str(ipaddress.IPv6Address(inner)), int(port[1:]) if port else None
        except ValueError:
            return inner, None
    host, mark, port = entry.partition(":")
    return host, int(port) if mark else None


def _plain(address: Address) -> Address:
    """Return the IPv4 address that stands inside an IPv6 one, however it is wrapped."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    inner = address.ipv4_mapped or address.sixtofour
    if inner is None and any(address in network for network in _NAT64):
        inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if inner is None and address in _COMPATIBLE and int(address) > 1:
        inner = ipaddress.IPv4Address(int(address))
    return address if inner is None else inner


def _kind(address: Address) -> str | None:
    """Return what is special about an address in a word, None for one of the public internet."""
    if address in _METADATA:
        return "metadata"
    if address.is_unspecified:
        return "unspecified"
    if address.is_loopback:
        return "loopback"
    if address.is_link_local:
        return "link-local"
    if address.is_multicast:
        return "multicast"
    if isinstance(address, ipaddress.IPv6Address) and (address.is_site_local or address.teredo is not None):
        return "reserved"
    if address.is_reserved:
        return "reserved"
    return None if address.is_global else "private"

"""Which proxy the person's environment names for an upstream, as curl and the common HTTP libraries read it.

Rules:
1. `https_proxy`, `http_proxy`, then `all_proxy`, the lower-case spelling first; an empty value is none.
2. `no_proxy`: `*`, a host or domain with or without a leading dot, an address or a network, each with an optional
   port. Loopback is never asked for through a proxy.
3. Only a proxy spoken to in HTTP is used; another kind is an error, for going around it would be a surprise.
"""

from __future__ import annotations

import ipaddress
from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from docket.errors import UnavailableError
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason

_DEFAULT_PORT = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """A proxy's address, and the value of its Proxy-Authorization header where it wants one."""

    host: str
    port: int
    authorization: str | None = None


def proxy_for(environ: Mapping[str, str], scheme: str, host: str, port: int) -> Proxy | None:
    """Return the proxy for an upstream, None for a direct connection; UnavailableError for one docket cannot use."""
    url = _named(environ, f"{scheme}_proxy") or _named(environ, "all_proxy")
    if not url or _is_loopback(host) or _is_excepted(_named(environ, "no_proxy"), host, port):
        return None
    parts = urlsplit(url if "://" in url else f"http://{url}")
    try:
        number = parts.port or _DEFAULT_PORT
    except ValueError:
        number = 0
    if parts.scheme != "http" or not parts.hostname or not number:
        raise UnavailableError(
            Reason.UPSTREAM_UNREACHABLE,
            f"the {scheme}_proxy of the environment is no http:// proxy; docket speaks no other",
        )
    return Proxy(host=parts.hostname, port=number, authorization=_credentials(parts.username, parts.password))


def _named(environ: Mapping[str, str], name: str) -> str:
    return (environ.get(name) or environ.get(name.upper()) or "").strip()


def _credentials(user: str | None, password: str | None) -> str | None:
    if user is None:
        return None
    pair = f"{unquote(user)}:{unquote(password or '')}".encode()
    return f"Basic {b64encode(pair).decode('ascii')}"


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None


def _is_excepted(no_proxy: str, host: str, port: int) -> bool:
    return any(_fits(entry.strip().lower(), host.lower(), port) for entry in no_proxy.split(",") if entry.strip())


def _fits(entry: str, host: str, port: int) -> bool:
    if entry == "*":
        return True
    address = _address(host)
    if address is not None:
        try:
            return address in ipaddress.ip_network(entry.strip("[]"), strict=False)
        except ValueError:
            pass
    name, mark, stated = entry.rpartition(":")
    if mark and stated.isdigit():
        if int(stated) != port:
            return False
        entry = name
    domain = entry.removeprefix("*").removeprefix(".")
    return host == domain.strip("[]") or host.endswith(f".{domain}")

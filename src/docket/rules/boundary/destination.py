"""Where a program asks the proxy to go: host and port out of a CONNECT or an absolute target (RFC 9110, 9112).

Rules:
1. A host has one spelling: small letters, no dot at its end, punycode for what is not ASCII, an IPv6 address in its
   short form without brackets.
2. What two readers could read differently is refused: user names, zones, blanks, a missing or odd port.
"""

from __future__ import annotations

import ipaddress
import re

from docket.errors import InvalidDocumentError
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason

_NAME = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_MAX_NAME_CHARACTERS = 253
_MAX_PORT = 65535
_HTTP_PORT = 80


@dataclass(frozen=True, slots=True)
class Destination:
    """A host in its one spelling, and a port."""

    host: str
    port: int

    @property
    def authority(self) -> str:
        """Host and port as a target spells them."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def address(self) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
        """The address that the host is, None where it is a name."""
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Absolute:
    """An absolute target: where it goes, the Host field for it, and the target there."""

    destination: Destination
    authority: str
    target: str


def of_connect(target: str) -> Destination:
    """Read the target of a CONNECT; InvalidDocumentError (MALFORMED_MESSAGE) if it is not HOST:PORT."""
    host, port = _split(target)
    if port is None:
        raise _malformed("a CONNECT names no port")
    return Destination(host, port)


def of_absolute(target: str) -> Absolute:
    """Read an absolute target; InvalidDocumentError (MALFORMED_MESSAGE) if it is not http://HOST[:PORT]/…"""
    scheme, _, rest = target.partition("://")
    if scheme.lower() != "http":
        raise _malformed("only http:// addresses are forwarded; for others the proxy is asked by CONNECT")
    at = min((place for place in map(rest.find, "/?#") if place >= 0), default=len(rest))
    authority, path = rest[:at], rest[at:].partition("#")[0]
    host, port = _split(authority)
    destination = Destination(host, _HTTP_PORT if port is None else port)
    shown = f"[{host}]" if ":" in host else host
    own = shown if destination.port == _HTTP_PORT else destination.authority
    return Absolute(destination, own, path if path.startswith("/") else f"/{path}")


def _split(authority: str) -> tuple[str, int | None]:
    bracket = authority.rfind("]")
    name, mark, port = authority.rpartition(":") if authority.rfind(":") > bracket else (authority, "", "")
    if mark and (not _PORT.fullmatch(port) or int(port) > _MAX_PORT):
        raise _malformed("the port is none")
    return _host(name), int(port) if mark else None


def _host(name: str) -> str:
    if name.startswith("["):
        try:
            address = ipaddress.IPv6Address(name[1:-1] if name.endswith("]") else "")
        except ValueError:
            raise _malformed("the host is no IPv6 address") from None
        if address.scope_id is not None:
            raise _malformed("an address with a zone is not forwarded to")
        return str(address)
    plain = _ascii(name).lower().removesuffix(".")
    if len(plain) > _MAX_NAME_CHARACTERS or not _NAME.fullmatch(plain):
        raise _malformed("the host is no name and no address")
    return plain


def _ascii(name: str) -> str:
    if name.isascii():
        return name
    try:
        # A head's bytes are kept one by one; names that are not ASCII come as UTF-8.
        return name.encode("latin-1").decode("utf-8").encode("idna").decode("ascii")
    except (UnicodeError, ValueError):
        raise _malformed("the host is no name") from None


def _malformed(detail: str) -> InvalidDocumentError:
    return InvalidDocumentError(Reason.MALFORMED_MESSAGE, detail)

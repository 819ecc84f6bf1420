"""How a request and a reply look on the other side: addresses, header fields, nothing else.

Rules:
1. End-to-end headers pass both ways as they are, in their order; hop-by-hop ones end here (RFC 9110, 7.6.1).
2. Three request headers are docket's: Host is the upstream's, `Expect` is answered here, `Accept-Encoding` is
   narrowed to codings that can be metered. Framing headers follow the body's framing.
3. The target is the registry's, to the byte. A path with a dot segment is not forwarded: two servers could read it
   as different endpoints.
"""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import unquote, urlsplit

from docket.formats.dataclass import dataclass
from docket.rules.boundary.http1 import Framing, Headers, RequestHead, ResponseHead, elements, end_to_end, values
from docket.rules.providers.registry import Provider

READABLE_CODINGS = ("gzip", "deflate", "br", "zstd", "identity")
_METHOD_OVERRIDES = frozenset(("x-http-method-override", "x-method-override", "x-http-method"))
_PATH_OVERRIDES = frozenset(("x-original-url", "x-rewrite-url", "x-original-uri"))
_QUERY_OVERRIDES = _METHOD_OVERRIDES | {"_method", "$httpmethod", "httpmethod"}
_REQUEST_IDS = (b"request-id", b"x-request-id", b"apim-request-id", b"x-amzn-requestid")
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Address:
    """Where a request goes: scheme, host and port of a connection, the Host header's value, and the target."""

    origin: tuple[str, str, int]
    authority: str
    target: str

    @classmethod
    def parse(cls, url: str) -> Address:
        """Read a URL that the registry has made from a checked one."""
        parts = urlsplit(url)
        host, default = parts.hostname or "", _PORTS[parts.scheme]
        port = parts.port or default
        shown = f"[{host}]" if ":" in host else host
        # The target is cut out as it stands: taking it apart and putting it together could respell it.
        target = url.partition("://")[2].partition("/")[2]
        return cls((parts.scheme, host, port), shown if port == default else f"{shown}:{port}", f"/{target}")


@lru_cache(maxsize=256)
def address_of(provider: Provider, rest: str) -> Address:
    """Return where a request for `rest`, which begins with a slash, goes; an agent asks for the same few."""
    return Address.parse(provider.url(rest))


def has_dot_segment(path: str) -> bool:
    """Whether a segment of the path is `.` or `..`, however it is spelt."""
    if "." not in path and "%" not in path:
        return False
    plain = path.lower().replace("%2e", ".").replace("%2f", "/").replace("%5c", "/").replace("\\", "/")
    return any(segment in (".", "..") for segment in plain.split("/"))


def request_upstream(head: RequestHead, address: Address, framing: Framing) -> RequestHead:
    """Return the head that goes to the upstream for a body of this framing."""
    fields: list[tuple[bytes, bytes]] = [(b"Host", address.authority.encode("ascii"))]
    narrowed = _codings(head.headers)
    if narrowed is None:
        fields += end_to_end(head.headers, also=(b"host", b"expect"))
    else:
        fields += end_to_end(head.headers, also=(b"host", b"expect", b"accept-encoding"))
        fields.append((b"Accept-Encoding", narrowed))
    if framing.chunked:
        fields.append((b"Transfer-Encoding", b"chunked"))
    return RequestHead(method=head.method, target=address.target, headers=tuple(fields))


def request_altered(head: RequestHead, address: Address, length: int) -> RequestHead:
    """Return the head for a body that docket has changed: of its new length, its reply asked for in no coding."""
    kept = end_to_end(head.headers, also=(b"host", b"expect", b"accept-encoding", b"content-length"))
    fields = (
        (b"Host", address.authority.encode("ascii")),
        *kept,
        (b"Accept-Encoding", b"identity"),
        (b"Content-Length", b"%d" % length),
    )
    return RequestHead(method=head.method, target=address.target, headers=fields)


def _codings(headers: Headers) -> bytes | None:
    """Return the offered codings that can be read, weights kept; None where all of them can, or none was offered."""
    offered = elements(headers, b"accept-encoding")
    if all(item.partition(";")[0].strip() in READABLE_CODINGS for item in offered):
        return None
    kept: list[str] = []
    for item in offered:
        name, mark, weight = item.partition(";")
        if name.strip() == "*":
            kept += [coding + mark + weight for coding in READABLE_CODINGS[:-1]]
        elif name.strip() in READABLE_CODINGS:
            kept.append(item)
    return ", ".join(kept or ["identity"]).encode("latin-1")


def reply_downstream(head: ResponseHead) -> ResponseHead:
    """Return the head the agent gets, but for framing, which follows the agent's own connection."""
    return ResponseHead(status=head.status, reason=head.reason, headers=end_to_end(head.headers))


def reply_of_new_length(head: ResponseHead) -> ResponseHead:
    """Return the head for a reply out of which something is taken: its length is not known before its end."""
    kept = end_to_end(head.headers, also=(b"content-length",))
    return ResponseHead(status=head.status, reason=head.reason, headers=kept)


def request_id_of(head: ResponseHead | None) -> str | None:
    """Return the id by which the upstream knows the request, cut at 200 characters; None where it names none."""
    found = [value for name in _REQUEST_IDS for value in values(() if head is None else head.headers, name)]
    return found[0].decode("latin-1")[:200] if found else None


def overrides_its_method(head: RequestHead) -> bool:
    """Whether the request asks to be served as one of another method, or at another path."""
    names = {name.decode("latin-1").lower().replace("_", "-") for name, _ in head.headers}
    if not names.isdisjoint(_METHOD_OVERRIDES | _PATH_OVERRIDES):
        return True
    query = head.target.partition("?")[2]
    asked = {unquote(item.partition("=")[0]).lower() for item in query.replace(";", "&").split("&")}
    return not asked.isdisjoint(_QUERY_OVERRIDES)


def asks_for_upgrade(head: RequestHead) -> bool:
    """Whether the request wants another protocol on this connection, a WebSocket above all."""
    return "upgrade" in elements(head.headers, b"connection") and bool(elements(head.headers, b"upgrade"))

"""The policy sections that say what a run may reach: models, egress, files, upstreams."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar
from urllib.parse import urlsplit

from docket.errors import InvalidDocumentError
from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason
from docket.formats.run.policy_kinds import Choice, Texts, is_line, is_utf8
from docket.formats.run.policy_section import Section, key


class EgressMode(StrEnum):
    """What happens to a tunnel to a host that is not listed."""

    DENY = "deny"
    TUNNEL = "tunnel"


def is_model_pattern(text: str) -> bool:
    return is_line(text) and " " not in text


def is_host(text: str) -> bool:
    return _HOST.fullmatch(text) is not None


def is_tree_pattern(text: str) -> bool:
    return text.strip(" ") != "" and is_utf8(text) and not any(c in text for c in "\0\n\r")


def is_watched_root(text: str) -> bool:
    return is_tree_pattern(text) and not text.startswith("/") and ".." not in text.split("/") and "" not in (
        text.rstrip("/").split("/")
    )  # fmt: skip


def is_endpoint(text: str) -> bool:
    return _ENDPOINT.fullmatch(text) is not None


_HOST = re.compile(
    r"(\*?\.)?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*(:[1-9][0-9]{0,4})?"
    r"|\[[0-9a-f:.]+\](:[1-9][0-9]{0,4})?"
)
_ENDPOINT = re.compile(r"[a-z0-9][a-z0-9_-]*/[!-~]+")
_PROVIDER = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


def is_price_name(text: str) -> bool:
    """Whether a text is `NAME=MODEL`; a name may hold the sign itself, a model may not."""
    name, sign, model = text.rpartition("=")
    return bool(sign) and 0 < len(name.strip()) == len(name) <= 256 and 0 < len(model.strip()) == len(model) <= 256


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsPolicy(Section):
    """Which models may be called."""

    NAME: ClassVar[str] = "models"
    PURPOSE: ClassVar[str] = "Which models may be called. Patterns are matched without regard to case; deny wins."

    allow: tuple[str, ...] = field(
        default=(),
        metadata=key(
            Texts("model patterns such as claude-*", is_model_pattern),
            "Patterns of the models that may be called; empty allows every model.",
        ),
    )
    deny: tuple[str, ...] = field(
        default=(),
        metadata=key(
            Texts("model patterns such as *opus*", is_model_pattern), "Patterns of the models that may not be called."
        ),
    )
    priced_as: tuple[str, ...] = field(
        default=(),
        metadata=key(
            Texts("pairs such as my-deployment=gpt-4.1", is_price_name),
            "What names without a price stand for, as `NAME=MODEL`: deployments, profiles of an account's own.",
            later=True,
        ),
    )

    def price_names(self) -> dict[str, str]:
        """Return what names stand for; of a name that stands twice the first holds."""
        pairs = [text.rpartition("=") for text in reversed(self.priced_as)]
        return {name: model for name, _, model in pairs}


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressPolicy(Section):
    """Which other hosts may be reached through docket's proxy."""

    NAME: ClassVar[str] = "egress"
    PURPOSE: ClassVar[str] = "Which other hosts may be reached through docket's proxy, in a run with --http-proxy."

    mode: EgressMode = field(
        default=EgressMode.DENY,
        metadata=key(Choice(EgressMode), "What happens to a host that is not listed: `deny` it, or `tunnel` to it."),
    )
    allow: tuple[str, ...] = field(
        default=(),
        metadata=key(
            Texts("lower-case host names such as example.com or .example.com", is_host),
            "Hosts that may be reached: an exact name or address, `.example.com` for a domain and all below it, or "
            "`*.example.com` for what is below it alone; `:443` at the end allows that port alone.",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesPolicy(Section):
    """Which files are watched and which must not change."""

    NAME: ClassVar[str] = "files"
    PURPOSE: ClassVar[str] = "Which files are watched, and which must not change. Patterns are those of `.gitignore`."

    watch: tuple[str, ...] = field(
        default=(".",),
        metadata=key(
            Texts("relative paths below the folder of the run", is_watched_root, may_be_empty=False),
            "Directories that are watched.",
        ),
    )
    ignore: tuple[str, ...] = field(
        default=(), metadata=key(Texts("file patterns", is_tree_pattern), "Patterns of the paths left out.")
    )
    deny_write: tuple[str, ...] = field(
        default=(),
        metadata=key(
            Texts("file patterns", is_tree_pattern),
            "Patterns of the paths that must not change; a change is recorded as a violation, not prevented.",
        ),
    )


@dataclass(frozen=True, slots=True)
class Upstreams:
    """Where requests of a provider go instead of the provider's own address; pairs of name and URL, sorted."""

    entries: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for name, url in self.entries:
            check_upstream(name, url)
        if tuple(sorted(dict(self.entries).items())) != self.entries:
            raise InvalidDocumentError(Reason.WRONG_VALUE, "upstreams: the names must be sorted and stand once each")

    @classmethod
    def of(cls, mapping: Mapping[str, str]) -> Upstreams:
        """Return the upstreams of a mapping from provider name to URL."""
        return cls(tuple(sorted(mapping.items())))

    def mapping(self) -> dict[str, str]:
        """Return {provider name: URL}."""
        return dict(self.entries)


def check_upstream(name: str, url: object) -> None:
    """Refuse a provider name or an address that cannot be one; a URL never carries credentials."""
    if not _PROVIDER.fullmatch(name):
        raise InvalidDocumentError(
            Reason.WRONG_VALUE, "is not a provider name: small letters, digits, - and _, such as anthropic"
        )
    wanted = "must be a URL such as https://gateway.example.com/v1, without user, query or fragment"
    if not isinstance(url, str) or not is_line(url) or " " in url:
        raise InvalidDocumentError(Reason.WRONG_VALUE, wanted)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InvalidDocumentError(Reason.WRONG_VALUE, wanted) from error
    plain = not (parts.query or parts.fragment or "@" in parts.netloc or "?" in url or "#" in url or port == 0)
    if parts.scheme not in ("http", "https") or not parts.hostname or not plain:
        raise InvalidDocumentError(Reason.WRONG_VALUE, wanted)

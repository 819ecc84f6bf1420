"""Calls for a gate's tests: just enough of a weighed call, each one an object of its own."""

from __future__ import annotations

from docket.rules.boundary.access import Entered
from docket.rules.boundary.http1 import RequestHead
from docket.rules.boundary.weighed import Weighed
from docket.rules.providers.anthropic import AnthropicMessages
from docket.rules.providers.interface import RequestFacts
from docket.rules.providers.registry import with_upstream


def call(*, provider="anthropic", url="https://one.example", path="/v1/messages", fingerprint="f" * 16) -> Weighed:
    weighed = Weighed(
        provider=with_upstream(provider, url),
        wire=AnthropicMessages(),
        head=RequestHead(method="POST", target=path, headers=()),
        entered=Entered(provider, path),
    )
    weighed.facts = RequestFacts(model="a-model", fingerprint=fingerprint)
    return weighed

"""What is left out of a provider's words: each text that came as a credential, whole or cut off."""

from __future__ import annotations

import pytest

from docket.rules.boundary.credentials import credentials_of, without_credentials
from docket.rules.boundary.http1 import RequestHead


def head(target: str = "/t/openai/v1/chat/completions", **headers: str) -> RequestHead:
    fields = tuple((name.replace("_", "-").encode(), value.encode()) for name, value in headers.items())
    return RequestHead(method="POST", target=target, headers=fields)


@pytest.mark.parametrize(
    ("request_head", "said", "recorded"),
    [
        (head(authorization="Bearer sk-abcdefgh"), "bad key: sk-abcdefgh.", "bad key: …."),
        (head(authorization="Bearer sk-abcdefgh"), "bad: Bearer sk-abcdefgh", "bad: …"),
        (head(x_api_key="sk-abcdefgh"), "sk-abcdefgh, sk-abcdefgh", "…, …"),
        (head(api_key="0123456789abcdef"), "0123456789abcdef", "…"),
        (head(x_goog_api_key="AIzaSyAAAA"), "API key AIzaSyAAAA not valid", "API key … not valid"),
        (head(cookie="a=12345678; b=87654321"), "no session 87654321", "no session …"),
        (head(proxy_authorization="Basic dXNlcjpwYXNz"), "Basic dXNlcjpwYXNz", "…"),
        (head(x_amz_security_token="IQoJb3JpZ2lu"), "expired: IQoJb3JpZ2lu", "expired: …"),
        (head("/t/gemini/v1beta/m:generateContent?key=AIza%2BSyBB&alt=sse"), "AIza+SyBB or AIza%2BSyBB", "… or …"),
        (head("/t/x/v1?alt=sse-is-longer"), "alt was sse-is-longer", "alt was sse-is-longer"),
        (head(authorization="Bearer short"), "a short answer", "a short answer"),
        (head(content_type="application/json"), "not application/json", "not application/json"),
        # The text ends inside of it, as one that was cut does.
        (head(authorization="Bearer sk-abcdefghijkl"), "bad key: sk-abcdefgh", "bad key: …"),
        (head(authorization="Bearer sk-abcdefghijkl"), "bad key: sk-abcd", "bad key: sk-abcd"),
    ],
)  # fmt: skip
def test_a_credential_is_left_out(request_head, said, recorded):
    assert without_credentials(said, request_head) == recorded


def test_where_one_is_a_part_of_another_the_longer_goes_first():
    found = credentials_of(head(authorization="Bearer aaaaaaaa", x_api_key="aaaaaaaabbbb"))

    assert found == ("Bearer aaaaaaaa", "aaaaaaaabbbb", "aaaaaaaa")
    assert without_credentials("aaaaaaaabbbb", head(authorization="Bearer aaaaaaaa", x_api_key="aaaaaaaabbbb")) == "…"


def test_words_without_a_request_stay():
    assert without_credentials("sk-abcdefgh", None) == "sk-abcdefgh"

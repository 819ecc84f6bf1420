"""What a session writes of arguments, folders and addresses."""

from __future__ import annotations

import pytest

from docket.engines.supervise.session import argv_members, without_secrets


@pytest.mark.parametrize(
    ("url", "recorded"),
    [
        ("https://gateway.example.com/v1", "https://gateway.example.com/v1"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://127.0.0.1:4711/AbCdEfGhIjKlMnOpQrStUvWxYz012345/anthropic", "http://127.0.0.1:4711/…/anthropic"),
        (
            "https://one.openai.azure.com/openai?api-version=2024-10-21&api-key=s3cret",
            "https://one.openai.azure.com/openai?api-version=…&api-key=…",
        ),
        ("https://gateway.example.com/v1/?s3cret", "https://gateway.example.com/v1/?…"),
    ],
)
def test_a_token_in_an_address_stays_out_of_the_record(url, recorded):
    assert without_secrets(url) == recorded


def test_arguments_that_are_text_need_no_second_form():
    assert argv_members(("claude", "-p", "grüß")) == (("claude", "-p", "grüß"), None)


def test_one_argument_that_is_not_text_gives_all_of_them_in_base64():
    # the bytes 63 61 66 e9, as Python hands them over
    assert argv_members(("a", "caf\udce9")) == (("a", "caf\\xe9"), ("YQ==", "Y2Fm6Q=="))

import pytest

from docket.errors import UnavailableError
from docket.rules.boundary.outward import Proxy, proxy_for

PROXY = Proxy(host="proxy.example", port=3128)


@pytest.mark.parametrize(
    ("environ", "scheme", "expected"),
    [
        ({}, "https", None),
        ({"https_proxy": "http://proxy.example:3128"}, "https", PROXY),
        ({"HTTPS_PROXY": "proxy.example:3128/"}, "https", PROXY),
        ({"https_proxy": "", "HTTPS_PROXY": "http://proxy.example:3128"}, "https", PROXY),
        ({"https_proxy": "http://proxy.example:3128", "HTTPS_PROXY": "http://other:1"}, "https", PROXY),
        ({"https_proxy": "http://proxy.example:3128"}, "http", None),
        ({"ALL_PROXY": "http://proxy.example"}, "http", Proxy(host="proxy.example", port=80)),
        ({"http_proxy": "http://[::1]:9"}, "http", Proxy(host="::1", port=9)),
        (
            {"http_proxy": "http://me%40x:s%3Acret@proxy.example:3128"},
            "http",
            Proxy(host="proxy.example", port=3128, authorization="Basic bWVAeDpzOmNyZXQ="),
        ),
        (
            {"http_proxy": "http://me@proxy.example:3128"},
            "http",
            Proxy(host="proxy.example", port=3128, authorization="Basic bWU6"),
        ),
    ],
)
def test_the_environments_proxy(environ, scheme, expected):
    assert proxy_for(environ, scheme, "api.example", 443) == expected


@pytest.mark.parametrize("url", ["socks5://proxy.example:1080", "https://proxy.example", "http://", "http://x:port"])
def test_a_proxy_of_another_kind_is_an_error_and_not_gone_around(url):
    with pytest.raises(UnavailableError, match="no http:// proxy"):
        proxy_for({"https_proxy": url}, "https", "api.example", 443)


@pytest.mark.parametrize(
    ("no_proxy", "host", "port", "direct"),
    [
        ("*", "api.example", 443, True),
        ("api.example", "api.example", 443, True),
        ("API.Example", "api.example", 443, True),
        (".example", "api.example", 443, True),
        ("*.example", "api.example", 443, True),
        ("example", "api.example", 443, True),
        ("pi.example", "api.example", 443, False),
        ("other.example, api.example", "api.example", 443, True),
        ("api.example:443", "api.example", 443, True),
        ("api.example:80", "api.example", 443, False),
        ("10.0.0.0/8", "10.1.2.3", 443, True),
        ("10.0.0.0/8", "11.1.2.3", 443, False),
        ("10.1.2.3", "10.1.2.3", 443, True),
        ("10.1.2.3:80", "10.1.2.3", 443, False),
        ("10.1.2.3:443", "10.1.2.3", 443, True),
        ("fd00::/8", "fd00::1", 443, True),
        ("", "api.example", 443, False),
        (" , ", "api.example", 443, False),
    ],
)
def test_no_proxy(no_proxy, host, port, direct):
    environ = {"all_proxy": "http://proxy.example:3128", "no_proxy": no_proxy}
    assert (proxy_for(environ, "https", host, port) is None) is direct


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "LocalHost"])
def test_loopback_never_goes_through_a_proxy(host):
    assert proxy_for({"all_proxy": "http://proxy.example:3128"}, "http", host, 80) is None

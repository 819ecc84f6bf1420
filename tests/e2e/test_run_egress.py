"""`docket run --http-proxy`, end to end: what an agent's own programs reach, and what the receipt says of it."""

from __future__ import annotations

import json
import sys

import pytest

import run_lab
from boundary_rig.certificates import loopback_certificate
from boundary_rig.raw_upstream import RawUpstream, whole

AGENT = """
import json, os, ssl, sys, urllib.error, urllib.request
client = ssl.create_default_context(cafile=os.environ["CERTIFICATE"])
# Without NO_PROXY, for what is reached here stands on the loopback too.
for name in ("NO_PROXY", "no_proxy"):
    os.environ.pop(name)
opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=client))
said = []
for url in sys.argv[1:]:
    try:
        said.append(opener.open(url, timeout=20).read().decode())
    except (urllib.error.URLError, OSError) as error:
        said.append(str(error))
print(json.dumps(said))
"""
SHOW = (
    "import json, os; print(json.dumps({name: value for name, value in os.environ.items() if 'proxy' in name.lower()}))"
)


@pytest.fixture
def lab(tmp_path):
    certificate, context = loopback_certificate(tmp_path)
    lab = run_lab.build(tmp_path, CERTIFICATE=str(certificate))
    return lab, context


def ok(request, sock):
    sock.sendall(whole(b"hello", kind="text/plain"))
    return True


def policy(lab, *allow):
    path = lab.root / "policy.toml"
    path.write_text(f"[egress]\nallow = {json.dumps(allow)}\n")
    return ["--policy", str(path)]


def test_named_hosts_are_reached_and_others_are_not_and_the_receipt_says_so(lab):
    lab, context = lab
    with RawUpstream(ok) as plain, RawUpstream(ok, tls=context) as secure:
        urls = [
            f"https://localhost:{secure.port}/",
            f"http://127.0.0.1:{plain.port}/",
            "https://other.example/",
            "https://api.openai.com/v1/models",
        ]
        agent = [sys.executable, "-c", AGENT, *urls]
        done = lab.run(*policy(lab, "localhost", "127.0.0.1"), "--http-proxy", "--", *agent)
    assert done.exit_code == 0, done.said
    said = json.loads(done.stdout)
    assert said[:2] == ["hello", "hello"], done.said
    assert "403" in said[2]
    assert "403" in said[3]
    receipt = lab.receipt()
    assert receipt["network"] == {"tunnels_allowed": 2, "tunnels_denied": 2, "turned_away": 0}
    assert receipt["boundary"]["listener"]["http_proxy"] is True
    assert "tunnels" in receipt["limits_disclosure"]["codes"]
    assert [item["reason"] for item in lab.events("net.denied")] == ["egress_host", "egress_model_host"]
    assert {item["outcome"] for item in lab.events("x-docket.net-closed")} == {"closed"}
    verdict = lab.verdict()
    assert verdict["verdict"] == "consistent", verdict["failures"]


def test_the_agent_gets_the_proxy_and_keeps_what_it_was_to_go_around(lab):
    lab, _ = lab
    lab = run_lab.RunLab(
        root=lab.root, variables={"NO_PROXY": "intranet.example", "HTTPS_PROXY": "http://own.example:3128"}
    )
    done = lab.run("--http-proxy", "--", sys.executable, "-c", SHOW)
    assert done.exit_code == 0, done.said
    found = json.loads(done.stdout)
    proxies = {
        found[name] for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
    }
    (proxy,) = proxies
    assert proxy.startswith("http://docket:")
    assert "@127.0.0.1:" in proxy
    assert found["NO_PROXY"] == found["no_proxy"] == "intranet.example,127.0.0.1,localhost,::1"
    token = proxy.removeprefix("http://docket:").partition("@")[0]
    assert token not in json.dumps(lab.events())
    assert "HTTPS_PROXY" in lab.events("proc.spawn")[0]["env_set"]


def test_without_the_flag_there_is_no_proxy_and_the_keys_are_a_remark(lab):
    lab, _ = lab
    done = lab.run(*policy(lab, "a.example"), "--", sys.executable, "-c", SHOW)
    assert "HTTPS_PROXY" not in json.loads(done.stdout)
    assert "egress.allow has no effect in a run without --http-proxy" in done.stderr
    assert "http_proxy" not in lab.receipt()["boundary"]["listener"]


def test_a_variable_that_leads_around_everything_is_told(lab):
    lab, _ = lab
    lab = run_lab.RunLab(root=lab.root, variables={"NO_PROXY": "*"})
    done = lab.run("--http-proxy", "--", sys.executable, "-c", SHOW)
    assert json.loads(done.stdout)["NO_PROXY"] == "*"
    assert any("go around docket's proxy" in note["message"] for note in lab.events("note"))

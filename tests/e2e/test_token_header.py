"""The run's token in a header: it opens the door, and neither a provider nor the record gets to see it."""

from __future__ import annotations

import sys

from docket.demo.provider import ScriptedProvider
from docket.demo.script import Script, Tokens, Turn
from run_lab import build

CLIENT = """
import http.client, json, os, sys
origin, _, rest = os.environ["OPENAI_BASE_URL"].removeprefix("http://").partition("/")
token = rest.partition("/")[0]
open(sys.argv[1], "w").write(token)
body = json.dumps({"model": "gpt-4.1", "messages": [{"role": "user", "content": "hi"}]})
answers = []
for headers in (
    {"X-Docket-Token": token},
    {"OpenAI-Project": f"docket {token} proj_1"},
    {"OpenAI-Project": f"docket {token}"},
    {"x-docket-token": token[::-1]},
    {},
):
    connection = http.client.HTTPConnection(origin, timeout=30)
    connection.request("POST", "/openai/v1/chat/completions", body, {"content-type": "application/json", **headers})
    answers.append(connection.getresponse().status)
    connection.close()
print(answers)
"""


def test_it_lets_a_request_in_and_goes_no_further(tmp_path):
    lab = build(tmp_path)
    seen = tmp_path / "token"
    script = Script(turns=(Turn(text="hi", tokens=Tokens(fresh=10, output=1)),))
    with ScriptedProvider(script) as provider:
        command = ["--upstream", f"openai={provider.url}", "--", sys.executable, "-c", CLIENT, str(seen)]
        done = lab.run(*command)
        sent = [dict(exchange.headers) for exchange in provider.calls]
    assert done.stdout == "[200, 200, 200, 404, 404]\n", done.said
    token = seen.read_text()
    assert len(token) >= 16
    assert [headers.get("openai-project") for headers in sent] == [None, "proj_1", None]
    assert not any("x-docket-token" in headers or token in "".join(headers.values()) for headers in sent)
    left = [path for folder in (lab.state, lab.tree) for path in folder.rglob("*") if path.is_file()]
    assert len(left) >= 2
    assert not any(token.encode() in path.read_bytes() for path in left)
    denied = lab.events("net.denied")
    assert {(event["kind"], event["reason"]) for event in denied} == {("no-token", "bad_token")}
    assert sum(event["count"] for event in denied) == 2

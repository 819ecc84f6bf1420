"""Real agents, launched as their recipes plan it, against a server that refuses: in a home and a repository that both
try to send them elsewhere, every call must arrive at the address the plan gave, and the refusal must end the agent.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from agent_lab import program

from docket.errors import RefusedBeforeStartError
from docket.rules.agents.interface import LaunchRequest
from docket.rules.agents.registry import recognise

SECONDS = 60
NOWHERE = "http://127.0.0.1:9"  # the discard port: nothing listens there
TOKEN = "c0ffee00c0ffee00"


class _Refuses(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def _answer(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.server.seen.append((self.command, self.path, dict(self.headers.items()), body))
        # As the boundary does: a WebSocket is refused with the status that makes codex go on over HTTP.
        status = self.server.status if self.command == "POST" else 426 if "upgrade" in self.headers else 404
        error = {"message": "docket refused this call", "type": "invalid_request_error"}
        data = json.dumps({"type": "error", "error": error}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_HEAD = do_POST = do_CONNECT = _answer  # noqa: N815 - the names http.server calls


@contextmanager
def refusing_server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Refuses)
    server.daemon_threads = True
    server.seen, server.status = [], 400
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def launch(lab, server, argv, *, home=None, tree=None, **variables):
    """Plan as docket does, write the plan's files, start the agent; return (plan, exit code, output, POSTs seen)."""
    write(lab.root / "home", home or {})
    write(lab.repository, tree or {})
    run_dir = lab.root / "run"
    run_dir.mkdir()
    environ = {**lab.environment(), **variables}
    base = f"http://127.0.0.1:{server.server_port}/{TOKEN}"
    recipe = recognise(tuple(argv))

    def request(inputs):
        return LaunchRequest(argv=tuple(argv), environ=environ, base_url=base, run_dir=str(run_dir), inputs=inputs)

    wanted = {name: lab.repository / name for name in recipe.wanted_files(request({}))}
    planned = recipe.plan(
        request({name: path.read_bytes() if path.is_file() else None for name, path in wanted.items()})
    )
    for file in planned.files:
        (run_dir / file.name).write_bytes(file.data)
    server.status = planned.refusal.status
    done = subprocess.run(
        planned.argv,
        env={**environ, **planned.env_set},
        cwd=lab.repository,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=SECONDS,
        check=False,
    )
    return planned, done.returncode, done.stdout, [seen for seen in server.seen if seen[0] == "POST"]


def assert_refused_once(server, outcome, path, *, with_code):
    planned, code, said, posts = outcome
    assert [seen[1] for seen in posts] == [path], said
    assert all(seen[1].startswith((f"/{TOKEN}/", "/openai/")) for seen in server.seen)
    assert "docket refused this call" in said
    assert (code != 0) is with_code, said
    assert planned.notes is not None


PROXIES = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), NOWHERE)


@pytest.mark.parametrize("case", ["user", "tree", "both clouds", "own settings", "proxies"])
def test_claude(lab, case):
    claude = str(program("claude"))
    elsewhere = json.dumps({"env": {"ANTHROPIC_BASE_URL": NOWHERE, **PROXIES}})
    clouds = json.dumps({"env": {"CLAUDE_CODE_USE_BEDROCK": "1", "CLAUDE_CODE_USE_VERTEX": "1"}})
    argv, home, tree, variables = [claude, "-p", "hi"], {}, {}, {"ANTHROPIC_API_KEY": "sk-ant-dummy"}
    if case == "user":
        home = {".claude/settings.json": elsewhere}
    elif case == "tree":
        tree = {".claude/settings.json": elsewhere, ".claude/settings.local.json": elsewhere}
    elif case == "both clouds":
        tree = {".claude/settings.json": clouds}
    elif case == "own settings":
        argv, tree = [*argv, "--settings", "mine.json"], {"mine.json": elsewhere}
    else:
        variables |= PROXIES | {"NO_PROXY": "corp.example"}
    with refusing_server() as server:
        outcome = launch(lab, server, argv, home=home, tree=tree, **variables)
        assert_refused_once(server, outcome, f"/{TOKEN}/anthropic/v1/messages?beta=true", with_code=True)
    expected = {"anthropic": NOWHERE} if case in ("user", "own settings") else {}
    assert outcome[0].upstreams == expected


CODEX_ELSEWHERE = f"""
model_provider = "gw"
openai_base_url = "{NOWHERE}/v1"
[model_providers.gw]
name = "gw"
base_url = "{NOWHERE}/v1"
env_key = "GW_KEY"
[model_providers.docket]
name = "x"
base_url = "{NOWHERE}/v1"
"""
STORED_KEY = {".codex/auth.json": '{"auth_mode": "apikey", "OPENAI_API_KEY": "sk-stored"}'}


@pytest.mark.parametrize(
    ("case", "key"),
    [("stored", "sk-stored"), ("variable", "sk-variable"), ("own provider", "sk-gw"), ("profile", "sk-gw"),
     ("command line", "sk-gw"), ("tree", "sk-stored"), ("project", "sk-stored"), ("proxies", "sk-stored")],
)  # fmt: skip
def test_codex(lab, case, key):
    codex = str(program("codex"))
    argv, home, tree = [codex, "exec", "--skip-git-repo-check", "hi"], dict(STORED_KEY), {}
    variables = {"GW_KEY": "sk-gw"}
    if case == "variable":
        home, variables = {}, {"OPENAI_API_KEY": "sk-variable"}
    elif case == "own provider":
        home[".codex/config.toml"] = CODEX_ELSEWHERE
    elif case == "profile":
        home[".codex/work.config.toml"] = CODEX_ELSEWHERE
        argv[2:2] = ["-p", "work"]
    elif case == "command line":
        given = f'model_providers.gw={{name="gw",base_url="{NOWHERE}/v1",env_key="GW_KEY"}}'
        argv[2:2] = ["-c", 'model_provider="gw"', "-c", given]
    elif case == "tree":
        tree = {".codex/config.toml": CODEX_ELSEWHERE}
        home[".codex/config.toml"] = f'[projects."{lab.repository}"]\ntrust_level = "trusted"\n'
    elif case == "proxies":
        variables |= PROXIES
    elif case == "project":
        variables["OPENAI_PROJECT"] = "proj_1"
    with refusing_server() as server:
        outcome = launch(lab, server, argv, home=home, tree=tree, **variables)
        assert_refused_once(server, outcome, "/openai/v1/responses", with_code=True)
        handshakes = [seen[2] for seen in server.seen if seen[0] == "GET"]
    headers = {name.lower(): value for name, value in outcome[3][0][2].items()}
    assert headers["authorization"] == f"Bearer {key}"
    chosen = case in ("own provider", "profile", "command line")
    carried = f"docket {TOKEN} proj_1" if case == "project" else f"docket {TOKEN}"
    for sent in (headers, *({name.lower(): value for name, value in seen.items()} for seen in handshakes)):
        assert sent.get("x-docket-token") == (TOKEN if chosen else None)
        assert sent.get("openai-project") == (None if chosen else carried)
    assert outcome[0].upstreams == ({"openai": f"{NOWHERE}/v1"} if chosen else {})
    assert not any(TOKEN in word for word in outcome[0].argv)


DOTENV = "".join(
    f"{name}={NOWHERE}/v1\n"
    for name in (
        "OPENAI_API_BASE",
        "OPENAI_BASE_URL",
        "ANTHROPIC_API_BASE",
        "ANTHROPIC_BASE_URL",
        "AIDER_OPENAI_API_BASE",
    )
)
AIDER_CONF = (
    f"openai-api-base: {NOWHERE}/v1\nset-env:\n  - OPENAI_BASE_URL={NOWHERE}/v1\n  - ANTHROPIC_API_BASE={NOWHERE}\n"
)
MODELS = [
    ("openai/gpt-4o", f"/{TOKEN}/openai/v1/chat/completions"),
    ("anthropic/claude-sonnet-4-5", f"/{TOKEN}/anthropic/v1/messages"),
]
KEYS = {"OPENAI_API_KEY": "sk-dummy", "ANTHROPIC_API_KEY": "sk-ant-dummy"}


@pytest.mark.parametrize(("model", "path"), MODELS)
def test_aider_in_a_repository_that_sends_it_elsewhere(lab, model, path):
    argv = [str(program("aider")), "--model", model, "--message", "hi", "--yes-always", "--no-pretty", "--no-gitignore"]
    tree = {".env": DOTENV, ".aider.conf.yml": AIDER_CONF}
    with refusing_server() as server:
        outcome = launch(lab, server, argv, tree=tree, **KEYS)
        assert_refused_once(server, outcome, path, with_code=False)
    assert outcome[0].upstreams == {}
    assert len(outcome[0].notes) == 7


def test_aider_in_a_repository_that_fixes_a_models_address_is_not_started(lab):
    argv = [str(program("aider")), "--message", "hi"]
    tree = {".aider.model.settings.yml": f"- name: openai/gpt-4o\n  extra_params:\n    api_base: {NOWHERE}\n"}
    with refusing_server() as server, pytest.raises(RefusedBeforeStartError):
        launch(lab, server, argv, tree=tree, **KEYS)


@pytest.mark.parametrize(("model", "path"), MODELS)
def test_mini_in_a_repository_that_sends_it_elsewhere(lab, model, path):
    argv = [str(program("mini")), "-m", model, "-t", "hi", "-y", "--exit-immediately", "-o", str(lab.root / "t.json")]
    began = time.monotonic()
    with refusing_server() as server:
        outcome = launch(lab, server, argv, tree={".env": DOTENV}, **KEYS)
        assert_refused_once(server, outcome, path, with_code=True)
    # Ten tries would take five minutes.
    assert time.monotonic() - began < SECONDS

"""Runs a command beside a scripted provider in a network of nothing but the loopback, and tells what it asked for.

Started by `unshare -rn python alone.py SCRIPT OUT -- COMMAND…`, or without unshare where that is not allowed; then
nothing is told of names. `{provider}` in the command is the provider's address. OUT gets JSON: the exit code, what was
printed, the paths and models of the calls that came, and every name that was looked up.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

from docket.demo.provider import Limits, ScriptedProvider
from docket.demo.script import parse_script

SECONDS = 100
NO_SUCH_NAME = b"\x81\x83"


def nameservers() -> list[str]:
    """Return the IPv4 nameservers this machine asks."""
    with suppress(OSError):
        words = [line.split() for line in Path("/etc/resolv.conf").read_text().splitlines()]
        return [line[1] for line in words if line[:1] == ["nameserver"] and line[1].count(".") == 3]
    return []


def name_in(question: bytes) -> str:
    """Return the name a DNS question asks for."""
    labels, at = [], 12
    while at < len(question) and question[at]:
        labels.append(question[at + 1 : at + 1 + question[at]].decode("latin-1"))
        at += question[at] + 1
    return ".".join(labels)


def answer_names(address: str, asked: list[str]) -> None:
    """Answer every question at `address` with: no such name."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((address, 53))

    def serve() -> None:
        while True:
            data, peer = server.recvfrom(4096)
            asked.append(name_in(data))
            server.sendto(data[:2] + NO_SUCH_NAME + data[4:6] + bytes(6) + data[12:], peer)

    threading.Thread(target=serve, daemon=True).start()


def prepare(asked: list[str]) -> None:
    """Bring the loopback up and be the machine's nameservers."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for address in nameservers():
        if not address.startswith("127."):
            subprocess.run(["ip", "addr", "add", f"{address}/32", "dev", "lo"], check=True)
        answer_names(address, asked)


def main(arguments: list[str]) -> None:
    script, out, isolated, *command = arguments
    asked: list[str] = []
    if isolated == "alone":
        prepare(asked)
    limits = Limits(max_requests=400, max_seconds=SECONDS)
    with ScriptedProvider(parse_script(Path(script).read_bytes()), limits=limits) as provider:
        done = subprocess.run(
            [word.replace("{provider}", provider.url) for word in command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
        calls = [[call.target, None if call.asked is None else call.asked.model] for call in provider.calls]
        others = [exchange.target for exchange in provider.exchanges if exchange.call is None]
        sent = [name for exchange in provider.exchanges for name, _ in exchange.headers]
    found = {
        "exit_code": done.returncode,
        "stdout": done.stdout,
        "stderr": done.stderr,
        "calls": calls,
        "others": others,
        "headers": sorted({name.lower() for name in sent}),
        "names": sorted(set(asked)) if isolated == "alone" else None,
    }
    Path(out).write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])

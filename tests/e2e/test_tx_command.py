"""`docket tx` as a person meets it: what a run says of a stage that did not land is a command that works."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click
import pytest

from docket.formats.workspace.state import Status, TransactionState
from docket.stores.workspace.transactions import Transactions
from docket.surfaces.cli.main import main
from docket.surfaces.cli.transaction_choice import ids_like, paths_like
from run_lab import Done, RunLab, build

AGENT = "echo new > new.txt; echo two > f"
REVIEWED = ("--workspace-tx-settle", "review")


@pytest.fixture
def lab(tmp_path: Path) -> RunLab:
    made = build(Path(os.path.realpath(tmp_path)))
    (made.tree / "f").write_text("one\n")
    return made


def staged(lab: RunLab, *options: str, agent: str = AGENT) -> Done:
    return lab.run("--workspace-tx", "--workspace-tx-backend", "copy", *options, "--", "sh", "-c", agent)


def landing_of(done: Done) -> list[str]:
    """The arguments of the command that a run names to land what it left on its stage."""
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("docket: stage: ")]
    found = re.search(r"docket (tx commit .*) lands it$", line)
    assert found is not None, done.said
    return shlex.split(found[1])


@pytest.mark.parametrize(
    ("options", "agent", "code", "said"),
    [
        (("--workspace-tx-settle", "review"), AGENT, 0, "did not land (left-for-review: it waits for a review)"),
        (("--workspace-tx-protect", "f"), AGENT, 44, "did not land (refused: f lands only with an approval)"),
        ((), f"{AGENT}; exit 3", 3, "did not land (discarded: "),
    ],
)
def test_what_did_not_land_is_landed_by_the_command_that_the_run_names(
    options: tuple[str, ...], agent: str, code: int, said: str, lab: RunLab
) -> None:
    done = staged(lab, *options, agent=agent)
    assert done.exit_code == code, done.said
    assert said in done.stderr
    assert "2 paths changed in a stage that did not land (1 added, 1 modified)" in done.stderr
    assert (lab.tree / "f").read_text() == "one\n"
    report = lab.docket("report").stdout
    assert "Stage " in report
    landed = lab.docket(*landing_of(done))
    assert landed.exit_code == 0, landed.said
    assert [(lab.tree / name).read_text() for name in ("f", "new.txt")] == ["two\n", "new\n"]


def recorded(lab: RunLab) -> Path:
    """The one record of a later commit."""
    (path,) = lab.state.glob("workspace-tx/*/records/*.json")
    return path


def test_what_lands_later_is_signed_by_the_key_that_is_named_or_says_that_it_is_not(lab: RunLab) -> None:
    key = lab.root / "a.key"
    assert lab.docket("keygen", str(key)).exit_code == 0
    assert staged(lab, *REVIEWED, "--sign", str(key), agent="echo x > made").exit_code == 0
    done = lab.docket("tx", "commit", "--yes", "--sign", str(key))
    assert (done.exit_code, (lab.tree / "made").read_text()) == (0, "x\n"), done.said
    assert "signed by " in done.stderr
    verified = lab.docket("verify", str(recorded(lab)), "--public-key", f"{key}.pub", "--require", "verified", "--json")
    assert (verified.exit_code, json.loads(verified.stdout)["verdict"]) == (0, "verified"), verified.said
    assert "signature" in lab.docket("verify", str(recorded(lab)), "--public-key", f"{key}.pub").stdout
    assert lab.docket("verify", str(recorded(lab)), "--state", "x").exit_code == 2
    recorded(lab).write_bytes(recorded(lab).read_bytes().replace(b'"committed": true', b'"committed": false'))
    assert lab.docket("verify", str(recorded(lab)), "--json").exit_code == 1
    recorded(lab).write_bytes(b'{"format": "docket/workspace-commit/v1"}')
    assert "json: not_transactional is not the whole list" in lab.docket("verify", str(recorded(lab))).stderr


def test_the_key_of_a_policy_signs_what_lands_later_too_and_a_missing_one_stops_it(lab: RunLab) -> None:
    key, settings = lab.root / "a.key", lab.root / "home/.config/docket/policy.toml"
    assert lab.docket("keygen", str(key)).exit_code == 0
    assert staged(lab, *REVIEWED, "--sign", str(key), agent="echo x > made").exit_code == 0
    settings.parent.mkdir(parents=True)
    settings.write_text(f"[proof]\nsign = '{lab.root / 'gone.key'}'\n")
    assert lab.docket("tx", "commit", "--yes").exit_code == 43
    assert not (lab.tree / "made").exists()
    settings.write_text(f"[proof]\nsign = '{key}'\n")
    assert lab.docket("tx", "commit", "--yes").exit_code == 0
    assert json.loads(recorded(lab).read_bytes())["signature"]["alg"] == "ed25519"


def test_a_record_that_no_key_signed_says_so_where_its_run_was_signed(lab: RunLab) -> None:
    key = lab.root / "a.key"
    assert lab.docket("keygen", str(key)).exit_code == 0
    assert staged(lab, *REVIEWED, "--sign", str(key), agent="echo x > made").exit_code == 0
    assert "this record is not: --sign KEY" in lab.docket("tx", "commit", "--yes").stderr
    assert staged(lab, *REVIEWED, agent="echo y > made").exit_code == 0
    assert "--sign KEY" not in lab.docket("tx", "commit", "--yes").stderr


def test_a_stage_that_landed_needs_no_command(lab: RunLab) -> None:
    done = staged(lab)
    assert done.exit_code == 0, done.said
    assert "docket: stage: " not in done.stderr
    assert "2 paths changed (1 added, 1 modified)" in done.stderr
    assert re.search(r"Stage +transaction [0-9a-f]{12} landed\n", lab.docket("report").stdout)


def test_a_transaction_of_another_tree_is_landed_by_its_name_alone(lab: RunLab) -> None:
    staged(lab, "--workspace-tx-settle", "review")
    other, below = lab.root / "other", lab.tree / "below"
    for folder in (other, below):
        folder.mkdir()
    for command in ("commit", "discard", "diff", "show"):
        done = lab.docket("tx", command, cwd=other)
        assert done.exit_code == 75
        assert done.stderr.splitlines() == [
            f"docket: error: there is no transaction of {other}",
            "docket: docket tx list --all names those of other trees",
        ]
    assert (lab.tree / "f").read_text() == "one\n"
    assert lab.docket("tx", "commit", cwd=below).exit_code == 0
    assert (lab.tree / "f").read_text() == "two\n"


def test_what_is_over_cannot_be_discarded_and_where_there_is_nothing_that_is_told(lab: RunLab) -> None:
    assert lab.docket("tx", "list").stdout == "there is no transaction\n"
    assert lab.docket("tx", "show").stderr.splitlines()[1] == "docket: docket run --workspace-tx opens one"
    assert lab.docket("tx", "gc").stdout == "no transaction is over and older than 30 days\n"
    staged(lab)
    done = lab.docket("tx", "discard")
    assert done.exit_code == 75
    assert re.fullmatch(
        r"docket: error: [0-9a-f]{12} is committed, and cannot be discarded\n"
        r"docket: it is over: docket tx show tells what it changed\n",
        done.stderr,
    )


Inside = Callable[..., Done]


@pytest.fixture
def inside(lab: RunLab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Inside:
    """Return docket's commands in this process: what they say is the same, and a program each costs more than it."""
    for name, value in lab.environment().items():
        monkeypatch.setenv(name, value)

    def docket(*arguments: str, cwd: Path | None = None) -> Done:
        monkeypatch.chdir(cwd or lab.tree)
        capsys.readouterr()
        code = main(arguments)
        stdout, stderr = capsys.readouterr()
        return Done(exit_code=code, stdout=stdout, stderr=stderr)

    return docket


def test_a_quiet_run_is_told_by_the_lists(lab: RunLab, inside: Inside) -> None:
    done = staged(lab, "--workspace-tx-settle", "review", "-q")
    assert (done.exit_code, done.stdout) == (0, ""), done.said
    assert "workspace_tx" not in done.stderr
    assert "docket: stage" not in done.stderr
    runs = inside("runs").stdout.splitlines()
    assert runs[1].split()[2] == "review"
    assert runs[2].endswith("; 1 review")
    heading, row = inside("tx", "list").stdout.splitlines()
    assert heading.split()[:3] == ["id", "standing", "changed"]
    assert row.split()[1:3] == ["closed", "2"]
    other = lab.root / "other"
    other.mkdir()
    assert inside("tx", "list", cwd=other).stdout == "there is no transaction\n"
    assert "docket tx list --all lists 1 transaction of other trees" in inside("tx", "list", cwd=other).stderr
    assert str(lab.tree) in inside("tx", "list", "--all", cwd=other).stdout
    assert inside("tx", "list", "--standing", "refused").stdout == "no transaction stands so\n"
    assert json.loads(inside("tx", "list", "--standing", "refused", "--json").stdout) == []
    assert inside("tx", "commit").exit_code == 0
    assert inside("runs").stdout.splitlines()[1].split()[2] == "ok"
    diff = inside("tx", "diff")
    assert diff.exit_code == 75
    assert "docket tx show " in diff.stderr


def test_what_is_discarded_and_cleared_away_is_told_as_json(lab: RunLab, inside: Inside) -> None:
    staged(lab, "--workspace-tx-settle", "review")
    discarded = json.loads(inside("tx", "discard", "--json").stdout)
    assert (discarded["standing"], discarded["reason"]) == ("discarded", "settle-discard")
    told = json.loads(inside("tx", "gc", "--days", "0", "--dry-run", "--json").stdout)
    assert (told["removed"], [item["id"] for item in told["transactions"]]) == (False, [discarded["id"]])
    assert json.loads(inside("tx", "gc", "--days", "0", "--json").stdout)["removed"] is True
    assert json.loads(inside("tx", "gc", "--days", "0", "--json").stdout) == {"removed": True, "transactions": []}
    (stages,) = [line for line in inside("doctor").stdout.splitlines() if line.split()[1] == "stages"]
    assert "copy" in stages


def test_one_that_cannot_be_cleared_away_is_told_and_keeps_no_other(
    lab: RunLab, inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    staged(lab)
    store = Transactions(lab.state / "workspace-tx")
    (state,) = store.every()
    assert isinstance(state, TransactionState)
    store.create(replace(state, id="0" * 12), store.base_listing(state))

    def fails(path: Path) -> None:
        if path == store.path("0" * 12):
            raise OSError(errno.EIO, "Input/output error")
        shutil.rmtree(path)

    monkeypatch.setattr("docket.stores.workspace.transactions.remove_tree", fails)
    done = inside("tx", "gc", "--days", "0", "--json")
    told = json.loads(done.stdout)
    assert (done.exit_code, [item["id"] for item in told["transactions"]]) == (1, [state.id])
    (left,) = told["not_removed"]
    assert (left["id"], left["detail"].startswith(f"cannot remove {store.path(left['id'])}: ")) == ("0" * 12, True)
    again = inside("tx", "gc", "--days", "0")
    assert (again.exit_code, again.stdout) == (1, "")
    assert f"docket: {'0' * 12} is not removed: cannot remove " in again.stderr


BACKENDS = ("copy", "overlay")


@pytest.mark.parametrize("backend", BACKENDS)
def test_chosen_hunks_land_and_the_successor_has_the_rest(backend: str, lab: RunLab, inside: Inside) -> None:
    before = "".join(f"{number}\n" for number in range(20))
    (lab.tree / "f").write_text(before)
    (lab.tree / "f").chmod(0o644)
    agent = "sed -i 's/^3$/three/; s/^15$/fifteen/' f; chmod 755 f; echo new > new.txt"
    done = lab.run(
        "--workspace-tx", "--workspace-tx-backend", backend, "--workspace-tx-settle", "review",
        "--workspace-tx-protect", "f", "--", "sh", "-c", agent,
    )  # fmt: skip
    if done.exit_code == 43:
        pytest.skip(f"no {backend} here: {done.stderr}")
    assert done.exit_code == 0, done.said
    told = json.loads(inside("tx", "diff", "--json", "-p").stdout)
    file, new = told["changes"]
    assert [hunk.get("lines") for hunk in file["hunks"]] == [None, ["-3", "+three"], ["-15", "+fifteen"]]
    assert (file["protected"], new["protected"], new["no_hunks"]) == (True, False, "it is not a file on both sides")
    chosen = lab.root / "chosen.json"

    def choose(digest: str, *hunks: str) -> Done:
        take = [{"path": "f", "hunks": list(hunks)}]
        chosen.write_text(json.dumps({"format": "docket/workspace-hunks/v1", "diff_sha256": digest, "take": take}))
        return inside("tx", "commit", "--hunks", str(chosen))

    names = [hunk["name"] for hunk in file["hunks"]]
    for digest, hunk, code, said in (
        ("ab" * 32, names[1], 75, "were chosen from another change set than this one"),
        (told["diff_sha256"], "9-0123456789ab", 2, "f has no hunk 9-0123456789ab"),
        (told["diff_sha256"], names[2], 44, ""),  # it is protected, and nobody approved
    ):
        refused = choose(digest, hunk)
        assert (refused.exit_code, said in refused.stderr) == (code, True), refused.said
    assert inside("tx", "commit", "--hunks", str(chosen), "--only", "f").exit_code == 2
    assert inside("tx", "commit", "--hunks", str(lab.root / "none")).exit_code == 75
    digest = json.loads(inside("tx", "diff", "--json", "--hunks", str(chosen)).stdout)["diff_sha256"]
    landed = inside("tx", "commit", "--hunks", str(chosen), "--approve", digest)
    assert landed.exit_code == 0, landed.said
    assert (lab.tree / "f").read_text() == before.replace("\n15\n", "\nfifteen\n")
    assert (lab.tree / "f").stat().st_mode & 0o777 == 0o644
    assert not (lab.tree / "new.txt").exists()
    rest = json.loads(inside("tx", "diff", "--json").stdout)
    assert [hunk["name"].partition("-")[0] for hunk in rest["changes"][0]["hunks"]] == ["mode", "1"]
    assert inside("tx", "commit", "--approve", rest["diff_sha256"]).exit_code == 0
    assert (lab.tree / "f").read_text() == before.replace("\n3\n", "\nthree\n").replace("\n15\n", "\nfifteen\n")
    assert (lab.tree / "f").stat().st_mode & 0o777 == 0o755
    assert (lab.tree / "new.txt").read_text() == "new\n"


def test_a_file_without_hunks_says_why(lab: RunLab, inside: Inside) -> None:
    (lab.tree / "twin").write_text("1\n2\n")
    os.link(lab.tree / "twin", lab.tree / "other-twin")
    (lab.tree / "large").write_text("x\n" * 600_000)
    (lab.tree / "moved").write_text("1\n2\n")
    (lab.tree / "turns").write_text("1\n")
    agent = "for name in twin large moved; do echo more >> $name; done; printf '\\0' >> f; rm turns; mkdir turns"
    assert staged(lab, "--workspace-tx-settle", "review", agent=agent).exit_code == 0
    (lab.tree / "moved").write_text("somebody else\n")
    told = json.loads(inside("tx", "diff", "--json").stdout)
    assert {item["path"]: (item.get("no_hunks"), item["hunks"]) for item in told["changes"]} == {
        "f": ("it is binary", []),
        "large": ("it has more than 1,048,576 bytes", []),
        "moved": ("it changed in the tree since", []),
        "other-twin": ("it has several names", []),
        "turns": ("it is not a file on both sides", []),
        "twin": ("it has several names", []),
    }


def test_the_shell_completes_ids_and_changed_paths(lab: RunLab, inside: Inside) -> None:
    staged(lab, "--workspace-tx-settle", "review")
    (listed,) = json.loads(inside("tx", "list", "--json").stdout)
    context = click.Context(click.Command("commit"))
    assert ids_like(context, click.Argument(["transaction"]), listed["id"][:3]) == [listed["id"]]
    context.params["transaction"] = listed["id"]
    assert paths_like(context, click.Option(["--only"]), "n") == ["new.txt"]
    context.params["transaction"] = "ffffffffffffff"
    assert paths_like(context, click.Option(["--only"]), "") == []


def test_a_part_that_landed_and_whose_rest_waits_says_so(lab: RunLab, inside: Inside) -> None:
    staged(lab, "--workspace-tx-settle", "review", agent="echo 1 > one; echo 2 > two")
    assert inside("tx", "commit", "--only", "one").exit_code == 0
    part, rest = json.loads(inside("tx", "list", "--json").stdout)
    assert (part["standing"], part["successor"], rest["standing"]) == ("committed", rest["id"], "closed")
    store = Transactions(lab.state / "workspace-tx")
    chosen = store.changes(part["id"])
    assert chosen is not None
    store.save_chosen(part["id"], chosen)  # as it stands where docket died before the rest was handed over
    told = json.loads(inside("tx", "list", "--json").stdout)
    assert [item.get("awaits_recovery") for item in told] == [True, None]
    _, first, second = inside("tx", "list").stdout.splitlines()
    assert first.endswith("docket tx recover ends it")
    assert "recover" not in second
    assert "recovery           docket tx recover ends it" in inside("tx", "show", part["id"]).stdout.splitlines()
    assert inside("tx", "recover").exit_code == 0
    assert "recover" not in inside("tx", "list").stdout


def test_a_run_that_was_cut_short_is_told_by_recover_and_ended_by_discard(lab: RunLab) -> None:
    staged(lab, "--workspace-tx-settle", "review")
    store = Transactions.of({"DOCKET_STATE_DIR": str(lab.state)})
    (state,) = store.every()
    assert isinstance(state, TransactionState)
    gone = replace(state.owner, started="1")  # a process id that another process has by now
    store.save(replace(state, status=Status.OPEN, owner=gone))
    told = lab.docket("tx", "recover")
    assert (told.exit_code, told.stdout) == (0, "no commit in this tree was interrupted\n")
    assert f"the run of {state.id} was cut short" in told.stderr
    assert lab.docket("tx", "discard", state.id).exit_code == 0
    assert lab.docket("tx", "recover").stdout == "nothing in this tree was interrupted\n"


def test_where_the_newest_cannot_be_read_no_older_one_is_meant_for_it(lab: RunLab) -> None:
    for agent in ("echo first > f", "echo second > f"):
        assert staged(lab, "--workspace-tx-settle", "review", agent=agent).exit_code == 0
    first, second = (item["id"] for item in json.loads(lab.docket("tx", "list", "--json").stdout))
    path = lab.state / "workspace-tx" / second / "tx.json"
    path.write_bytes(path.read_bytes()[:40])
    for command in (("commit", "--yes"), ("discard",), ("diff",)):
        done = lab.docket("tx", *command)
        assert done.exit_code == 1, done.said
        assert f"{second} cannot be read: " in done.stderr
        assert f"name it: {first}\n" in done.stderr
    assert (lab.tree / "f").read_text() == "one\n"
    assert lab.docket("tx", "commit", "--yes", first).exit_code == 0
    assert (lab.tree / "f").read_text() == "first\n"


def test_a_damaged_transaction_that_is_older_is_in_nobodys_way(lab: RunLab) -> None:
    assert staged(lab, "--workspace-tx-settle", "review", agent="echo first > f").exit_code == 0
    (first,) = (item["id"] for item in json.loads(lab.docket("tx", "list", "--json").stdout))
    folder = lab.state / "workspace-tx" / first
    (folder / "tx.json").write_bytes(b"{")
    os.utime(folder, (1, 1))
    alone = lab.docket("tx", "commit", "--yes")
    assert alone.exit_code == 75
    assert f"; {folder}, which cannot be read, may be of this one\n" in alone.stderr
    assert staged(lab, "--workspace-tx-settle", "review", agent="echo second > f").exit_code == 0
    assert lab.docket("tx", "commit", "--yes").exit_code == 0
    assert (lab.tree / "f").read_text() == "second\n"

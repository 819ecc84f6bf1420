"""The launch phase: the recipe's plan, its per-run files, and the agent's start."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from docket.engines.supervise.request import RunRequest, RunWorld
from docket.engines.supervise.session import OpenRun, Session, argv_members
from docket.formats.dataclass import replace
from docket.formats.ledger.session_events import Note, ProcSpawn
from docket.formats.visible import shown_and_coded
from docket.host.isolation import detect
from docket.host.process import Agent, SpawnRequest
from docket.host.stage_mount import StageMount
from docket.rules.agents.environment import no_proxy, proxy_variables
from docket.rules.agents.interface import LaunchPlan, LaunchRequest
from docket.rules.windows.hook_address import SESSION_URL_VARIABLE, hooks_url
from docket.stores.live import live_path, make_live_links, write_live_files

# What git sets for its hooks, and a person may have set: each names files of one repository.
_OF_A_REPOSITORY = frozenset(
    (
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_COMMON_DIR",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_NAMESPACE",
        "GIT_PREFIX",
        "OLDPWD",
    )
)
_AROUND_ALL = "NO_PROXY is * in your environment: programs that heed it go around docket's proxy"
_NO_HOOKS = "the agent is given no hooks: what each of its tool calls changes is not kept"
_UNBOUND = "http://127.0.0.1:1/unbound"


def rehearse(request: RunRequest, world: RunWorld) -> LaunchPlan:
    """Plan with an address that is not bound, to learn what the recipe refuses and which upstreams it found.

    RefusedBeforeStartError where the agent cannot be made to reach the boundary.
    """
    return plan(request, world, (_UNBOUND, f"{_UNBOUND}/docket"), live_path(request.layout, "unbound"))


def plan(request: RunRequest, world: RunWorld, urls: tuple[str, str | None], run_dir: Path) -> LaunchPlan:
    """Return the recipe's plan for these addresses: the boundary's, and the session's where there is one."""
    base_url, session_url = urls
    wanted = LaunchRequest(
        argv=request.argv,
        environ=request.environ,
        base_url=base_url,
        run_dir=str(run_dir),
        hooks_url=None if session_url is None else hooks_url(session_url),
        hook_command=request.hook_command,
    )
    inputs = {name: world.read_file(name) for name in request.recipe.wanted_files(wanted)}
    return request.recipe.plan(replace(wanted, inputs=inputs))


def launch(run: OpenRun, planned: LaunchPlan, run_dir: Path, session_url: str | None) -> Agent:
    """Write the plan's files and start the agent; what was started stands in the record."""
    request, ledger = run.request, run.session.ledger
    write_live_files(run_dir, {item.name: item.data for item in planned.files})
    make_live_links(run_dir, {item.name: item.target for item in planned.links})
    notes = planned.notes
    if request.hook_command and not planned.has_hooks:
        notes = (*notes, _NO_HOOKS)
        run.world.watcher.warned(_NO_HOOKS)
    for sentence in notes:
        ledger.append(Note(code="recipe", message=sentence), control=True)
    ledger.append(_spawn_payload(request, planned, _workplace(run)[0]), control=True)
    ledger.flush()
    environment = environment_of(request.environ, planned, run.session, session_url)
    cwd, mount = _workplace(run)
    if run.stage is not None:
        environment = on_stage(environment, cwd)
    return run.world.spawn(SpawnRequest(argv=planned.argv, cwd=cwd, env=environment, mount=mount))


def _workplace(run: OpenRun) -> tuple[str, StageMount | None]:
    """Return the agent's working directory, and what it is started in where that is mounted."""
    if run.stage is None or run.stage.stage.mount is not None:
        return os.fspath(run.request.cwd), None if run.stage is None else run.stage.stage.mount
    return os.fspath(run.stage.stage.root), None


def on_stage(environment: Mapping[str, str], cwd: str) -> dict[str, str]:
    """Return the environment of an agent on a stage: no variable of git's leads it back to the tree."""
    kept = {name: value for name, value in environment.items() if name not in _OF_A_REPOSITORY}
    return {**kept, "PWD": cwd}


def through_proxy(planned: LaunchPlan, environ: Mapping[str, str], base_url: str) -> LaunchPlan:
    """Return the plan with the boundary as the agent's proxy; what the plan itself sets stays."""
    around = no_proxy(environ)
    notes = (*planned.notes, _AROUND_ALL) if "*" in around.values() else planned.notes
    return replace(planned, env_set={**around, **proxy_variables(base_url), **planned.env_set}, notes=notes)


def environment_of(
    environ: Mapping[str, str], planned: LaunchPlan, session: Session, session_url: str | None
) -> dict[str, str]:
    """Return the agent's environment: the person's, and over it what the plan sets and the run's names."""
    own = {"DOCKET_SESSION": session.session_id, "DOCKET_NUMBER": session.docket_number}
    if session_url is not None:
        own[SESSION_URL_VARIABLE] = session_url
    return {**environ, **planned.env_set, **own}


def _spawn_payload(request: RunRequest, planned: LaunchPlan, workplace: str) -> ProcSpawn:
    # The per-run folder and the token are the run's own; the record holds the command as the person would know it.
    argv, argv_b64 = argv_members(request.argv)
    cwd, cwd_b64 = shown_and_coded(os.fsencode(workplace))
    return ProcSpawn(
        argv=argv,
        argv_b64=argv_b64,
        cwd=cwd,
        cwd_b64=cwd_b64,
        env_set=tuple(sorted(planned.env_set)),
        isolation=detect().names(),
    )

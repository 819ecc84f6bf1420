"""What a launch recipe is: how one agent program is pointed at the boundary, as a plan of values.

Rules (docs/reference/agents.md):
1. A plan sets environment, arguments and files of the run alone; it never touches the person's own configuration.
2. What the person had pointed the agent at becomes the upstream of the boundary, so that nothing is rerouted.
3. An agent that cannot be made to reach the boundary is refused before it starts, with the reason.
4. The run's token stands in a header where the agent sends one of its own configuration to the model alone, else in
   the address; in an argument only where the agent offers no other way, and then the plan says so.

A recipe reads no file and no clock: what it needs to know is handed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from docket.formats.dataclass import dataclass, field

# The header that carries the run's token, and the one that may carry it before its own value (`docket TOKEN own`).
TOKEN_HEADER = "x-docket-token"  # noqa: S105 - a header's name, not a secret
CARRIER_HEADER = "openai-project"
CARRIED_TOKEN = "docket"  # noqa: S105 - the word before it, not a secret


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRequest:
    """What a recipe plans from.

    `argv` and `environ` are the person's, surrogateescape text. `base_url` is `http://127.0.0.1:PORT/TOKEN` without
    a slash at its end; a provider stands below it (`{base_url}/anthropic`, `{base_url}/openai/v1`). `run_dir` is the
    absolute path of the folder in which the plan's files will be written. `inputs` holds the bytes of what
    `Recipe.wanted_files` named, None for what does not exist or cannot be read. `hooks_url` is the address that the
    run's hooks are posted below (`{hooks_url}/AGENT/EVENT`), None where the run takes none; `docket hook AGENT EVENT`
    in the agent's environment finds it by itself. `hook_command` are the words that start docket for a hook, empty
    where the agent is to be given no hooks.
    """

    argv: tuple[str, ...]
    environ: Mapping[str, str]
    base_url: str
    run_dir: str
    inputs: Mapping[str, bytes | None] = field(default_factory=dict)
    hooks_url: str | None = None
    hook_command: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        """The boundary's address without the token, for requests that carry it in a header."""
        return self.base_url.rpartition("/")[0]

    @property
    def token(self) -> str:
        """The run's token."""
        return self.base_url.rpartition("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFile:
    """A file to write (mode 0600) below the run's folder before the agent starts; `name` may have folders in it."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLink:
    """A link to make below the run's folder, to what the person has at the absolute path `target`."""

    name: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalStyle:
    """How the boundary refuses a call of this agent; `status` is the HTTP status of the protocol's error.

    `misread` are sequences of digits that the agent, wherever it finds them in an error, takes for the status of a
    fault that passes: in 0.036500 dollars, say, or in a docket number. None of them is left in what it reads.
    """

    status: int = 400
    misread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPlan:
    """How the agent is started.

    `env_set` is put over the person's environment. `upstreams` maps a provider to the address the person had
    configured for it. `notes` are sentences for the person and the record; they hold no
    secret. `tolerates_usage_injection` says whether the boundary may ask for usage in a Chat stream that does not.
    `agent_headers` are the request headers, in lower case, that name a sub-agent, the first that is there. `has_hooks`
    says whether the agent will tell docket of its tools.
    """

    argv: tuple[str, ...]
    env_set: Mapping[str, str]
    files: tuple[RunFile, ...] = ()
    links: tuple[RunLink, ...] = ()
    notes: tuple[str, ...] = ()
    refusal: RefusalStyle = field(default_factory=RefusalStyle)
    tolerates_usage_injection: bool = False
    upstreams: Mapping[str, str] = field(default_factory=dict)
    agent_headers: tuple[str, ...] = ()
    has_hooks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFacts:
    """What a person should know of a recipe, as sentences; `docket agents` and its reference page show them.

    `program` is what a person types, empty where a recipe is for no program of its own, and `packages` the npm or
    PyPI packages it comes in; `tried` are the versions the recipe was tried on. `token` says where the run's token
    stands, `quiet` what is switched off, `retries` what the agent does after a refusal and a fault, `signals` how it
    ends when it is stopped, `refused` what is not started, `limits` what holds nevertheless, `remarks` what else
    there is to know.
    """

    title: str
    program: str
    tried: tuple[str, ...]
    reached: str
    token: str
    retries: str
    signals: str
    packages: tuple[str, ...] = ()
    also_as: str = ""
    quiet: str = "nothing"
    refused: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


class Recipe(Protocol):
    """One agent program. `name` is what `--agent` takes and `session.start` records."""

    @property
    def name(self) -> str:
        """The recipe's name."""
        ...

    @property
    def facts(self) -> AgentFacts:
        """What a person should know of it."""
        ...

    def recognises(self, argv: tuple[str, ...], /) -> bool:
        """Whether this command line starts the agent."""
        ...

    def wanted_files(self, request: LaunchRequest, /) -> tuple[str, ...]:
        """Absolute or cwd-relative paths whose bytes the plan needs in `request.inputs`.

        One that ends in a slash asks for the names in a folder, sorted, one a line.
        """
        ...

    def plan(self, request: LaunchRequest, /) -> LaunchPlan:
        """Return the plan; RefusedBeforeStartError(AGENT_UNSUPPORTED) where the boundary cannot be reached."""
        ...

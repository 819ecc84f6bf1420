"""The launch recipe of opencode. Tried on 1.18.33.

What it must do (measured): `OPENCODE_CONFIG_CONTENT` is put over the person's and the tree's configuration, member by
member, so what the run needs stands there and the person's own content is kept below it. `enabled_providers` leaves
only providers that are metered, so neither a repository nor a choice inside opencode leads around the boundary. Into a
configuration folder that has none opencode installs its plugin package from the npm registry; nothing switches that
off without reaching what opencode starts. It tries an error again whose text has the digits of certain statuses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from urllib.parse import quote

from docket.errors import RefusedBeforeStartError
from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason
from docket.rules.agents.commandline import Program, option_uses
from docket.rules.agents.documents import merged, read_object, table, text_at
from docket.rules.agents.environment import is_on, no_proxy
from docket.rules.agents.hook_settings import SWITCHED_OFF, plugin_text, words_of
from docket.rules.agents.interface import TOKEN_HEADER, AgentFacts, LaunchPlan, LaunchRequest, RefusalStyle, RunFile
from docket.rules.agents.services import SERVICES, Placed, beside, nested, placed, placed_at

CONTENT = "OPENCODE_CONFIG_CONTENT"
PLUGIN = "docket-opencode.js"
MANAGED = ("/etc/opencode/opencode.json", "/etc/opencode/opencode.jsonc")
TREE = ("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc")

_PROGRAM = Program(names=("opencode",), packages=("opencode-ai",), script_parts=("/opencode-ai/",))
_NAMES = ("config.json", "opencode.json", "opencode.jsonc")
_VARIABLE = re.compile(r"\{env:([^}]+)\}")
_WHY = "a repository does not choose where calls go"
_MISREAD = ("429", "500", "502", "503", "504", "524")
_QUIET = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}
_FACTS = AgentFacts(
    title="opencode",
    program="opencode",
    also_as="npx or node",
    tried=("1.18.33",),
    packages=_PROGRAM.packages,
    reached="OPENCODE_CONFIG_CONTENT, put over your configuration; only providers that docket meters are left enabled",
    token="in a header, from the environment",  # noqa: S106 - where it stands
    quiet="updates, the fetch of the model list, and sharing unless you configured it",
    retries="a refusal is final at once; 429 and 5xx are tried again as opencode does",
    signals="SIGINT ends it and leaves its tools running, which docket ends",
    refused=(
        "a chosen provider whose address docket does not know",
        "an address in the machine's managed configuration",
        "attaching to a server that runs elsewhere",
    ),
    remarks=("some digits of a refusal are parted by _, for opencode would take them for a status to try again after",),
    limits=("into a configuration folder that has none it installs its plugin package from the npm registry",),
)


@dataclass(frozen=True, slots=True)
class OpencodeRecipe:
    """opencode, by configuration in the environment."""

    name: str = "opencode"
    facts: AgentFacts = field(default=_FACTS, repr=False)

    def recognises(self, argv: tuple[str, ...]) -> bool:
        """Whether the program is `opencode`, also through npx or node."""
        return _PROGRAM.arguments_at(argv) is not None

    def wanted_files(self, request: LaunchRequest) -> tuple[str, ...]:
        """The person's, the tree's and the machine's configuration."""
        return (*_own_files(request), *TREE, *MANAGED)

    def plan(self, request: LaunchRequest) -> LaunchPlan:
        """Point the agent at the boundary; refuse what leads around it."""
        own: dict[str, object] = {}
        for path in _own_files(request):
            own = merged(own, read_object(request.inputs.get(path)) or {})
        content = _content(request)
        own = merged(own, content)
        _refuse_elsewhere(request)
        places = _places(request, own)
        _refuse_unmetered(request, own, places)
        plugins, files, off = _plugin(request, content)
        pointed = beside(request, {name: url for place in places.values() for name, url in place.upstreams.items()})
        return LaunchPlan(
            argv=request.argv,
            env_set={
                **pointed.variables,
                **no_proxy(request.environ),
                **_QUIET,
                CONTENT: json.dumps({**merged(content, _over(request, own, places)), **plugins}),
            },
            files=files,
            notes=(*pointed.notes, *_notes(request, places), *off),
            has_hooks=bool(files),
            refusal=RefusalStyle(misread=_MISREAD),
            tolerates_usage_injection=True,
            upstreams=pointed.upstreams,
        )


def _plugin(
    request: LaunchRequest, content: Mapping[str, object]
) -> tuple[dict[str, object], tuple[RunFile, ...], tuple[str, ...]]:
    """Return the plugins of the content, the run's own among them, with its file; a note where plugins are off."""
    words = words_of(request)
    if words is None:
        return {}, (), ()
    if "--pure" in request.argv or is_on(request.environ.get("OPENCODE_PURE")):
        return {}, (), (SWITCHED_OFF.format("opencode by --pure"),)
    given = content.get("plugin")
    plugins = [
        *(given if isinstance(given, list) else ()),
        f"file://{quote(request.run_dir, errors='surrogateescape')}/{PLUGIN}",
    ]
    return {"plugin": plugins}, (RunFile(name=PLUGIN, data=plugin_text("opencode", words)),), ()


def _folders(request: LaunchRequest) -> tuple[str, ...]:
    home = request.environ.get("HOME")
    config = request.environ.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else None)
    own = request.environ.get("OPENCODE_CONFIG_DIR")
    folders = [f"{config}/opencode/"] if config else []
    return (*folders, *([f"{own.rstrip('/')}/"] if own else []))


def _own_files(request: LaunchRequest) -> tuple[str, ...]:
    named = request.environ.get("OPENCODE_CONFIG")
    files = [f"{folder}{name}" for folder in _folders(request) for name in _NAMES]
    return (*files, *((named,) if named else ()))


def _content(request: LaunchRequest) -> dict[str, object]:
    given = request.environ.get(CONTENT)
    content = read_object(given) if given else {}
    if content is None:
        raise _refused(f"{CONTENT} is no JSON object, so docket cannot add to it", "correct it or unset it")
    return content


def _refuse_elsewhere(request: LaunchRequest) -> None:
    start = _PROGRAM.arguments_at(request.argv) or 1
    words = request.argv[start:]
    if words[:1] == ("attach",) or option_uses(request.argv, start, ("--attach",)):
        raise _refused("opencode is told to attach to a server that runs outside this run", "start it without attach")
    for path in MANAGED:
        for name, settings in table(read_object(request.inputs.get(path)), "provider").items():
            if text_at(settings, "options", "baseURL") is not None:
                detail = f"the managed configuration of this machine ({path}) gives {name} an address"
                raise _refused(f"{detail}, which no run can change", "ask who manages it")


def _places(request: LaunchRequest, own: Mapping[str, object]) -> dict[str, Placed]:
    """Return where each provider stands that can be metered: the known ones, and those with an address of their own."""
    found = {name: placed(request.origin, name) for name in SERVICES}
    for name, settings in table(own, "provider").items():
        url = text_at(settings, "options", "baseURL") or text_at(settings, "api")
        if url is None:
            continue
        url = _VARIABLE.sub(lambda match: request.environ.get(match[1], ""), url)
        there = nested(url, table(settings, "options", "headers"), TOKEN_HEADER)
        found[name] = placed_at(request.origin, name, there, f"{name} in opencode's configuration")
    return found


def _refuse_unmetered(request: LaunchRequest, own: Mapping[str, object], places: Mapping[str, Placed]) -> None:
    start = _PROGRAM.arguments_at(request.argv) or 1
    uses = option_uses(request.argv, start, ("-m", "--model"))
    model = uses[-1].value if uses else text_at(own, "model")
    provider = (model or "").partition("/")[0]
    if provider and provider not in places:
        raise _refused(
            f"opencode is set to use the provider {provider!r}, whose address docket does not know",
            f"give provider.{provider}.options.baseURL in opencode's configuration, or choose another model",
        )


def _over(request: LaunchRequest, own: Mapping[str, object], places: Mapping[str, Placed]) -> dict[str, object]:
    chosen = own.get("enabled_providers")
    enabled = [name for name in places if not isinstance(chosen, list) or name in chosen]
    providers = {
        name: {"options": {"baseURL": place.address, "headers": {TOKEN_HEADER: request.token}}}
        for name, place in places.items()
        if name in enabled
    }
    over: dict[str, object] = {"autoupdate": False, "enabled_providers": enabled, "provider": providers}
    return over if "share" in own else {**over, "share": "disabled"}


def _notes(request: LaunchRequest, places: Mapping[str, Placed]) -> tuple[str, ...]:
    notes = []
    for path in TREE:
        for name, settings in table(read_object(request.inputs.get(path)), "provider").items():
            if text_at(settings, "options", "baseURL") is not None:
                followed = "not followed" if name in places else "not followed, and the provider is switched off"
                notes.append(f"the address of {name} in {path} is {followed}: {_WHY}")
    return tuple(notes)


def _refused(detail: str, hint: str) -> RefusedBeforeStartError:
    return RefusedBeforeStartError(
        Reason.AGENT_UNSUPPORTED, detail, hint=f"{hint}, or use --agent none to run without a budget"
    )

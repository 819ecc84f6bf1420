"""Join the modules of `verify-js/src` to `verify-js/docket-verify.mjs`, one module without an import.

    python tools/bundle_verifier.py           # writes it
    python tools/bundle_verifier.py --check   # exit code 1 where it is not up to date

Rules: each module becomes a function that returns what it exports, in an order in which everything stands behind what
it needs; a cycle, an import from elsewhere, and text that would end a script in a page are refused. Comments stay: the
file is meant to be read.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path, PurePosixPath

VERIFIER = Path(__file__).resolve().parent.parent / "verify-js"
SOURCES, BUNDLE, ENTRY = VERIFIER / "src", VERIFIER / "docket-verify.mjs", "index.mjs"

_IMPORT = re.compile(r"^import\s+(?P<what>\{[^}]*\}|\*\s+as\s+\w+)\s+from\s+\"(?P<path>\.[^\"]+)\";\n", re.MULTILINE)
_EXPORT_FROM = re.compile(r"^export\s+\{(?P<what>[^}]*)\}\s+from\s+\"(?P<path>\.[^\"]+)\";\n", re.MULTILINE)
_EXPORT = re.compile(r"^export\s+(?=(?:async\s+)?(?:const|let|class|function\*?)\s+(?P<name>\w+))", re.MULTILINE)
_OTHER = re.compile(r"^(?:import|export)\b|\bimport\(", re.MULTILINE)
_ENDS_A_SCRIPT = ("</script", "<!--")

_HEAD = """\
// docket-verify: verifies docket receipts and ledgers. No dependencies; for Node 20 or newer and browsers.
//
// Written by tools/bundle_verifier.py from verify-js/src: change those. Licensed under Apache-2.0.

"""


def bundle(sources: Path = SOURCES) -> str:
    """Return the text of the joined module."""
    done: dict[str, str] = {}
    names: list[str] = []
    _add(sources, ENTRY, done, names, ())
    exported = ", ".join(sorted(_split_names(sources, ENTRY)))
    text = _HEAD + "\n".join(done[name] for name in names) + f"\nexport const {{ {exported} }} = {_variable(ENTRY)};\n"
    for mark in _ENDS_A_SCRIPT:
        if mark in text:
            raise SystemExit(f"the sources hold {mark}, which would end a script in a page")
    return text


def _add(sources: Path, name: str, done: dict[str, str], names: list[str], above: tuple[str, ...]) -> None:
    if name in above:
        raise SystemExit(f"a cycle of imports: {' > '.join((*above, name))}")
    if name in done:
        return
    text = (sources / name).read_text("utf-8")
    for match in (*_IMPORT.finditer(text), *_EXPORT_FROM.finditer(text)):
        _add(sources, _resolved(name, match["path"]), done, names, (*above, name))
    done[name] = _wrapped(name, text)
    names.append(name)


def _wrapped(name: str, text: str) -> str:
    exports: list[str] = []

    def bring_in(match: re.Match[str]) -> str:
        source = _variable(_resolved(name, match["path"]))
        what = match["what"]
        if what.startswith("*"):
            return f"const {what.split()[-1]} = {source};\n"
        return f"const {what.replace(' as ', ': ')} = {source};\n"

    def pass_on(match: re.Match[str]) -> str:
        source = _variable(_resolved(name, match["path"]))
        exports.extend(f"{to}: {source}.{name}" for name, to in _listed(match["what"]))
        return ""

    def own(match: re.Match[str]) -> str:
        exports.append(match["name"])
        return ""

    body = _EXPORT.sub(own, _EXPORT_FROM.sub(pass_on, _IMPORT.sub(bring_in, text)))
    if _OTHER.search(body):
        raise SystemExit(f"{name}: a form of import or export that this does not know")
    returned = f"return {{ {', '.join(exports)} }};"
    return f"// {name}\nconst {_variable(name)} = (() => {{\n{body.strip()}\n{returned}\n}})();\n"


def _split_names(sources: Path, name: str) -> list[str]:
    text = (sources / name).read_text("utf-8")
    return [one for match in _EXPORT_FROM.finditer(text) for _, one in _listed(match["what"])]


def _listed(what: str) -> list[tuple[str, str]]:
    """Return (name, the name it gets) of what stands between braces."""
    pairs = [one.split() for one in what.split(",") if one.strip()]
    return [(pair[0], pair[-1]) for pair in pairs]


def _resolved(name: str, path: str) -> str:
    parts: list[str] = []
    for part in (PurePosixPath(name).parent / path).parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _variable(name: str) -> str:
    return "$" + re.sub(r"\W", "_", name.removesuffix(".mjs"))


def main(arguments: list[str]) -> int:
    """Write the bundle, or say whether it is up to date."""
    text = bundle()
    if arguments == ["--check"]:
        return 0 if BUNDLE.exists() and BUNDLE.read_text("utf-8") == text else 1
    BUNDLE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

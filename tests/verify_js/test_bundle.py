"""`verify-js/docket-verify.mjs` is what `tools/bundle_verifier.py` makes of the sources, and stands by itself."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from verify_js.in_node import NODE, needs_node

ROOT = Path(__file__).parents[2]


def bundler() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("bundle_verifier", ROOT / "tools" / "bundle_verifier.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_joined_module_is_up_to_date() -> None:
    script = bundler()
    assert script.main(["--check"]) == 0, "run: python tools/bundle_verifier.py"


def test_the_joined_module_asks_for_nothing_but_the_digests_of_node_where_it_is_node() -> None:
    text = (ROOT / "verify-js" / "docket-verify.mjs").read_text("utf-8")
    asked = 'globalThis.process?.getBuiltinModule("node:crypto")'
    assert text.count(asked) == 1
    other = r"^\s*import\b|\bimport\(|\brequire\(|\bfetch\(|\bprocess\b[?.]|\bgetBuiltinModule\b|\beval\("
    assert re.search(other, text.replace(asked, ""), re.MULTILINE) is None
    assert "</script" not in text
    assert re.findall(r"^export .*", text, re.MULTILINE)[0].startswith("export const { ")


def test_a_cycle_and_an_unknown_import_are_refused(tmp_path: Path) -> None:
    script = bundler()
    (tmp_path / "index.mjs").write_text('export { a } from "./a.mjs";\n')
    (tmp_path / "a.mjs").write_text('import { b } from "./b.mjs";\nexport const a = b;\n')
    (tmp_path / "b.mjs").write_text('import { a } from "./a.mjs";\nexport const b = a;\n')
    with pytest.raises(SystemExit, match=r"a cycle of imports: index\.mjs > a\.mjs > b\.mjs > a\.mjs"):
        script.bundle(tmp_path)
    (tmp_path / "a.mjs").write_text('import fs from "node:fs";\nexport const a = fs;\n')
    with pytest.raises(SystemExit, match="does not know"):
        script.bundle(tmp_path)
    (tmp_path / "a.mjs").write_text('export const a = "</script>";\n')
    with pytest.raises(SystemExit, match="would end a script"):
        script.bundle(tmp_path)


@needs_node
def test_what_is_joined_is_what_was_written(tmp_path: Path) -> None:
    script = bundler()
    (tmp_path / "folder").mkdir()
    (tmp_path / "index.mjs").write_text(
        'export { shown as told } from "./folder/b.mjs";\nexport { A } from "./a.mjs";\n'
    )
    (tmp_path / "a.mjs").write_text("const hidden = 1;\nexport class A {\n  one() {\n    return hidden;\n  }\n}\n")
    (tmp_path / "folder" / "b.mjs").write_text(
        'import * as all from "../a.mjs";\nimport {\n  A as Other,\n} from "../a.mjs";\n'
        "const hidden = 2;\nexport function shown() {\n  return [hidden, new Other().one(), new all.A().one()];\n}\n"
    )
    joined = tmp_path / "joined.mjs"
    joined.write_text(script.bundle(tmp_path))
    assert NODE is not None
    code = f"import({str(joined)!r}).then((m) => console.log(JSON.stringify([m.told(), Object.keys(m)])))"
    done = subprocess.run([NODE, "-e", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == '[[2,1,1],["A","told"]]\n'

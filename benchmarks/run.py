"""Measure docket against its peers and print one table; `./dev bench [ROW …]`.

Every module `bench_*.py` here has `rows()`, which yields dictionaries with the members row, what, ours, peer, ratio,
goal and holds. Ratios are what counts: both sides are measured in one run, interleaved, medians of at least five.
The table is also written to benchmarks/results/.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
COLUMNS = ("row", "what", "ours", "peer", "ratio", "goal", "holds")


def modules() -> list[str]:
    return sorted(path.stem for path in HERE.glob("bench_*.py"))


def shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        return f"{value:.3g}"
    return str(value)


def table(rows: list[dict[str, object]]) -> str:
    cells = [list(COLUMNS), *([shown(row.get(name)) for name in COLUMNS] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(COLUMNS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("only", nargs="*", help="modules or row numbers to run, as in tree or 5")
    wanted = parser.parse_args().only
    sys.path.insert(0, str(HERE))
    rows: list[dict[str, object]] = []
    for name in modules():
        if wanted and not any(word in (name, name.removeprefix("bench_")) or word.isdigit() for word in wanted):
            continue
        module = importlib.import_module(name)
        numbers = {word for word in wanted if word.isdigit()}
        if numbers and not numbers & {str(number) for number in getattr(module, "NUMBERS", ())}:
            continue
        print(f"bench: {name}", file=sys.stderr, flush=True)
        rows += [row for row in module.rows() if not numbers or str(row["row"]) in numbers]
    rows.sort(key=lambda row: int(str(row["row"])))
    text = table(rows)
    print(text)
    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    machine = {"platform": platform.platform(), "python": platform.python_version()}
    (folder / f"{stamp}.json").write_text(json.dumps({"machine": machine, "rows": rows}, indent=2, default=str) + "\n")
    (folder / "latest.txt").write_text(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

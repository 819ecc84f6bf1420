"""Write the vectors of whole records: `python tools/write_record_vectors.py [FOLDER]`.

Ledgers are typed by hand, and the receipts made of them by a fold, a tree and a signature written from the
specification's pages for this alone; nothing of docket is imported, so that a fault of docket's cannot enter them.
FOLDER is `spec/vectors/records` unless it is named.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from record_vectors import (
    foreign_records,
    headed_records,
    kept_ledgers,
    plain_receipts,
    readings,
    remembered_records,
    told_ledgers,
    vouched_records,
)
from record_vectors.scenario import file_of

SUBJECTS = (
    plain_receipts, kept_ledgers, told_ledgers, readings, vouched_records, headed_records, remembered_records,
    foreign_records,
)  # fmt: skip


def main(folder: Path) -> None:
    """Write one file a scenario, and remove those that are none any more."""
    folder.mkdir(parents=True, exist_ok=True)
    written: set[Path] = set()
    scenarios = [scenario for subject in SUBJECTS for scenario in subject.scenarios()]
    # A record that is told for itself comes first, and scenarios that begin with it name it.
    scenarios.sort(key=lambda scenario: scenario.refused is not None)
    told: dict[tuple[bytes, bytes | None], str] = {}
    for scenario in scenarios:
        path = folder / f"{scenario.name}.json"
        if path in written:
            raise SystemExit(f"two scenarios are called {scenario.name}")
        written.add(path)
        files = scenario.accepted.receipt, scenario.accepted.ledger
        path.write_bytes(file_of(scenario, told.get(files)))
        told.setdefault(files, scenario.name)
    for path in set(folder.glob("*.json")) - written:
        path.unlink()


if __name__ == "__main__":
    root = Path(__file__).resolve().parent.parent
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else root / "spec" / "vectors" / "records")

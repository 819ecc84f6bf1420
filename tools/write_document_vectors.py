"""Write the vectors of manifests, plans and restores: `python tools/write_document_vectors.py [FOLDER]`.

The documents are typed by hand from the pages of the specification and spelt with the standard library; nothing of
docket is imported, so that a fault of docket's cannot enter them. FOLDER is `spec/vectors` unless it is named.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from document_vectors import plans, restores, snapshots
from document_vectors.spelling import file_of

SUBJECTS = {"snapshot": snapshots, "plan": plans, "restore": restores}


def main(folder: Path) -> None:
    """Write one file a scenario into a folder a subject, and remove those that are none any more."""
    for name, subject in SUBJECTS.items():
        written = set()
        (folder / name).mkdir(parents=True, exist_ok=True)
        for scenario in subject.scenarios():
            path = folder / name / f"{scenario.name}.json"
            if path in written:
                raise SystemExit(f"two scenarios of {name} are called {scenario.name}")
            written.add(path)
            path.write_bytes(file_of(scenario, subject.DOCUMENT, subject.figures))
        for path in set((folder / name).glob("*.json")) - written:
            path.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent / "spec" / "vectors")

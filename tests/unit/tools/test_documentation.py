"""Every link between the pages leads somewhere, every page is reachable, and what the code cites exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
PAGES = sorted(
    path for place in ("*.md", "docs/**/*.md", "spec/*.md") for path in REPOSITORY.glob(place) if path.is_file()
)
SOURCES = sorted(REPOSITORY.glob("src/docket/**/*.py"))
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
CITED = re.compile(r"((?:spec|docs)/[a-z/-]+\.md)((?:, [A-Z][a-zA-Z' ]*[a-zA-Z]| and [A-Z][a-z]+)*)")


def links(page: Path) -> list[Path]:
    found = [target for target in LINK.findall(page.read_text()) if "://" not in target]
    return [(page.parent / target).resolve() for target in found]


def test_there_are_pages():
    assert REPOSITORY / "docs/README.md" in PAGES
    assert len(PAGES) > 20


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_link_of_a_page_leads_somewhere(page):
    assert [target for target in links(page) if not target.exists()] == []


def test_every_page_can_be_reached_from_the_first():
    seen, ahead = set(), [REPOSITORY / "README.md"]
    while ahead:
        page = ahead.pop()
        if page not in seen:
            seen.add(page)
            folder = sorted(page.glob("*.md")) if page.is_dir() else []
            ahead += folder if page.is_dir() else [target for target in links(page) if target.suffix in ("", ".md")]
    assert [page for page in PAGES if page not in seen] == []


def test_decisions_have_one_number_each_and_stand_in_their_index():
    pages = sorted((REPOSITORY / "docs/adr").glob("[0-9]*.md"))
    index = (REPOSITORY / "docs/adr/README.md").read_text()
    assert [page.name[:4] for page in pages] == [f"{number:04}" for number in range(1, len(pages) + 1)]
    for page in pages:
        number, _, title = page.read_text().split("\n", 1)[0].removeprefix("# ").partition(": ")
        assert f"| [{number}]({page.name}) | {title} |" in index


def test_every_page_and_section_that_the_code_cites_exists():
    cited = [(source, *found) for source in SOURCES for found in CITED.findall(source.read_text())]
    assert len(cited) > 30
    missing = []
    for source, page, sections in cited:
        path = REPOSITORY / page
        headings = re.findall(r"(?m)^#+ (.*)$", path.read_text()) if path.exists() else None
        named = [name for name in re.split(r", | and ", sections) if name]
        if headings is None or any(name not in headings for name in named):
            missing.append(f"{source.name}: {page}{sections}")
    assert missing == []

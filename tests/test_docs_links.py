"""Every link of every page leads somewhere: a file that exists, a heading that the page has."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(p for d in ("docs", "examples") for p in (ROOT / d).rglob("*.md"))]
)
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def links(page: Path) -> Iterator[str]:
    text = re.sub(r"`[^`]*`", "", FENCE.sub("", page.read_text()))
    return (target for target in LINK.findall(text) if "://" not in target)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as the forges make them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", h.strip().lower()) for h in headings)
    return {h.replace(" ", "-") for h in kept}


def of_all_pages() -> list[object]:
    return [
        pytest.param(page, target, id=f"{page.relative_to(ROOT)}:{target}")
        for page in PAGES
        for target in links(page)
    ]


@pytest.mark.parametrize(("page", "target"), of_all_pages())
def test_link_leads_somewhere(page: Path, target: str) -> None:
    file, _, anchor = target.partition("#")
    there = (page.parent / file).resolve() if file else page

    assert there.exists(), f"{there} does not exist"
    assert there.is_relative_to(ROOT), "a link leads out of the tree"
    if anchor:
        assert anchor in anchors(there)


def test_every_page_of_the_docs_is_linked_from_the_front() -> None:
    seen, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        waiting += [(page.parent / t.partition("#")[0]).resolve() for t in links(page)]

    unseen = [p for p in PAGES if p.is_relative_to(ROOT / "docs") and p not in seen]

    assert unseen == []

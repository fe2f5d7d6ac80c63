"""No file of the tree speaks of somebody's machine, of private hosts or of the work on it."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (
    ".ci", "adapters", "benchmarks", "deploy", "docs", "examples", "models", "policies", "solver",
    "tests",
)  # fmt: skip
PUBLIC = {
    "example.com", "github.com", "json-schema.org", "keepachangelog.com", "kubernetes.io",
    "kueue.sigs.k8s.io", "semver.org", "volcano.sh", "www.apache.org", "www.w3.org",
}  # fmt: skip
"""Whom a link may lead to."""
INSIDE_TESTS = {"127.0.0.1", "localhost", "kubernetes.default.svc"}
"""Names of a control plane on the machine itself."""
HOME = re.compile(r"(?<![\w./~-])/(?:home|root|work|opt|srv|mnt|Users|private|data)/[\w.-]+")
HOST = re.compile(r"https?://([\w.-]+)")
INSIDE = re.compile(r"\b[\w-]+\.(?:internal|local|lan|corp|intranet)\b(?!\.)")
WORKSHOP = re.compile(r"(?<!scope=\")\b(?:sessions?|helpers?|assistants?|to-?do|fixme)\b", re.I)


def texts() -> Iterator[tuple[Path, str]]:
    """Give every file of the tree but this one, whose patterns name what they look for."""
    top = [p for p in ROOT.iterdir() if p.is_file()]
    below = [p for f in FOLDERS for p in (ROOT / f).rglob("*") if p.is_file()]
    for path in sorted([*top, *below]):
        if path != Path(__file__).resolve() and "__pycache__" not in path.parts:
            yield path.relative_to(ROOT), path.read_text(errors="replace")


def found(pattern: re.Pattern[str]) -> list[tuple[str, str]]:
    return [(str(path), m.group()) for path, text in texts() for m in pattern.finditer(text)]


def test_no_file_names_a_folder_of_somebodys_machine() -> None:
    assert found(HOME) == []
    assert [str(path) for path, text in texts() if len(ROOT.parts) > 2 and str(ROOT) in text] == []


def test_links_lead_to_public_places() -> None:
    hosts = {m.group(1).lower() for _, text in texts() for m in HOST.finditer(text)}

    nobodys = {h for h in hosts if h.endswith(".example")}  # kept free by RFC 2606
    assert hosts - nobodys <= PUBLIC | INSIDE_TESTS
    assert found(INSIDE) == []


def test_pages_and_code_speak_of_the_program_and_not_of_the_work_on_it() -> None:
    said = [(path, word) for path, word in found(WORKSHOP) if path.endswith((".md", ".py"))]

    assert said == []

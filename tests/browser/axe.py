"""axe-core, which finds what keeps people out: fetched once into a cache outside the tree.

Workers of one run may fetch it at once: each into a folder of its own, moved into place whole.
"""

import json
import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

from .chromium import Page

VERSION = "4.10.3"
CACHE = Path.home() / ".cache" / "apportion" / f"axe-core-{VERSION}"
FETCH_S = 120


def axe_core() -> str | None:
    """Return its source; None where npm is missing or cannot fetch it."""
    script = CACHE / "node_modules" / "axe-core" / "axe.min.js"
    if not script.is_file():
        npm = shutil.which("npm")
        if npm is None:
            return None
        _fetch(npm, script)
    return script.read_text() if script.is_file() else None


def _fetch(npm: str, script: Path) -> None:
    """Put the script into its place, if npm can fetch it."""
    fresh = CACHE.with_name(f"{CACHE.name}-{os.getpid()}")
    fresh.mkdir(parents=True, exist_ok=True)
    command = [npm, "install", "--prefix", str(fresh), "--ignore-scripts", "--no-audit",
               "--no-fund", f"axe-core@{VERSION}"]  # fmt: skip
    script.parent.mkdir(parents=True, exist_ok=True)
    with suppress(subprocess.SubprocessError, OSError):
        subprocess.run(command, capture_output=True, check=True, timeout=FETCH_S)
        (fresh / script.relative_to(CACHE)).replace(script)
    shutil.rmtree(fresh, ignore_errors=True)


def serious(page: Page, source: str) -> list[str]:
    """Return the findings that are serious or critical, each with where it is."""
    page.value(f"{source};0")
    found: list[dict[str, Any]] = json.loads(
        page.value("axe.run(document, {iframes: false}).then(r => JSON.stringify(r.violations))")
    )
    return [
        f"{v['id']}: {v['help']}: {v['nodes'][0]['html'][:200]}: {v['nodes'][0]['failureSummary']}"
        for v in found
        if v["impact"] in ("serious", "critical")
    ]

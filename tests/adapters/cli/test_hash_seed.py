"""The same input gives the same bytes in every process, however its strings are hashed."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def planned(hash_seed: str) -> bytes:
    command = [sys.executable, "-m", "apportion", "plan", str(ROOT / "examples" / "small")]
    done = subprocess.run(
        [*command, "--deterministic", "--output", "json"],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        check=True,
    )
    return done.stdout


def test_two_processes_with_other_hashes_print_the_same_plan() -> None:
    first = planned("1")

    assert first == planned("2")
    assert b'"evictions"' in first

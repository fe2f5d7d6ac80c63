"""Measurements: subjects, and a driver that runs them. Live ones use the tests' control plane."""

import sys
from pathlib import Path

_TESTS = str(Path(__file__).resolve().parents[1] / "tests")
if _TESTS not in sys.path:
    sys.path.append(_TESTS)

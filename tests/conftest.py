"""Say at the top of a run which control plane its tests will have, or that they will be skipped."""

from cluster.binaries import PROGRAMS, binaries, built, given


def pytest_report_header() -> str:
    found = binaries()
    if found.missing():
        return "no control plane here (see `make control-plane`): tests that need one are skipped"
    without = found.missing(tuple(p.name for p in PROGRAMS))
    lack = f", without {', '.join(without)}: tests that need them are skipped" if without else ""
    return f"control plane: {given() or built()}{lack}"

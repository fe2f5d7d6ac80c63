"""Catalogue: the modules with subjects; importing one registers what it measures."""

from importlib import import_module

MODULES = (
    "cycles", "mixture", "dense", "phases", "reading", "mirroring", "priority_matters",
    "certificate", "neighbourhoods", "waves", "explain",
)  # fmt: skip


def load() -> None:
    """Register every subject."""
    for name in MODULES:
        import_module(f"benchmarks.{name}")

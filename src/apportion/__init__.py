"""Apportion: a batch scheduler for Kubernetes that solves each scheduling cycle.

``load``, ``plan``, ``explain`` and ``whatif`` are the library; see :mod:`apportion.adapters.api`.
They are imported when they are first asked for, so that the command line answers at once.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adapters.api import Cluster, explain, load, plan, records, whatif

__version__ = "0.1.0"
__all__ = ["Cluster", "__version__", "explain", "load", "plan", "records", "whatif"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from .adapters import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return what is public, so that a notebook completes what is not imported yet."""
    return sorted({*__all__, *(n for n in globals() if n.startswith("__"))})

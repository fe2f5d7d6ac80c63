"""The exception tree.

ApportionError
├── InputError      the input is unusable as a whole (exit code 2)
└── BugError        an invariant of ours is broken (exit code 3, the snapshot is saved)

A bad object is not an exception: it is listed under ``rejected``. A group that cannot be placed
is a held group with reasons.
"""


class ApportionError(Exception):
    """Base of everything that this package raises on purpose."""


class InputError(ApportionError):
    """The input is unusable as a whole; the message says what to do."""


class BugError(ApportionError):
    """An invariant of ours is broken; never the fault of the input."""

"""What is wrong with a command line, in our words instead of the parser's."""

import re

_OURS = (
    (re.compile(r"Invalid value for '(?P<option>[^']+)'(?: / '[^']+')?: "), r"\g<option>: "),
    (re.compile(r"Value error, "), ""),
    (re.compile(r"Input should be greater than or equal to "), "must be at least "),
    (re.compile(r"Input should be less than or equal to "), "must be at most "),
    (re.compile(r"Input should be a valid integer, .*"), "must be a whole number"),
)
"""Each is what the parser says, and what is said instead."""


def worded(message: str) -> str:
    """Return one sentence that names the option and says what to do."""
    for theirs, ours in _OURS:
        message = theirs.sub(ours, message)
    return f"{message.rstrip('.')} (apportion --help says more)"

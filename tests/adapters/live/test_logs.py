"""What a line of the log looks like."""

import io
import json
import logging
import re
from collections.abc import Iterator

import pytest

from apportion.adapters.live.logs import LOG, event, set_up


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    handlers, level, goes_up = LOG.handlers[:], LOG.level, LOG.propagate
    yield
    LOG.handlers[:], LOG.propagate = handlers, goes_up
    LOG.setLevel(level)


def test_text_is_one_line_with_the_fields() -> None:
    out = io.StringIO()
    set_up("text", out)

    event("cycle", number=3, seconds=0.12345, detail=None, why='a "b" c')

    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO cycle number=3 seconds=0.123 "
        r'why="a \\"b\\" c"\n',
        out.getvalue(),
    )


def test_names_of_the_cluster_cannot_break_a_line() -> None:
    out = io.StringIO()
    set_up("text", out)

    event("x", pod="a\nb\x1b[31m")

    assert out.getvalue().count("\n") == 1
    assert "\x1b" not in out.getvalue()


def test_json_is_one_object_a_line_with_the_traceback() -> None:
    out = io.StringIO()
    set_up("json", out)

    event("cycle", number=3)
    try:
        raise ValueError("no")
    except ValueError:
        LOG.exception("failed")

    first, second = map(json.loads, out.getvalue().splitlines())
    assert (first["event"], first["level"], first["number"]) == ("cycle", "INFO", 3)
    assert "ValueError: no" in second["traceback"]


def test_only_warnings_and_worse_where_that_is_asked_for() -> None:
    out = io.StringIO()
    set_up("text", out)
    LOG.setLevel(logging.WARNING)

    event("cycle")
    event("bad", logging.ERROR)

    assert out.getvalue().count("\n") == 1

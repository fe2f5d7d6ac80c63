"""Selectors in kubectl's words."""

import pytest

from apportion.adapters.files import documents_of
from apportion.adapters.kubernetes import ReadOptions, snapshot_from
from apportion.adapters.kubernetes.selector_text import selector_of
from apportion.models import Requirement


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("pool=gpu", [("pool", "In", ("gpu",))]),
        ("pool == gpu", [("pool", "In", ("gpu",))]),
        ("a.b/c!=d", [("a.b/c", "NotIn", ("d",))]),
        ("empty=", [("empty", "In", ("",))]),
        ("zone in (b, a),!spot", [("spot", "DoesNotExist", ()), ("zone", "In", ("a", "b"))]),
        ("zone notin (a)", [("zone", "NotIn", ("a",))]),
        ("gpu", [("gpu", "Exists", ())]),
        ("in in (in)", [("in", "In", ("in",))]),
    ],
)
def test_selectors_that_can_be_read(
    text: str, want: list[tuple[str, str, tuple[str, ...]]]
) -> None:
    assert selector_of(text).requirements == tuple(Requirement(*w) for w in want)


@pytest.mark.parametrize("text", ["", "a=b,", "a>1", "a in ()x", "a in (b", "=b", "a=b c", "-a"])
def test_others_are_refused_with_a_word_on_how_to_write_them(text: str) -> None:
    with pytest.raises(ValueError, match="write key=value"):
        selector_of(text)


def test_nodes_outside_the_shard_are_elsewhere() -> None:
    text = b"".join(
        b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"n%d","labels":{"pool":"%s"}}}\n'
        % (i, pool)
        for i, pool in enumerate((b"a", b"b"))
    )
    options = ReadOptions(shard=selector_of("pool=a"))

    world = snapshot_from(documents_of(text, "f"), options)

    assert [n.elsewhere for n in world.nodes] == [False, True]

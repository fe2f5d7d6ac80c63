"""Patterns of names: what they match, what is none, and that none takes long."""

import time

import pytest

from apportion.adapters.kubernetes.name_patterns import NamePattern


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("^n[0-3]$", ["n0", "n3"], ["n4", "xn0", "n00"]),
        ("n(ode)?-(a|b){2}", ["n-ab", "xnode-bbb"], ["n-a", "nod-ab"]),
        (r"\bgpu\d+", ["gpu1", "x-gpu22"], ["gpu", "xgpu1"]),
        ("a.c", ["abc", "xa-c"], ["ac"]),
        ("[^a-c]1", ["d1"], ["a1", "1"]),
        ("(?i)RACK", ["rack-1"], ["rac"]),
        ("x{1,2}$", ["x", "xx", "xxx"], ["xy"]),
    ],
)
def test_patterns_match_anywhere(pattern: str, yes: list[str], no: list[str]) -> None:
    made = NamePattern(pattern)

    assert [n for n in yes if not made.finds(n)] == []
    assert [n for n in no if made.finds(n)] == []


def test_no_pattern_takes_long() -> None:
    began_s = time.thread_time()

    assert not NamePattern("^(a+)+(a|a)*$").finds("a" * 253 + "b")
    assert time.thread_time() - began_s < 1


@pytest.mark.parametrize("bad", ["(", "a**", "(a)\\1", "(?<!a)b", "(x{900}){900}", "x{5000}"])
def test_what_is_no_pattern_is_said(bad: str) -> None:
    with pytest.raises(ValueError, match="pattern"):
        NamePattern(bad)

"""Gangs of many pods that look at each other: a search for places is as deep as it needs to be."""

import sys

import pytest

from apportion.policies.fitting import Field
from oracle.build import Members, queue, snapshot
from policies.builders import apart, nodes, scene, term

PODS = sys.getrecursionlimit() + 50


@pytest.mark.slow
def test_more_pods_than_python_calls_find_places_one_to_a_node() -> None:
    names = " ".join(f"n{i}" for i in range(PODS))
    gang = Members("g", "q", 1, waiting=PODS, spec=apart(term("g")), minimum=PODS)
    where = scene(snapshot(*nodes(names), queue("q"), gang))

    fit = Field(where, where.room_later, where.world()).place(gang.pods)

    assert fit.places is not None
    assert len(set(fit.places.values())) == PODS

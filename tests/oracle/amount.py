"""Vectors of integers: one entry per resource of the cluster, the pod slot last."""

from operator import add, sub

Vec = tuple[int, ...]


def plus(a: Vec, b: Vec) -> Vec:
    return tuple(map(add, a, b))


def minus(a: Vec, b: Vec) -> Vec:
    return tuple(map(sub, a, b))

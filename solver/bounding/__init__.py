"""Bounds without a search: a linear program over merged work, nodes and victims."""

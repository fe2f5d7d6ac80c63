"""Strings that identify: one type each, so that a checker tells them apart."""

from typing import NewType

NodeName = NewType("NodeName", str)
QueueName = NewType("QueueName", str)
GroupKey = NewType("GroupKey", str)
"""``namespace/name`` of a group."""
PodKey = NewType("PodKey", str)
"""``namespace/name`` of a pod."""

"""A change to be sent to the API server, as a value."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
"""Adds to lists by the key of their items; only kinds of Kubernetes itself know it."""
WRITTEN, REFUSED, LOST = RESULTS = "written", "refused", "unanswered"
"""What can come of a request."""


@dataclass(frozen=True, slots=True)
class Write:
    """One request that changes something."""

    method: str
    """POST, PATCH or PUT."""
    path: str
    """From the root of the API, with the subresource."""
    body: Mapping[str, Any]
    about: str
    """What is written, for messages: ``PodGroup team/train``."""
    content_type: str = MERGE_PATCH
    """Of a PATCH; all else is JSON."""

    @property
    def kind(self) -> str:
        """The kind of what is written."""
        return self.about.partition(" ")[0]

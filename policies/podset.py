"""A PodSet: equal pods of one role of one group."""

from collections.abc import Mapping
from dataclasses import dataclass

from ..models import GroupKey, Pod, PodSpec


@dataclass(frozen=True, slots=True)
class PodSet:
    """Equal pods of a role, best ranked first; a decision is a count of them on a node."""

    pods: tuple[Pod, ...]

    @property
    def sample(self) -> Pod:
        return self.pods[0]

    @property
    def spec(self) -> PodSpec:
        return self.pods[0].spec

    @property
    def group(self) -> GroupKey | None:
        return self.pods[0].group

    @property
    def role(self) -> str:
        return self.pods[0].role

    @property
    def namespace(self) -> str:
        return self.pods[0].namespace

    @property
    def labels(self) -> Mapping[str, str]:
        return self.pods[0].labels

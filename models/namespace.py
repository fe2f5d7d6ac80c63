"""A namespace and its ResourceQuotas, which limit groups whose pods do not exist yet."""

from collections.abc import Mapping

from .value import Value


class Namespace(Value, frozen=True):
    """Name, labels, and the queue that its annotation names."""

    name: str
    labels: Mapping[str, str] = {}
    queue: str | None = None


class ResourceQuota(Value, frozen=True):
    """Hard limits and use, in canonical units by quota key ("requests.cpu", "pods", ...)."""

    namespace: str
    name: str
    hard: Mapping[str, int] = {}
    used: Mapping[str, int] = {}
    scoped: bool = False
    """Has scopes, so that it may not cover every pod: then it is not used for admission."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

"""Which kinds an API server has, and where: found in its discovery documents."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from .access import Api, RefusedError


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind as the server serves it."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    subresources: frozenset[str] = field(default_factory=frozenset)
    """Such as ``status`` and ``eviction``, as far as the server has them."""

    @property
    def title(self) -> str:
        """Its plural and its group: ``pods``, ``leases.coordination.k8s.io``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def root(self) -> str:
        """Where all its objects are listed."""
        return f"{_root(self.group, self.version)}/{self.plural}"

    def path(self, namespace: str, name: str, subresource: str = "") -> str:
        """Return where one object is."""
        inside = f"/namespaces/{namespace}" if self.namespaced else ""
        below = f"/{subresource}" if subresource else ""
        return f"{_root(self.group, self.version)}{inside}/{self.plural}/{name}{below}"


class _Version(msgspec.Struct):
    version: str


class _Group(msgspec.Struct, rename="camel"):
    name: str
    versions: list[_Version] = []
    preferred_version: _Version | None = None


class _Groups(msgspec.Struct):
    groups: list[_Group] = []


class _Served(msgspec.Struct):
    name: str
    kind: str = ""
    namespaced: bool = False
    verbs: list[str] = []


class _Resources(msgspec.Struct):
    resources: list[_Served] = []


async def installed(api: Api, kinds: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Resource]:
    """Return which of the kinds (API group, kind) the server can list and watch, and where.

    Of several versions the one that the server prefers, else the first that has the kind.

    Raises
    ------
    RefusedError, LostError
        If a document cannot be had; a version that is listed and not there is passed over.
    msgspec.DecodeError
        If a document is none.
    """
    wanted: dict[str, set[str]] = {}
    for group, kind in kinds:
        wanted.setdefault(group, set()).add(kind)
    out: dict[tuple[str, str], Resource] = {}
    for group, versions in (await _versions(api)).items():
        left = wanted.get(group, set())
        for version in versions if left else ():
            for resource in await _served(api, group, version, left):
                out[group, resource.kind] = resource
            left = {kind for kind in left if (group, kind) not in out}
            if not left:
                break
    return out


async def _versions(api: Api) -> dict[str, list[str]]:
    """Return the versions of each API group, the preferred one first."""
    body = msgspec.json.decode(await api.get("/apis"), type=_Groups)
    out = {"": ["v1"]}
    for g in body.groups:
        first = [g.preferred_version.version] if g.preferred_version is not None else []
        out[g.name] = list(dict.fromkeys([*first, *(v.version for v in g.versions)]))
    return out


async def _served(api: Api, group: str, version: str, kinds: set[str]) -> list[Resource]:
    try:
        body = msgspec.json.decode(await api.get(_root(group, version)), type=_Resources)
    except RefusedError as e:
        if e.status == 404:
            return []
        raise
    below: dict[str, set[str]] = {}
    for r in body.resources:
        plural, _, subresource = r.name.partition("/")
        if subresource:
            below.setdefault(plural, set()).add(subresource)
    return [
        Resource(
            group, version, r.kind, r.name, r.namespaced, frozenset(below.get(r.name, ()))
        )
        for r in body.resources
        if r.kind in kinds and "/" not in r.name and {"list", "watch"} <= set(r.verbs)
    ]  # fmt: skip


def _root(group: str, version: str) -> str:
    return f"/apis/{group}/{version}" if group else f"/api/{version}"

"""Which kinds the API server serves, and under which path: its discovery."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind in one version of its group."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    verbs: frozenset[str]

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, name: str | None = None, namespace: str | None = None) -> str:
        """Return the path of the object, or of the list; no namespace: default, or all."""
        root = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        if self.namespaced and name and namespace is None:
            namespace = "default"
        within = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"{root}{within}/{self.plural}" + (f"/{name}" if name else "")


class Kinds:
    """The kinds of one server; asked again when somebody names one that was not there."""

    def __init__(self, get: Callable[[str, str], Mapping[str, Any]]) -> None:
        self._get = get
        self._known: list[Kind] = []

    def all(self) -> list[Kind]:
        """Ask the server, and return each kind in the version that it prefers."""
        self._ask()
        first: dict[tuple[str, str], Kind] = {}
        for kind in self._known:
            first.setdefault((kind.group, kind.plural), kind)
        return list(first.values())

    def named(self, name: str) -> Kind:
        """Return the kind of a name: pods, Pod, or one with its group, as jobs.batch."""
        word, _, group = name.lower().partition(".")

        def fits(kind: Kind) -> bool:
            is_word = word in (kind.plural, kind.kind.lower())
            return is_word and (not group or kind.group == group)

        return self._find(fits, name)

    def of(self, api_version: str, kind: str) -> Kind:
        """Return the kind that an object says it is."""
        return self._find(
            lambda k: k.kind == kind and k.api_version == api_version, f"{api_version} {kind}"
        )

    def _find(self, fits: Callable[[Kind], bool], name: str) -> Kind:
        for attempt in range(2):
            if attempt:
                self._ask()
            for kind in self._known:
                if fits(kind):
                    return kind
        raise LookupError(f"the API server serves no {name}")

    def _ask(self) -> None:
        answers = (self._get(path, DISCOVERY) for path in ("/api", "/apis"))
        self._known = [
            Kind(
                group=group["metadata"].get("name", ""),
                version=version["version"],
                kind=one["responseKind"]["kind"],
                plural=one["resource"],
                namespaced=one["scope"] == "Namespaced",
                verbs=frozenset(one["verbs"]),
            )
            for answer in answers
            for group in answer["items"]
            for version in group["versions"]
            for one in version.get("resources", ())
        ]

"""A small client for tests: objects as plain data, by the thousand, errors as they came."""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode

import msgspec
import urllib3

from cluster.access import Access
from cluster.kinds import Kind, Kinds
from cluster.waiting import until

Data = dict[str, Any]

THREADS = 12
"""As many requests at once as still help on two cores."""

GETS_READY = b"storage is (re)initializing"
"""Said with a 429, and by no budget that forbids an eviction."""

NO_CLASS = "no PriorityClass with name"
"""Said of a pod with 403."""

JSON = "application/json"
MERGE = "application/merge-patch+json"


class ApiError(Exception):
    """The API server refused: its code, reason and message."""

    def __init__(self, request: str, status: int, body: bytes) -> None:
        try:
            said = msgspec.json.decode(body)
        except msgspec.DecodeError:
            said = {"message": body.decode(errors="replace")[:500]}
        self.status = status
        self.reason: str = said.get("reason", "")
        super().__init__(f"{request}: {status} {self.reason}: {said.get('message', '')}")


class Client:
    """Requests of one caller. Safe to use from many threads."""

    def __init__(self, access: Access, timeout_s: float = 30) -> None:
        self.access = access
        self._timeout_s = timeout_s
        self._pool = urllib3.PoolManager(
            maxsize=THREADS + 4, block=False, retries=False,
            ca_certs=str(access.ca_file),
            headers={"Authorization": f"Bearer {access.token}"},
        )  # fmt: skip
        self._kinds = Kinds(self.get)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._pool.clear()

    def is_ready(self) -> bool:
        """Whether the API server can be reached and says that it is ready."""
        try:
            self.request("GET", "/readyz", timeout_s=2)
        except (ApiError, urllib3.exceptions.HTTPError):
            return False
        return True

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        sent: str = JSON,
        wanted: str = JSON,
        timeout_s: float | None = None,
    ) -> bytes:
        """Send one request; return the body of the answer, or raise ApiError.

        It is sent again while a server that was restarted, or has a new definition, refuses it
        only because it gets ready the store of the kind.
        """

        def ask() -> urllib3.BaseHTTPResponse | None:
            answer = self._pool.request(
                method, self.access.url + path,
                body=None if body is None else msgspec.json.encode(body),
                headers={**self._pool.headers, "Accept": wanted, "Content-Type": sent},
                timeout=self._timeout_s if timeout_s is None else timeout_s,
            )  # fmt: skip
            return None if answer.status == 429 and GETS_READY in answer.data else answer

        answer = until(ask, f"the API server has made ready what {method} {path} is about")
        if answer.status >= 400:
            raise ApiError(f"{method} {path}", answer.status, answer.data)
        return answer.data

    def get(self, path: str, wanted: str = JSON) -> Data:
        """Return what is at the path."""
        data: Data = msgspec.json.decode(self.request("GET", path, wanted=wanted))
        return data

    def path(self, kind: str, name: str | None = None, namespace: str | None = None) -> str:
        """Return the path of a kind, as pods or PodGroup.scheduling.volcano.sh, or of an object.

        No namespace means default for an object, and all of them for a list.
        """
        return self._kinds.named(kind).path(name, namespace)

    def read(self, kind: str, name: str, namespace: str | None = None) -> Data:
        """Return the object; ApiError with status 404 if there is none."""
        return self.get(self.path(kind, name, namespace))

    def find(self, kind: str, name: str, namespace: str | None = None) -> Data | None:
        """Return the object, or None."""
        try:
            return self.read(kind, name, namespace)
        except ApiError as error:
            if error.status != 404:
                raise
            return None

    def find_all(self, kind: str, namespace: str | None = None, **query: str) -> list[Data]:
        """Return all objects of a kind, in one namespace or in all; `labelSelector` and so on."""
        path = self.path(kind, None, namespace)
        data = self.get(f"{path}?{urlencode(query)}" if query else path)
        items: list[Data] = data["items"]
        return items

    def create(self, thing: Mapping[str, Any]) -> Data:
        """Create the object; its namespace is default where it names none. Return it.

        A PriorityClass can be used when this returns.
        """
        meta = thing["metadata"]
        path = self._kind_of(thing).path(None, meta.get("namespace", "default"))
        made: Data = msgspec.json.decode(self.request("POST", path, thing))
        if thing["kind"] == "PriorityClass":
            self._wait_admitted(meta["name"], thing["value"])
        return made

    def create_all(self, things: Iterable[Mapping[str, Any]], threads: int = THREADS) -> list[Data]:
        """Create many at once; in the order given only as far as the machine keeps it."""
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(self.create, things))

    def apply(self, thing: Mapping[str, Any], owner: str = "tests") -> Data:
        """Create the object or bring it to this, by server-side apply; status included."""
        meta = thing["metadata"]
        path = self._kind_of(thing).path(meta["name"], meta.get("namespace", "default"))
        query = f"?fieldManager={owner}&force=true"
        sent = "application/apply-patch+yaml"
        made: Data = msgspec.json.decode(self.request("PATCH", path + query, thing, sent=sent))
        if thing["kind"] == "PriorityClass":
            self._wait_admitted(meta["name"], thing["value"])
        return made

    def patch(
        self,
        kind: str,
        name: str,
        change: Mapping[str, Any],
        namespace: str | None = None,
        part: str = "",
    ) -> Data:
        """Merge the change into the object, or into a part of it: `status`, `scale`."""
        path = self.path(kind, name, namespace) + (f"/{part}" if part else "")
        made: Data = msgspec.json.decode(self.request("PATCH", path, change, sent=MERGE))
        return made

    def delete(
        self, kind: str, name: str, namespace: str | None = None, grace_s: int | None = None
    ) -> None:
        """Delete the object; 0 s of grace for at once, None for its own grace."""
        query = "" if grace_s is None else f"?gracePeriodSeconds={grace_s}"
        self.request("DELETE", self.path(kind, name, namespace) + query)

    def delete_all(self, kind: str, namespace: str | None = None, **query: str) -> None:
        """Delete all objects of a kind in a namespace (of a kind without any: everywhere)."""
        path = self.path(kind, None, namespace or "default")
        self.request("DELETE", f"{path}?{urlencode({'propagationPolicy': 'Background', **query})}")

    def bind(self, pod: str, node: str, namespace: str = "default") -> None:
        """Put the pod on the node, as a scheduler does."""
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": target}
        self.request("POST", self.path("pods", pod, namespace) + "/binding", body)

    def evict(self, pod: str, namespace: str = "default", **options: Any) -> None:
        """Ask for the pod's eviction; ApiError with status 429 where a budget forbids it."""
        meta = {"name": pod, "namespace": namespace}
        body = {
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta,
            "deleteOptions": options,
        }  # fmt: skip
        self.request("POST", self.path("pods", pod, namespace) + "/eviction", body)

    def token_of(self, namespace: str, account: str, lifetime_s: int = 3600) -> str:
        """Return a token of the ServiceAccount, at least 600 s, once the server takes it.

        The server looks accounts up in a copy of its own. While that has an older one of the name,
        the token is a stranger's.
        """
        body = {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"expirationSeconds": lifetime_s},
        }  # fmt: skip
        path = self.path("serviceaccounts", account, namespace) + "/token"
        token: str = msgspec.json.decode(self.request("POST", path, body))["status"]["token"]
        until(lambda: self._is_taken(token), f"the token of {namespace}/{account} is taken")
        return token

    def may(self, verb: str, group: str, resource: str, namespace: str = "default") -> bool:
        """Whether the API server lets this caller do so; a resource may be `pods/binding`."""
        name, _, subresource = resource.partition("/")
        asked = {
            "verb": verb, "group": group, "resource": name, "subresource": subresource,
            "namespace": namespace,
        }  # fmt: skip
        body = {
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": asked},
        }  # fmt: skip
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        allowed: bool = msgspec.json.decode(self.request("POST", path, body))["status"]["allowed"]
        return allowed

    def watch(self, kind: str, version: str, timeout_s: int = 60) -> Iterator[Data]:
        """Give the changes of a kind since a resource version, until the server ends the watch."""
        query = {
            "watch": "true", "resourceVersion": version, "timeoutSeconds": str(timeout_s),
            "allowWatchBookmarks": "true",
        }  # fmt: skip
        url = f"{self.access.url}{self.path(kind)}?{urlencode(query)}"
        answer = self._pool.request("GET", url, preload_content=False, timeout=timeout_s + 10)
        try:
            if answer.status >= 400:
                raise ApiError(f"GET {url}", answer.status, answer.read())
            for line in answer:
                yield msgspec.json.decode(line)
        finally:
            answer.close()

    def kinds(self) -> list[Kind]:
        """Return every kind that the server serves now, in the version it prefers."""
        return self._kinds.all()

    def _wait_admitted(self, name: str, value: int) -> None:
        """Wait until pods of the PriorityClass are admitted, with this value.

        Admission looks classes up in a copy of its own, which hears of a new one a moment later;
        it may know an older class of the name till then.
        """
        container = {"name": "c", "image": "example.com/work"}
        tried = {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "tries-a-priority-"},
            "spec": {"priorityClassName": name, "containers": [container]},
        }  # fmt: skip

        def is_known() -> bool:
            try:
                made = self.request(
                    "POST", f"{self.path('pods', None, 'default')}?dryRun=All", tried
                )
            except ApiError as error:
                if error.status != 403 or NO_CLASS not in str(error):
                    raise
                return False
            admitted: bool = msgspec.json.decode(made)["spec"]["priority"] == value
            return admitted

        until(is_known, f"pods of PriorityClass {name} are admitted with priority {value}")

    def _is_taken(self, token: str) -> bool:
        body = {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
            "spec": {"token": token},
        }  # fmt: skip
        said = self.request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", body)
        return bool(msgspec.json.decode(said)["status"].get("authenticated"))

    def _kind_of(self, thing: Mapping[str, Any]) -> Kind:
        return self._kinds.of(thing["apiVersion"], thing["kind"])

"""Who may read the debug pages: the cluster knows tokens, and what their bearers may do."""

from typing import Any

import msgspec

from .access import Api

PATH = "/debug/snapshot"
"""The right to ``get`` this non-resource path is the right to all debug pages."""
_TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
_ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class _User(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}


class _Status(msgspec.Struct):
    authenticated: bool = False
    allowed: bool = False
    denied: bool = False
    user: _User = msgspec.field(default_factory=_User)


class _Review(msgspec.Struct):
    status: _Status = msgspec.field(default_factory=_Status)


class Reviews:
    """Asks an API server about tokens."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def may_read(self, token: str) -> bool:
        """Return whether the bearer of the token may read the debug pages.

        Raises
        ------
        RefusedError, LostError
            If the server cannot be asked.
        """
        who = await self._ask(_TOKENS, "authentication.k8s.io/v1", "TokenReview", {"token": token})
        if not who.authenticated or not who.user.username:
            return False
        asked = {
            "user": who.user.username, "uid": who.user.uid,
            "groups": who.user.groups, "extra": who.user.extra,
            "nonResourceAttributes": {"path": PATH, "verb": "get"},
        }  # fmt: skip
        may = await self._ask(_ACCESS, "authorization.k8s.io/v1", "SubjectAccessReview", asked)
        return may.allowed and not may.denied

    async def _ask(self, path: str, version: str, kind: str, spec: dict[str, Any]) -> _Status:
        body = {"apiVersion": version, "kind": kind, "spec": spec}
        answer = await self._api.send("POST", path, body)
        return msgspec.json.decode(answer, type=_Review).status

"""Who may read the debug pages, as a cluster's answers say."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import msgspec
import pytest

from apportion.adapters.live.access import RefusedError
from apportion.adapters.live.reviews import Reviews

Run = Callable[[Any], Any]
ANNA = {"username": "anna", "uid": "7", "groups": ["dev"], "extra": {"via": ["sso"]}}


class Answers:
    """An API server that has one answer to each of the two questions."""

    def __init__(self, who: Mapping[str, Any], may: Mapping[str, Any]) -> None:
        self.answers = {"tokenreviews": who, "subjectaccessreviews": may}
        self.asked: list[tuple[str, Any]] = []

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        raise NotImplementedError(path, params)

    async def watch(self, path: str, params: Mapping[str, str]) -> AsyncIterator[bytes]:
        raise NotImplementedError(path, params)
        yield b""

    async def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | bytes | None = None,
        *,
        params: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> bytes:
        assert (method, params, content_type) == ("POST", None, "application/json")
        assert isinstance(body, Mapping)
        kind = path.rsplit("/", 1)[-1]
        self.asked.append((kind, body["spec"]))
        answer = self.answers[kind]
        if isinstance(answer, Exception):
            raise answer
        return msgspec.json.encode({"kind": body["kind"], "status": answer})


@pytest.mark.parametrize(
    ("who", "may", "want"),
    [
        ({"authenticated": True, "user": ANNA}, {"allowed": True}, True),
        ({"authenticated": True, "user": ANNA}, {"allowed": False}, False),
        ({"authenticated": True, "user": ANNA}, {"allowed": True, "denied": True}, False),
        ({"authenticated": True, "user": {}}, {"allowed": True}, False),
        ({"authenticated": False, "error": "expired"}, {"allowed": True}, False),
        ({"user": ANNA}, {"allowed": True}, False),
    ],
    ids=["allowed", "not allowed", "denied", "nobody", "not authenticated", "not said"],
)
def test_only_who_is_known_and_allowed_may_read(
    run: Run, who: dict[str, Any], may: dict[str, Any], want: bool
) -> None:
    assert run(Reviews(Answers(who, may)).may_read("token")) is want


def test_the_cluster_is_asked_about_the_bearer_and_one_path(run: Run) -> None:
    api = Answers({"authenticated": True, "user": ANNA}, {"allowed": True})

    run(Reviews(api).may_read("secret"))

    assert api.asked == [
        ("tokenreviews", {"token": "secret"}),
        (
            "subjectaccessreviews",
            {
                "user": "anna", "uid": "7", "groups": ["dev"], "extra": {"via": ["sso"]},
                "nonResourceAttributes": {"path": "/debug/snapshot", "verb": "get"},
            },
        ),
    ]  # fmt: skip


def test_who_is_not_known_is_not_asked_about_further(run: Run) -> None:
    api = Answers({"authenticated": False}, {"allowed": True})

    run(Reviews(api).may_read("secret"))

    assert [kind for kind, _ in api.asked] == ["tokenreviews"]


def test_a_server_that_refuses_the_question_is_an_error(run: Run) -> None:
    api = Answers({}, {})
    api.answers["tokenreviews"] = RefusedError(403, "Forbidden")  # type: ignore[assignment]

    with pytest.raises(RefusedError):
        run(Reviews(api).may_read("secret"))

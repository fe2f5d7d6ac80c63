"""Writing what a step needs: the server's no is why the group is not ready."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from ....models import Pod
from ..access import Api, LostError, RefusedError
from ..binder import ToBind
from ..prepare import NotReadyError
from ..write import MERGE_PATCH

Data = dict[str, Any]


@contextmanager
def telling(about: str) -> Iterator[None]:
    """Turn the server's errors into NotReadyError, which says what was tried."""
    try:
        yield
    except RefusedError as e:
        raise NotReadyError(f"{about}: {e}", e.retry_after_s or 0.0) from e
    except (LostError, msgspec.DecodeError) as e:
        raise NotReadyError(f"{about}: {e}") from e


async def read(api: Api, path: str) -> Data:
    """Return an object as it is now. Raises RefusedError, LostError, msgspec.DecodeError."""
    return msgspec.json.decode(await api.get(path), type=Data)


async def send(api: Api, method: str, path: str, body: Mapping[str, Any]) -> Data:
    """Send an object or a merge patch; return the object as it is then. Raises as read does."""
    content_type = MERGE_PATCH if method == "PATCH" else "application/json"
    answer = await api.send(method, path, body, content_type=content_type)
    return msgspec.json.decode(answer, type=Data)


def version_of(data: Data) -> str:
    """Return the resourceVersion of an object."""
    return str(data.get("metadata", {}).get("resourceVersion") or "")


def pod_path(pod: Pod) -> str:
    return f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"


async def mark(
    api: Api, pod: Pod, notes: Mapping[str, str | None], labels: Mapping[str, str | None]
) -> None:
    """Give the pod annotations and labels; None takes one away. Raises as send does."""
    meta = {"uid": pod.uid, "annotations": dict(notes), "labels": dict(labels)}
    await send(api, "PATCH", pod_path(pod), {"metadata": meta})


async def unbound(api: Api, b: ToBind) -> Data | None:
    """Return the pod as it is now; None where it is gone or has a node, or nobody answers."""
    try:
        pod = await read(api, pod_path(b.pod))
    except (RefusedError, LostError, msgspec.DecodeError):
        return None
    same = pod["metadata"].get("uid") == b.pod.uid
    return pod if same and not pod.get("spec", {}).get("nodeName") else None


async def is_free(api: Api, b: ToBind) -> bool:
    """Say whether nothing that was done for the pod is in use: it waits, or it is gone.

    False where the server does not answer.
    """
    try:
        pod = await read(api, pod_path(b.pod))
    except RefusedError as e:
        return e.status == 404
    except (LostError, msgspec.DecodeError):
        return False
    return pod["metadata"].get("uid") != b.pod.uid or not pod.get("spec", {}).get("nodeName")

"""The control plane: its parts started, killed, paused and brought back on the same data."""

import atexit
import secrets
import signal
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from cluster import commands, history
from cluster.access import Access
from cluster.binaries import NEEDED, Binaries, binaries
from cluster.client import Client
from cluster.part import Part
from cluster.ports import free_ports
from cluster.waiting import PlaneError, until

START_S = 300.0
"""Deadline for a part to be ready, without which no test can run; mostly it takes seconds."""

LEASES = "kube-node-lease"
OWN_NAMESPACES = {"default", "kube-public", "kube-system", LEASES}


class ControlPlane:
    """etcd and the API server on free loopback ports, and on request other parts.

    Parts have the names of their programs: etcd, kube-apiserver, kube-controller-manager,
    kube-scheduler, kwok. RBAC is on. The folder gets data, logs and credentials, and belongs to
    the caller. Use it in a `with` statement, or call `start` and `stop`, from the main thread.
    """

    def __init__(
        self,
        folder: Path,
        *,
        controllers: Sequence[str] = commands.CONTROLLERS,
        flags: Mapping[str, Iterable[str]] | None = None,
        programs: Binaries | None = None,
    ) -> None:
        """`controllers`: those of the controller manager; `flags`: more words, by part."""
        self.folder = folder
        self.parts: dict[str, Part] = {}
        self._controllers = tuple(controllers)
        self._flags = {name: tuple(words) for name, words in (flags or {}).items()}
        self._programs = programs or binaries()
        self._token = secrets.token_hex(16)
        self._ports = free_ports()
        self._fell_behind = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def admin(self) -> Access:
        """The administrator, who may do everything."""
        ca_file = self.folder / "certificates" / "apiserver.crt"
        return Access(f"https://127.0.0.1:{self._ports.api}", ca_file, self._token)

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.folder / "admin.kubeconfig"

    def client(self, access: Access | None = None) -> Client:
        """Return a client of this caller; of the administrator where none is named."""
        return Client(access or self.admin)

    def access_of(self, namespace: str, account: str, lifetime_s: int = 3600) -> Access:
        """Return the access of a ServiceAccount that exists, with a fresh token."""
        with self.client() as client:
            token = client.token_of(namespace, account, lifetime_s)
        return Access(self.admin.url, self.admin.ca_file, token)

    def start(self, *others: str) -> None:
        """Start etcd and the API server, wait until it is ready, then start the others named."""
        self.folder.mkdir(parents=True, exist_ok=True)
        atexit.register(self.stop)
        try:
            for name in NEEDED:
                self._make(name).start()
            until(self.is_ready, "the API server is ready", START_S)
            until(self._has_made_its_own, "the API server has made what it makes", START_S)
            self.admin.write_kubeconfig(self.kubeconfig)
            for name in others:
                self.add(name)
        except BaseException:
            self.stop()
            raise

    def add(self, name: str) -> None:
        """Start another part: kube-controller-manager, kube-scheduler or kwok."""
        self._make(name).start()

    def remove(self, name: str) -> None:
        """Stop a part for good."""
        self.parts.pop(name).stop()

    def stop(self) -> None:
        """End everything, etcd last. Calling it twice does no harm."""
        for part in reversed(self.parts.values()):
            part.kill()
        self._ports.release()
        atexit.unregister(self.stop)

    def kill(self, name: str) -> None:
        """End the part as a crash would; it is gone when this returns."""
        self._fell_behind |= name in NEEDED
        self.parts[name].kill()

    def pause(self, name: str) -> None:
        """Let the part answer nothing, until `resume`; its connections stay."""
        self.parts[name].pause()

    def resume(self, name: str) -> None:
        self.parts[name].resume()

    def restart(self, name: str) -> None:
        """End the part, start it again on the same data and ports, and wait until all is ready."""
        self.kill(name)
        self.parts[name].start()
        until(self.is_ready, f"the API server is ready after a restart of {name}", START_S)

    def heal(self) -> None:
        """Bring back what a test has killed or paused; an error if a part has ended by itself.

        Those that watch a server that was away are started anew: by themselves they look for it
        ever more seldom, half a minute apart in the end. Their leases of nodes go with them: the
        next kwok would wait until they have run out.
        """
        for part in self.parts.values():
            if part.exit_code not in (None, -signal.SIGKILL):
                raise PlaneError(f"{part.name} has ended with {part.exit_code}\n{part.tail()}")
        others = [part for name, part in self.parts.items() if name not in NEEDED]
        _bring_back(self.parts[name] for name in NEEDED)
        until(self.is_ready, "the API server is ready again", START_S)
        if self._fell_behind:
            for part in others:
                part.kill()
            with self.client() as client:
                client.delete_all("leases", LEASES)
        _bring_back(others)
        self._fell_behind = False

    def is_ready(self) -> bool:
        """Whether the API server calls itself ready; an error if it or etcd has ended."""
        for name in NEEDED:
            if not self.parts[name].is_running:
                raise PlaneError(f"{name} has ended\n{self.parts[name].tail()}")
        if not self.admin.ca_file.exists():
            return False
        with self.client() as client:
            return client.is_ready()

    def _has_made_its_own(self) -> bool:
        """Whether the API server has made namespaces and a service, soon after it was ready."""
        with self.client() as client:
            there = {meta["metadata"]["name"] for meta in client.find_all("namespaces")}
            made = client.find("services", "kubernetes", "default")
            return there >= OWN_NAMESPACES and made is not None

    def forget_history(self) -> int:
        """Make etcd forget all versions before now; return the version that it still knows.

        The API server answers lists and watches from before with 410, once it no longer has them
        in its memory either: after a restart.
        """
        return history.compact(f"http://127.0.0.1:{self._ports.etcd}")

    def tails(self) -> dict[str, str]:
        """Return the end of the log of each part."""
        return {name: part.tail() for name, part in self.parts.items()}

    def _make(self, name: str) -> Part:
        """Return a part that has not been started yet."""
        if self._programs.missing((name,)):
            raise PlaneError(f"no program {name} here; make control-plane builds it")
        if name in self.parts:
            raise PlaneError(f"{name} is part of this control plane already")
        words = self._words(name)
        command = [str(self._programs[name]), *words, *self._flags.get(name, ())]
        self.parts[name] = Part(name, command, self.folder / f"{name}.log")
        return self.parts[name]

    def _words(self, name: str) -> list[str]:
        match name:
            case "etcd":
                return commands.etcd(self.folder, self._ports)
            case "kube-apiserver":
                return commands.kube_apiserver(self.folder, self._ports, self._token)
            case "kube-controller-manager":
                return commands.kube_controller_manager(self.kubeconfig, self._controllers)
            case "kube-scheduler":
                return commands.kube_scheduler(self.folder, self.kubeconfig)
            case "kwok":
                return commands.kwok(self.kubeconfig)
            case _:
                raise PlaneError(f"a control plane has no part {name}")


def _bring_back(parts: Iterable[Part]) -> None:
    """Start those that do not run, and let the others go on."""
    for part in parts:
        if part.is_running:
            part.resume()
        else:
            part.start()

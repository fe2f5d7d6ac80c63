"""A proxy between a scheduler and the API server, by which tests make the server misbehave.

It answers in plain HTTP on the loopback address and hands requests on as they are, credentials
included. Rules say what else becomes of some of them; every request is noted.
"""

import json
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self, TypeVar

import urllib3

from cluster.access import Access
from cluster.rules import Hold, Lose, Refuse, Request, Rule

HOP = frozenset(("connection", "host", "transfer-encoding", "keep-alive"))
"""Headers that are about one connection, and not handed on."""


R = TypeVar("R", bound=Rule)


@dataclass
class _State:
    """What the proxy's threads share."""

    access: Access
    pool: urllib3.PoolManager
    rules: list[Rule] = field(default_factory=list)
    seen: list[Request] = field(default_factory=list)
    sockets: set[socket.socket] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Proxy:
    """Runs from `start` to `stop`, or for a `with` block."""

    def __init__(self, access: Access) -> None:
        pool = urllib3.PoolManager(
            maxsize=500, block=False, retries=False, ca_certs=str(access.ca_file)
        )
        self._state = _State(access, pool)
        self._server = _Server(self._state)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        rules, self._state.rules[:] = list(self._state.rules), []
        for rule in rules:
            if isinstance(rule, Hold):
                rule.discard()  # or it would be handed on in the midst of a later test
        self._server.shutdown()
        self.cut()
        self._server.server_close()
        self._state.pool.clear()

    @property
    def access(self) -> Access:
        """The access to the API server by way of this proxy."""
        of = self._state.access
        return Access(f"http://127.0.0.1:{self._server.server_address[1]}", of.ca_file, of.token)

    @property
    def seen(self) -> list[Request]:
        """Every request so far, in the order in which they came."""
        return list(self._state.seen)

    def add(self, rule: R) -> R:
        """Let a rule apply from now on; those added first go first."""
        self._state.rules.append(rule)
        return rule

    def drop(self, rule: Rule) -> None:
        """Let the rule apply no longer; what it holds is handed on."""
        self._state.rules.remove(rule)
        if isinstance(rule, Hold):
            rule.release()

    def cut(self) -> None:
        """Break every connection off, in the middle of whatever it carries."""
        with self._state.lock:
            for connection in self._state.sockets:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, state: _State) -> None:
        self.state = state
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: connections that break off are what tests make here."""


class _Handler(BaseHTTPRequestHandler):
    """One connection of the scheduler, in a thread of its own."""

    protocol_version = "HTTP/1.1"

    @property
    def state(self) -> _State:
        assert isinstance(self.server, _Server)
        return self.server.state

    def setup(self) -> None:
        super().setup()
        with self.state.lock:
            self.state.sockets.add(self.connection)

    def finish(self) -> None:
        with self.state.lock:
            self.state.sockets.discard(self.connection)
        super().finish()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing; the proxy notes the requests."""

    def _serve(self) -> None:
        state = self.state
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Request(self.command, self.path, body)
        state.seen.append(request)
        rule = next((r for r in list(state.rules) if r.takes(request)), None)
        if isinstance(rule, Refuse):
            self._refuse(rule)
            return
        if isinstance(rule, Hold) and not rule.wait():
            self.close_connection = True
            return
        headers = {k: v for k, v in self.headers.items() if k.lower() not in HOP}
        try:
            answer = state.pool.request(
                request.method, state.access.url + request.path, body=body or None,
                headers=headers, preload_content=False, decode_content=False, timeout=600,
            )  # fmt: skip
        except urllib3.exceptions.HTTPError:
            self.close_connection = True
            return
        try:
            if isinstance(rule, Lose):
                answer.read()
                self.close_connection = True
            else:
                self._hand_back(answer)
        finally:
            answer.close()

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def do_PATCH(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def _refuse(self, rule: Refuse) -> None:
        status = {
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": rule.status,
            "reason": "MadeByTest", "message": "a test has asked for this",
        }  # fmt: skip
        body = json.dumps(status).encode()
        self.send_response(rule.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if rule.retry_after_s:
            self.send_header("Retry-After", str(rule.retry_after_s))
        self.end_headers()
        self.wfile.write(body)

    def _hand_back(self, answer: urllib3.BaseHTTPResponse) -> None:
        """Write the answer as it comes: a watch sends a line now and then."""
        self.send_response_only(answer.status)
        whole = "Content-Length" in answer.headers
        for name, value in answer.headers.items():
            if name.lower() not in HOP:
                self.send_header(name, value)
        if not whole:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if whole:
            self.wfile.write(answer.read())
            return
        try:
            for part in answer.stream(1 << 16):
                self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
            self.wfile.write(b"0\r\n\r\n")
        except urllib3.exceptions.HTTPError:
            self.close_connection = True  # the server is gone: no end of chunks, so a broken answer

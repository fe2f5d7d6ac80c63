"""What a running scheduler saw last, from its debug pages."""

from urllib.parse import SplitResult, urlsplit, urlunsplit

import aiohttp

from ...models import InputError

PAGE = "/debug/snapshot"
CONNECT_S, ANSWER_S = 5.0, 120.0
LARGEST_BYTES = 2 << 30
_MOST_SAID = 300


async def debug_snapshot(url: str, token: str, *, patience_s: float = ANSWER_S) -> bytes:
    """Return the page at ``url``, gzipped JSON; a URL without a path means the scheduler's own.

    Raises
    ------
    InputError
        If the address is none, nobody answers, or the answer is no.
    """
    where = page_of(url)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    timeout = aiohttp.ClientTimeout(total=patience_s, sock_connect=CONNECT_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as http,
            # A token is shown to the address that was named, and to no other.
            http.get(where, headers=headers, allow_redirects=False) as answer,
        ):
            if answer.status != 200:
                said = (await answer.content.read(_MOST_SAID)).decode(errors="replace")
                raise InputError(f"--live {where}: {_why(answer.status, said, bool(token))}")
            data = await _all_of(answer.content)
    except (aiohttp.ClientError, TimeoutError, OSError) as e:
        said = (isinstance(e, OSError) and e.strerror) or str(e) or type(e).__name__
        raise InputError(
            f"--live {where}: cannot be reached: {said}; does the scheduler run with --listen, and "
            "is the port forwarded?"
        ) from e
    if data is None:
        raise InputError(f"--live {where}: answers with more than {LARGEST_BYTES >> 30} GiB")
    return data


async def _all_of(content: aiohttp.StreamReader) -> bytes | None:
    parts, size = list[bytes](), 0
    async for part in content.iter_chunked(1 << 20):
        parts.append(part)
        size += len(part)
        if size > LARGEST_BYTES:
            return None
    return b"".join(parts)


def page_of(url: str) -> str:
    """Return the address of the page.

    Raises
    ------
    InputError
        If it is no http or https URL, or has a password in it.
    """
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        bad = parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0
    except ValueError:
        bad, parts = True, SplitResult("", "", "", "", "")
    if bad:
        raise InputError(f"--live {url[:100]!r} is no address; write HOST:PORT")
    if parts.username is not None or parts.password is not None:
        raise InputError("--live: no name or password in the address; show a token instead")
    path = parts.path.rstrip("/")
    return urlunsplit(
        (parts.scheme, parts.netloc, path if path.endswith(PAGE) else path + PAGE, "", "")
    )


def _why(status: int, said: str, has_token: bool) -> str:
    if status == 401:
        if not has_token:
            return "a token is needed: --token-file FILE, or the variable APPORTION_TOKEN"
        return f"the token is refused: {said.strip()}"
    if 300 <= status < 400:
        return f"answers {status}, it is elsewhere; name that address"
    return f"answers {status}: {said.strip() or 'nothing'}"

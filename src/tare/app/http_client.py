"""Query an HTTP server that may need a user and password or a token, which are never printed."""

from __future__ import annotations

import base64
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from tare.core.errors import UsageError
from tare.core.user_files import read_given

_TIMEOUT_S = 60


class Server:
    """An HTTP server. `base` is its address without user and password, which `address` may contain.

    `token_file` holds a bearer token. Raises UsageError if the address or the file cannot be read.
    """

    def __init__(self, address: str, token_file: Path | None) -> None:
        try:
            parts = urlsplit(address)
            user, password = parts.username, parts.password
        except ValueError as error:
            raise UsageError(f"the address cannot be understood: {error}") from error
        self.base = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
        self._authorization = ""
        if token_file is not None:
            self._authorization = f"Bearer {_first_line(token_file)}"
        elif user is not None:
            credentials = f"{unquote(user)}:{unquote(password or '')}"
            self._authorization = f"Basic {base64.b64encode(credentials.encode()).decode()}"

    def get(self, url: str) -> bytes:
        """Return the body of the answer, also of an error that the server explains in JSON.

        Raises UsageError for other errors.
        """
        import http.client
        import urllib.error
        import urllib.request

        request = urllib.request.Request(url)  # noqa: S310  # http or https, as the caller has checked
        if self._authorization:  # not sent to other servers after a redirect
            request.add_unredirected_header("Authorization", self._authorization)
        shown = url.partition("?")[0]
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as response:  # noqa: S310  # as above
                body: bytes = response.read()
                return body
        except urllib.error.HTTPError as error:
            body = error.read()
            if body.lstrip().startswith(b"{"):
                return body
            cure = "; give --token-file, or user and password in the address" if error.code == 401 else ""
            raise UsageError(f"{shown}: HTTP {error.code} {error.reason}{cure}") from error
        except (OSError, ValueError, http.client.HTTPException) as error:
            cure = "; SSL_CERT_FILE names the authority to trust" if "CERTIFICATE" in str(error) else ""
            raise UsageError(f"{shown}: cannot be asked: {error}{cure}") from error


def _first_line(path: Path) -> str:
    try:
        return (read_given(path).decode("ascii").splitlines() or [""])[0].strip()
    except (OSError, UnicodeError) as error:
        raise UsageError(f"--token-file {path}: cannot be read: {error}") from error

"""Open a URL with a token in the browser without showing the token to other users of the machine."""

from __future__ import annotations

import html
import os
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PAGE = """\
<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url={url}">
<title>tare</title>
<p><a href="{url}">The live page</a></p>
"""


@contextmanager
def opened(url: str) -> Iterator[None]:
    """Open `url`, which holds a token, in the browser; the temporary file exists until the context ends.

    All users of a machine can see the arguments of its processes (proc(5)). So the browser gets the name of a
    file that redirects to `url`. The file is in a folder that only its owner can read.
    """
    with tempfile.TemporaryDirectory(prefix="tare-") as folder:  # mode 0700
        path = Path(folder) / "tare.html"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(_PAGE.format(url=html.escape(url)))
        webbrowser.open(path.as_uri())
        yield

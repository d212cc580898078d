"""Show an address in the browser without anybody else reading it there."""

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
    """Show `url`, which holds a token, in the browser, until left.

    All users of a machine see the arguments of its processes (proc(5)), so that the browser is given the
    name of a file, in a folder of its owner alone, that leads on to `url`.
    """
    with tempfile.TemporaryDirectory(prefix="tare-") as folder:  # mode 0700
        path = Path(folder) / "tare.html"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(_PAGE.format(url=html.escape(url)))
        webbrowser.open(path.as_uri())
        yield

"""Keep compiled templates of the page, since compiling takes as long as filling them."""

from __future__ import annotations

import contextlib
import pickle
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import BytecodeCache


def compiled_templates(folder: Path) -> BytecodeCache | None:
    """Return the templates that are kept in `folder`; None if it cannot be made.

    Each is kept with a checksum of its source, so that a changed template is compiled again.
    """
    from jinja2 import FileSystemBytecodeCache
    from jinja2.bccache import Bucket

    class Kept(FileSystemBytecodeCache):
        def load_bytecode(self, bucket: Bucket) -> None:
            try:
                super().load_bytecode(bucket)
            except (OSError, EOFError, ValueError, pickle.UnpicklingError):  # such as a torn file
                bucket.reset()

        def dump_bytecode(self, bucket: Bucket) -> None:
            with contextlib.suppress(OSError):  # such as a full disk, which only costs the time again
                super().dump_bytecode(bucket)

    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return Kept(str(folder))

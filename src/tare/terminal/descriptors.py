"""Write to standard streams that may fail: a full disk, a reader that has gone, a pipe that is full.

Python would report each of them as an OSError somewhere in a command, where it looks like one of the
command's files, and again at the end of the process.
"""

from __future__ import annotations

import io
import os
import select
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class StandardStream(io.FileIO):
    """The descriptor of standard output or standard error. After a failure, it drops what is written.

    Standard output raises OutputLost at the first failure; standard error does not, since nothing is left
    that could show it.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "wb", closefd=False)

    def write(self, data: ReadableBuffer, /) -> int:
        """Write some of `data`; wait where a pipe is full and does not block, since others share its mode."""
        try:
            while (written := super().write(data)) is None:
                select.select([], [self], [])
        except OSError as error:
            self._drop_all()
            if self.fileno() == 1:
                from tare.core.errors import OutputLost  # imported late: `tare --version` needs none of it

                raise OutputLost(error) from error
            return memoryview(data).nbytes
        return written

    def _drop_all(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


def with_failures(stream: io.TextIOWrapper, descriptor: int) -> io.TextIOWrapper:
    """Return a stream like `stream` that writes to `descriptor` as StandardStream does."""
    return io.TextIOWrapper(
        io.BufferedWriter(StandardStream(descriptor)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )

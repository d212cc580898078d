"""Give back the access rights that a program has removed from folders of its attempt (chmod(2))."""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack, suppress

from tare.core.safe_folder import SafeFolder

_PLACE = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


def restore_rights(folder: SafeFolder, *below: str) -> None:
    """Let the owner list, enter and write `folder`, the folders above it up to its root, and those `below`.

    `below` are names of folders in `folder`. Links, and what does not exist, are left alone.
    """
    with ExitStack() as opened, suppress(OSError):
        root = os.open(folder.root, _PLACE)
        opened.callback(os.close, root)
        _restore(root)
        place = _restored(root, folder.parts, opened)
        for name in below:
            with suppress(OSError):
                _restored(place, (folder / name).parts[len(folder.parts) :], opened)


def _restored(place: int, parts: tuple[str, ...], opened: ExitStack) -> int:
    """Restore the rights of each folder on the way of `parts` from `place`; return the last one."""
    for part in parts:
        place = os.open(part, _PLACE | os.O_NOFOLLOW, dir_fd=place)
        opened.callback(os.close, place)
        _restore(place)
    return place


def _restore(place: int) -> None:
    mode = stat.S_IMODE(os.fstat(place).st_mode)
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        # fchmod(2) takes no descriptor of O_PATH; its entry in /proc leads to the folder itself
        os.chmod(f"/proc/self/fd/{place}", mode | stat.S_IRWXU)  # noqa: PTH101

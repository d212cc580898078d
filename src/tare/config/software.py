"""Read the software that a place of a site or study loads: its modules, Spack packages and setup lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tare.config.document import ListNode, Node, ScalarNode
from tare.config.faults import Path
from tare.core.software import SOFTWARE_SETTINGS, Software, software_of, written_software


class SoftwareFile(Protocol):
    """A place of a file that may load software."""

    @property
    def modules(self) -> tuple[str, ...]:
        """Return its modules as they are written."""
        ...

    @property
    def spack(self) -> tuple[str, ...]:
        """Return its Spack specs as they are written."""
        ...

    @property
    def setup(self) -> tuple[str, ...]:
        """Return its lines for bash."""
        ...


def read_software(file: SoftwareFile, fault: Callable[[Path, str], None]) -> Software:
    """Return what `file` loads; `fault` takes the path, below `file`, and the message of each fault."""
    texts = {"modules": file.modules, "spack": file.spack, "setup": file.setup}
    for name, lines in texts.items():
        for number, line in enumerate(lines):
            try:
                software_of({name: line})
            except ValueError as error:
                fault((name, number), str(error))
                texts[name] = ()
    return written_software(texts["modules"], texts["spack"], texts["setup"])


def software_text(name: str, node: Node) -> str | None:
    """Return the value of a software setting in a study: one text, or a list of texts that belong together.

    Return None for a node of another kind, which the decoder has refused. Raises ValueError with the cure for
    text that cannot be loaded.
    """
    items = node.items if isinstance(node, ListNode) else (node,)
    texts = [item.text for item in items if isinstance(item, ScalarNode) and item.value is not None]
    if len(texts) < len(items):
        return None
    text = ("\n" if name == "setup" else " ").join(texts)
    software_of({name: text})
    return text


def is_software(name: str) -> bool:
    """Return whether a setting of this name loads software."""
    return name in SOFTWARE_SETTINGS

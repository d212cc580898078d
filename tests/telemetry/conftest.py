"""A node as files."""

from __future__ import annotations

from pathlib import Path

import pytest

NODE = Path(__file__).with_name("node")


@pytest.fixture
def node() -> Path:
    """The files of a node with two cores, an Omni-Path port, NFS and Lustre, as kernels show them."""
    return NODE

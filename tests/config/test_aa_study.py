"""A study file that is made an A/A study keeps everything else that is written in it."""

from __future__ import annotations

import pytest
import yaml

from tare.config.aa_study import as_aa_study
from tare.core.errors import FileFaults


@pytest.mark.parametrize(
    "text",
    [
        "study: s\nnodes: 2\n",
        "# why\n\nstudy: s  # name\nnodes: 2",
        "---\nstudy: s\nnodes: 2\n...\n",
        "  study: s\n  nodes: 2\n",
        "{study: s, nodes: 2}",
        "--- {\n  study: s,\n  nodes: 2}\n",
        "study: s\r\nnodes: 2\r\n",
        "%YAML 1.2\n---\nstudy: s\nnodes: 2\n",
    ],
)
def test_the_entry_is_added_whatever_the_style(text: str) -> None:
    assert yaml.safe_load(as_aa_study(text, "f")) == {"twins": True, "study": "s", "nodes": 2}


def test_comments_stay_and_it_is_added_once() -> None:
    once = as_aa_study("# why\nstudy: s\n", "f")
    assert once == "# why\ntwins: true\nstudy: s\n"
    assert as_aa_study(once, "f") == once


def test_what_cannot_be_read_is_a_fault() -> None:
    with pytest.raises(FileFaults):
        as_aa_study("study: [", "f")

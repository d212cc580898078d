"""docs/security.md names tests that are there, and each way to attack has one."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()


def test_every_file_that_the_page_names_is_there() -> None:
    for page in (ROOT / "docs" / "security.md", ROOT / "SECURITY.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), target


def test_every_section_on_an_attack_names_its_tests() -> None:
    sections = PAGE.split("\n## ")[2:]  # after what is trusted
    told = [section for section in sections if section.partition("\n")[2].strip()]
    for section in told:
        assert "../tests/" in section, section.partition("\n")[0]

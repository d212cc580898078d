"""A file of rules is refused where its rules cannot be told apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tare.config.rules_file import load_rules
from tare.core.errors import FileFaults


def test_two_rules_of_one_name_are_told_apart_only_by_names_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text("""\
rules:
  - {name: overlay, fail_if: overhead(network=overlay) > 5 %}
  - {name: macvlan, fail_if: overhead(network=macvlan) > 5 %}
  - fail_if: ratio(rate) < 0.9
  - {name: overlay, fail_if: overhead(network=overlay) > 9 %}
  - fail_if: "ratio(rate)  < 0.9"
""")
    with pytest.raises(FileFaults) as caught:
        load_rules(tmp_path / "rules.yaml")
    cure = "too; give each a name of its own"
    assert [str(one).removeprefix(f"{tmp_path}/") for one in caught.value.faults] == [
        f"rules.yaml:5:12: rules[3].name: the rule of line 2 is 'overlay', {cure}",
        f"rules.yaml:6:14: rules[4].fail_if: the rule of line 4 is 'ratio(rate) < 0.9', {cure}",
    ]

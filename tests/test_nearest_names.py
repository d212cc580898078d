"""A name is suggested only where another one is likely to be a slip for it."""

from __future__ import annotations

import pytest

from tare.core.errors import nearest_name

KNOWN = (
    *("study", "question", "site", "reference", "factors", "cases", "exclude", "where", "repeats", "margin"),
    *("workload", "workloads", "timeout", "modules", "network", "nodes", "ranks_per_node", "imb.pingpong"),
)


@pytest.mark.parametrize("name", ["mode", "time_s", "warehouse", "resources", "timing", "casino"])
def test_a_name_of_its_own_is_no_slip_for_another(name: str) -> None:
    assert nearest_name(name, KNOWN) is None


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("node", "nodes"),
        ("nodse", "nodes"),
        ("modulse", "modules"),
        ("module", "modules"),
        ("timout", "timeout"),
        ("time_out", "timeout"),
        ("wroklaod", "workload"),
        ("refrence", "reference"),
        ("ranks_pernode", "ranks_per_node"),
        ("pingpong", "imb.pingpong"),
        ("net_work", "network"),
        ("net", "network"),
    ],
)
def test_a_slip_is_told_with_what_was_meant(slip: str, meant: str) -> None:
    assert nearest_name(slip, KNOWN) == meant

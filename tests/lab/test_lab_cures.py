"""What the lab says where the machine stands in its way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tare.errors import LabError
from tare.lab.namespaces import attempting, userns_cure


@pytest.mark.parametrize(
    ("switch", "value", "cure"),
    [
        ("kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=15000"),
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    ],
)
def test_the_switch_that_forbids_user_namespaces_is_named(
    tmp_path: Path, switch: str, value: str, cure: str
) -> None:
    (tmp_path / switch).parent.mkdir(parents=True)
    (tmp_path / switch).write_text(f"{value}\n")

    assert cure in userns_cure(tmp_path)


def test_switches_that_allow_user_namespaces_are_not_blamed(tmp_path: Path) -> None:
    (tmp_path / "user").mkdir()
    (tmp_path / "user/max_user_namespaces").write_text("96365\n")

    assert "sysctl -w" not in userns_cure(tmp_path)
    assert "inside a container" in userns_cure(tmp_path)


def test_a_refusal_of_the_kernel_becomes_an_error_with_the_cure() -> None:
    with pytest.raises(LabError, match="cannot mount it: Operation not permitted; ask nicely"):  # noqa: SIM117
        with attempting("mount it", lambda: "ask nicely"):
            raise PermissionError(1, "Operation not permitted")

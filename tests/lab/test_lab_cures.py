"""What the lab says where the machine stands in its way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tare.core.errors import LabError
from tare.lab import find
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


def _up_in_a_restricted_place(restriction: str) -> subprocess.CompletedProcess[str]:
    """Try to build a lab in a user namespace of our own, after the shell command `restriction` there."""
    tare = [sys.executable, "-P", "-c", "from tare.cli.main import main; main()", "lab", "up"]
    unshare = ["unshare", "--user", "--map-root-user", "--mount", "--"]
    return subprocess.run(
        [*unshare, "sh", "-c", f'{restriction} && exec "$@"', "sh", *tare],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.lab
def test_switched_off_user_namespaces_are_recognised_for_real(run_folder: Path) -> None:
    done = _up_in_a_restricted_place("echo 0 >/proc/sys/user/max_user_namespaces")

    assert done.returncode == 3
    assert "cannot create a user namespace: unshare: No space left on device" in done.stderr
    assert "sysctl -w user.max_user_namespaces=15000" in done.stderr
    assert not (run_folder / "tare/lab").exists()


@pytest.mark.lab
def test_a_container_that_masks_parts_of_proc_is_recognised_for_real(run_folder: Path) -> None:
    done = _up_in_a_restricted_place("mount -t tmpfs mask /proc/tty")

    assert done.returncode == 3
    assert "cannot mount the lab's /proc: mount /proc: Operation not permitted" in done.stderr
    assert "--security-opt systempaths=unconfined" in done.stderr


@pytest.mark.lab
def test_a_container_that_does_not_restrict_is_no_obstacle(run_folder: Path) -> None:
    done = _up_in_a_restricted_place("true")
    found = find()
    assert found is not None
    found.stop()

    assert done.returncode == 0, done.stderr

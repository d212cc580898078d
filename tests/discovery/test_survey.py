"""What `tare init` does where Slurm is installed and does not answer. The double stands for its commands."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from discovery.test_slurm import SLURM, RecordedCommands
from tare.app.init.draft import make_draft
from tare.app.init.files import site_text
from tare.app.init.survey import Wishes, survey
from tare.core.errors import BackendError, UsageError
from tare.discovery.commands import Output

SILENT = Output(124, "", "sinfo did not answer within 60 s")


class Listener:
    """Stands for the user, who agrees to nothing, and reads what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def choose(self, question: str, options: Sequence[str], default: str) -> str:
        return default

    def ask(self, question: str, default: str) -> str:
        return default

    def confirm(self, question: str) -> bool:
        return False

    def say(self, *lines: str) -> None:
        self.said += lines

    def busy(self, what: str) -> AbstractContextManager[None]:
        return nullcontext()


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))


def test_a_controller_that_does_not_answer_is_said_before_this_machine_is_taken(tmp_path: Path) -> None:
    user = Listener()
    found = survey(RecordedCommands({**SLURM, "sinfo --all --Node": SILENT}), Wishes(folder=tmp_path), user)
    assert found.choice.partition is None
    said = next(line for line in user.said if "Slurm is installed here, and does not answer" in line)
    assert said.endswith("once `scontrol ping` answers, call `tare init --force` here")


def test_a_partition_of_a_controller_that_does_not_answer_is_not_replaced_by_this_machine(
    tmp_path: Path,
) -> None:
    commands = RecordedCommands({**SLURM, "sinfo --all --Node": SILENT})
    with pytest.raises(BackendError, match="does not answer: sinfo --all --Node: sinfo did not answer"):
        survey(commands, Wishes(folder=tmp_path, partition="lab"), Listener())


def test_hosts_that_cannot_be_reached_are_the_only_ones_that_are_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Grid Engine did not answer either, and was named first. The double stands for ssh."""
    ssh = tmp_path / "bin/ssh"
    ssh.parent.mkdir()
    ssh.write_text("#!/bin/sh\necho 'Permission denied (publickey,password).' >&2\nexit 255\n")
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ssh.parent}:{os.environ['PATH']}")
    commands = RecordedCommands({"qconf": Output(1, "", "unable to read qmaster name")})
    with pytest.raises(BackendError) as raised:
        survey(commands, Wishes(folder=tmp_path, hosts=("n1",)), Willing())
    assert str(raised.value).startswith(
        "host n1 could not be reached: Permission denied (publickey,password); let"
    )


class Willing(Listener):
    """Stands for a user who agrees to all."""

    def confirm(self, question: str) -> bool:
        return True


def test_partitions_that_are_not_told_are_not_said_to_be_down(tmp_path: Path) -> None:
    refused = Output(1, "", "timed out")
    outputs: dict[str, Output | str] = {**SLURM, "scontrol --all show partition": refused}
    found = survey(RecordedCommands(outputs), Wishes(folder=tmp_path), Listener()).found
    assert not any("no partition that is up" in note for note in found.notes)
    assert any("scontrol --all show: timed out" in note for note in found.notes)


def test_a_slurm_without_a_configuration_is_said_before_this_machine_is_taken(tmp_path: Path) -> None:
    """Slurm 22.05.8 on a host without slurm.conf. With SLURM_CLUSTERS=gone it fails likewise."""
    lost = Output(1, "", "sinfo: fatal: Could not establish a configuration source")
    commands = RecordedCommands({**SLURM, "sinfo --version": lost})
    user = Listener()
    assert survey(commands, Wishes(folder=tmp_path), user).found.slurm is None
    assert any(
        "Slurm is installed here, and does not answer: sinfo --version: sinfo: fatal" in s for s in user.said
    )
    with pytest.raises(BackendError, match="does not answer: sinfo --version"):
        survey(commands, Wishes(folder=tmp_path, partition="lab"), Listener())


@pytest.mark.parametrize("clusters", ["mars,venus", "all"])
def test_several_clusters_of_slurm_are_not_replaced_by_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clusters: str
) -> None:
    """`scontrol` refuses them, so that nothing of a cluster would be known."""
    monkeypatch.setenv("SLURM_CLUSTERS", clusters)
    with pytest.raises(UsageError, match="a site is of one cluster; name one: SLURM_CLUSTERS=NAME tare init"):
        survey(RecordedCommands(SLURM), Wishes(folder=tmp_path), Listener())


def test_a_cluster_that_the_shell_names_is_in_the_site_so_that_other_shells_take_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_CLUSTERS", "venus")
    found = survey(RecordedCommands(SLURM), Wishes(folder=tmp_path), Listener())
    text = site_text(make_draft(found.found, found.choice), "login1", "")
    assert "cluster: venus" in text
    assert "cluster venus: SLURM_CLUSTERS of your shell" in text


def test_a_cluster_that_does_not_answer_is_not_replaced_by_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_CLUSTERS", "nonesuch")
    unknown = Output(1, "", "sinfo: error: No cluster 'nonesuch' known by database.")
    with pytest.raises(BackendError, match="No cluster 'nonesuch' known by database"):
        survey(RecordedCommands({**SLURM, "sinfo --version": unknown}), Wishes(folder=tmp_path), Listener())

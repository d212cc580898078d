"""What `tare plan --show` and `tare doctor` say of PSI/J."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from backends.psij.doubles import BatchSystemDouble
from tare import config
from tare.core.backend_plugin import CheckContext
from tare.core.case import Layout
from tare.core.checks import Finding
from tare.core.launch import Invocation
from tare.core.scheduler import Step, Task
from tare.core.site import Platform
from tare.plugins.backends.batch.commands import Reach
from tare.plugins.backends.batch.options import options_of
from tare.plugins.backends.batch.queue import request_of
from tare.plugins.backends.psij.checks import check_psij
from tare.plugins.backends.psij.options import PsijOptions
from tare.plugins.backends.psij.queue import PsijQueue
from tare.plugins.backends.psij.register import Register
from tare.plugins.backends.psij.script import show
from tare.plugins.backends.psij.systems import Executor

SITE = """\
site: here
nodes: [localhost]
networks: {host: {interface: lo}}
platforms:
  pbs: {backend: psij, psij: {executor: pbs}}
  lsf: {backend: psij, psij: {executor: lsf}}
  local: {backend: psij, psij: {executor: local}}
"""


def task_of(executor: Executor, folder: Path = Path("{work}")) -> Task:
    return Task(
        name="tare-c0ffee",
        folder=folder,
        steps=(Step(name="run", invocation=Invocation(argv=("hello", "two words"))),),
        layout=Layout(nodes=1 if executor is Executor.LOCAL else 2, ranks=2),
        platform=Platform(backend="psij", options=PsijOptions(executor=executor)),
        timeout_s=60,
    )


def shown(executor: Executor) -> str:
    task = task_of(executor)
    return show(task, options_of(task.platform, PsijOptions), "")


def test_the_script_that_is_shown_is_the_one_that_is_submitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    double = BatchSystemDouble(tmp_path, monkeypatch, "qsub", "qstat")
    double.says("qsub", "7.server\n")
    task = task_of(Executor.PBS, tmp_path)
    queue = PsijQueue(
        Executor.PBS, Register(tmp_path / "psij", Executor.PBS, tmp_path / "state"), Reach(), poll_s=60
    )
    queue.submit(tmp_path / "job.sh", request_of([task]))
    queue.close()
    said = shown(Executor.PBS)
    assert double.directives
    assert all(line in said for line in double.directives)


def test_both_scripts_are_shown_with_names_for_the_folders_to_come() -> None:
    said = shown(Executor.PBS)
    assert '#PBS -N "psij-tare-c0ffee"' in said
    assert "/bin/bash '{work}/job.sh'" in said
    assert "{campaign}/psij/pbs/$PBS_JOBID.ec" in said
    assert "step run stdout stderr hello 'two words'" in said
    assert said == shown(Executor.PBS), "the same each time"


@pytest.mark.parametrize(
    ("executor", "started"),
    [
        (Executor.LOCAL, "PSI/J-local starts /bin/bash '{work}/job.sh'"),
        (Executor.FLUX, "Flux starts flux start /bin/bash '{work}/job.sh'"),
    ],
)
def test_where_psij_writes_no_script_the_command_is_shown(executor: Executor, started: str) -> None:
    assert started in shown(executor)


def found(name: str, folder: Path) -> Sequence[Finding]:
    (folder / "here.yaml").write_text(SITE)
    site = config.read_site(str(folder / "here.yaml")).site
    context = CheckContext(site=site, name=name, env={}, folder=folder, plan=lambda study: ())
    return list(check_psij(context, options_of(site.platforms[name], PsijOptions)))


def test_doctor_reports_the_version_and_that_the_batch_system_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    BatchSystemDouble(tmp_path, monkeypatch, "qsub", "qstat", "qdel")
    version, answer = found("pbs", tmp_path)
    assert version.is_met
    assert version.found.startswith("version 0.")
    assert answer.is_met
    assert answer.found == "it answers PSI/J's executor pbs; 0 jobs of yours"


def test_doctor_reports_which_commands_are_missing(tmp_path: Path) -> None:
    _, answer = found("lsf", tmp_path)
    assert (answer.is_met, answer.found) == (False, "no command bsub, bjobs, bkill")
    assert "login" in answer.cure


def test_doctor_reports_the_error_of_a_server_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    double = BatchSystemDouble(tmp_path, monkeypatch, "qsub", "qstat", "qdel")
    double.says("qstat", "", complains="qstat: cannot connect to server hn1\n", code=1)
    _, answer = found("pbs", tmp_path)
    assert not answer.is_met
    assert "cannot connect to server hn1" in answer.found


def test_doctor_reports_how_to_install_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psij", None)
    (missing,) = found("local", tmp_path)
    assert not missing.is_met
    assert "pip install 'tare-hpc[psij]'" in missing.cure

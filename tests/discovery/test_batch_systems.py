"""Batch systems other than Slurm, and what the site file says of them.

Outputs are of the lab's Grid Engine 8.1.9, and of the manuals of PBS Professional, LSF and flux-core.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from discovery.test_slurm import RecordedCommands
from tare.app.init.batch_remarks import batch_remarks
from tare.config.site_file import site_from_text
from tare.discovery.batch_systems import find_batch_systems
from tare.discovery.commands import Output
from tare.discovery.facts import BatchSystem, ParallelEnvironment

ENVIRONMENT = """\
pe_name            {name}
slots              99999
user_lists         NONE
allocation_rule    {rule}
control_slaves     {control}
job_is_first_task  FALSE
"""
GRID_ENGINE: dict[str, Output | str] = {
    "qconf -sql": "lab\n",
    "qconf -help": "SGE 8.1.9\nusage: qconf [options]\n",
    "qconf -spl": "any\nlab\nsmp\nserial\n",
    "qconf -sp lab": ENVIRONMENT.format(name="lab", rule="8", control="TRUE"),
    "qconf -sp any": ENVIRONMENT.format(name="any", rule="$fill_up", control="TRUE"),
    "qconf -sp smp": ENVIRONMENT.format(name="smp", rule="$pe_slots", control="TRUE"),
    "qconf -sp serial": ENVIRONMENT.format(name="serial", rule="4", control="FALSE"),
    "qselect -pe lab": "lab@n1\nlab@n2\nlong@n2\n",
}
PBS: dict[str, Output | str] = {
    "qstat -B -f": "Server: pbs\n    server_state = Active\n    pbs_version = 2021.1.3.20220217134230\n",
    "qstat -Q": (
        "Queue              Max   Tot Ena Str   Que   Run   Hld   Wat   Trn   Ext Type\n"
        "---------------- ----- ----- --- --- ----- ----- ----- ----- ----- ----- ----\n"
        "workq                0     0 yes yes     0     0     0     0     0     0 Exec\n"
        "debug                0     0 yes yes     0     0     0     0     0     0 Exec\n"
    ),
}
LSF: dict[str, Output | str] = {
    "lsid": "IBM Spectrum LSF Standard 10.1.0.11, Nov 12 2020\nMy cluster name is venus\n",
    "bqueues -o": "QUEUE_NAME      STATUS\nnormal          Open:Active\nold             Closed:Inact\n",
}
FLUX: dict[str, Output | str] = {
    "flux version": "commands:    \t\t0.62.0\nlibflux-core:\t\t0.62.0\n",
    "flux getattr size": "3\n",
    "flux queue list": "batch\ndebug\n",
}


def only(outputs: Mapping[str, Output | str]) -> BatchSystem:
    notes: list[str] = []
    (found,) = find_batch_systems(RecordedCommands(outputs), notes.append)
    assert notes == []
    return found


def test_each_system_is_found_with_its_queues() -> None:
    assert [(one.name, one.version, one.queues) for one in map(only, (PBS, LSF, FLUX, GRID_ENGINE))] == [
        ("pbs", "2021.1.3.20220217134230", ("workq", "debug")),
        ("lsf", "IBM Spectrum LSF Standard 10.1.0.11", ("normal",)),
        ("flux", "0.62.0", ("batch", "debug")),
        ("gridengine", "SGE 8.1.9", ("lab",)),
    ]


def test_of_grid_engine_only_environments_with_a_fixed_number_of_slots_can_be_used() -> None:
    assert only(GRID_ENGINE).environments == (ParallelEnvironment(name="lab", slots=8, nodes=("n1", "n2")),)


@pytest.mark.parametrize("outputs", [PBS, LSF, FLUX, GRID_ENGINE])
def test_the_platform_that_a_remark_names_is_read_by_tare(outputs: Mapping[str, Output | str]) -> None:
    said = " ".join(batch_remarks(only(outputs)))
    found = re.search(r"'(queued: \{.*?\}\})'", said)
    assert found, said
    site = site_from_text(f"site: a\nnodes: [n1]\nplatforms:\n  {found[1]}\n", "site.yaml")
    assert site.platforms["queued"].is_queued
    assert "which was not tried" in said
    assert "`tare init` within a job" in said


def test_a_grid_engine_without_such_an_environment_says_what_to_ask_for() -> None:
    some = {name: text for name, text in GRID_ENGINE.items() if name not in ("qconf -spl", "qselect -pe lab")}
    system = only({**some, "qconf -spl": "any\nserial\n"})
    assert "ask an administrator for one" in " ".join(batch_remarks(system))


def test_a_server_that_does_not_answer_is_no_system() -> None:
    down = Output(1, "", "error: commlib error: got select error (Connection refused)")
    outputs = {**GRID_ENGINE, "qconf -sql": down, "qstat": down, "lsid": down, "flux": down}
    assert not list(find_batch_systems(RecordedCommands(outputs), lambda note: None))


def test_hostile_names_of_queues_are_left_out() -> None:
    system = only({**GRID_ENGINE, "qconf -sql": "lab\n$(touch harm)\n../x\n"})
    assert system.queues == ("lab",)

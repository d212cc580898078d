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
    "qstat -B -f": (
        "Server: pbs\n    server_state = Active\n    default_queue = workq\n"
        "    pbs_version = 2021.1.3.20220217134230\n"
    ),
    "qstat -Q -f": "".join(
        f"Queue: {name}\n    queue_type = Execution\n    total_jobs = 0\n"
        "    state_count = Transit:0 Queued:0 Held:0 Waiting:0 Running:0 Exiting:0 Begun\n\t:0\n"
        f"    enabled = {enabled}\n    started = {started}\n\n"
        for name, enabled, started in (
            ("a_queue_whose_name_is_long", "True", "True"),
            ("workq", "True", "True"),
            ("old", "False", "True"),
            ("stopped", "True", "False"),
        )
    ),
}
LSF: dict[str, Output | str] = {
    "lsid": "IBM Spectrum LSF Standard 10.1.0.11, Nov 12 2020\nMy cluster name is venus\n",
    "bqueues -o": (
        "QUEUE_NAME      STATUS\nadmin           Open:Active\nnormal          Open:Active\n"
        "old             Closed:Inact\n"
    ),
    "bparams": "Default Queues:  normal interactive\nMBD_SLEEP_TIME used for calculations:  10 seconds\n",
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
        ("pbs", "2021.1.3.20220217134230", ("workq", "a_queue_whose_name_is_long")),
        ("lsf", "IBM Spectrum LSF Standard 10.1.0.11", ("normal", "admin")),
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


@pytest.mark.parametrize(
    ("title", "outputs"),
    [
        ("PBS", {"qstat": Output(124, "", "qstat did not answer within 60 s")}),
        (
            "PBS",
            {
                "qstat": Output(
                    255, "", "Connection refused\nqstat: cannot connect to server pbs (errno=15010)"
                )
            },
        ),
        ("LSF", {"lsid": Output(255, "", "lsid: ls_getmastername failed: LIM is down; try later")}),
        (
            "Flux",
            {**FLUX, "flux getattr size": Output(1, "", "flux-getattr: Unable to connect to Flux: ENOENT")},
        ),
        ("Flux", {"flux": Output(124, "", "flux did not answer within 60 s")}),
        (
            "Grid Engine",
            {"qconf": Output(1, "", "error: commlib error: got select error (Connection refused)")},
        ),
    ],
)
def test_a_system_that_is_installed_and_does_not_answer_is_said_with_its_cure(
    title: str, outputs: Mapping[str, Output | str]
) -> None:
    notes: list[str] = []
    assert not list(find_batch_systems(RecordedCommands(outputs), notes.append))
    (note,) = notes
    assert note.startswith(f"what {title} offers, which is installed here and does not answer (")
    assert "answers in your shell, call `tare init --force` there" in note


@pytest.mark.parametrize(
    "outputs",
    [
        {"qstat": Output(2, "", "Unknown option: B\nUsage: qstat [-f] [-a|-i|-r]")},
        {"qstat": Output(1, "", 'qstat: Unknown option "-B"')},
        {"flux": Output(1, "", "✗ unknown command getattr for flux")},
    ],
    ids=["of Slurm", "of Grid Engine", "of Kubernetes"],
)
def test_a_command_of_the_same_name_is_no_system_that_does_not_answer(
    outputs: Mapping[str, Output | str],
) -> None:
    notes: list[str] = []
    assert not list(find_batch_systems(RecordedCommands(outputs), notes.append))
    assert notes == []


def test_hostile_names_of_queues_are_left_out() -> None:
    system = only({**GRID_ENGINE, "qconf -sql": "lab\n$(touch harm)\n../x\n"})
    assert system.queues == ("lab",)


@pytest.mark.parametrize("printed", ["", "Welcome to the cluster!\nUse it well\n", "\x1b[2J\ufffd\ufffd \n"])
def test_a_qconf_that_names_no_queue_is_no_system(printed: str) -> None:
    notes: list[str] = []
    outputs = {**GRID_ENGINE, "qconf -sql": printed}
    assert not list(find_batch_systems(RecordedCommands(outputs), notes.append))
    assert "does not answer (qconf -sql: " in " ".join(notes)


def test_a_banner_before_the_queues_names_none_and_its_bytes_are_shown() -> None:
    outputs = {**GRID_ENGINE, "qconf -sql": "Welcome to HPC\nlab\n", "qconf -help": "SGE\x1b[2J 8.1.9\n"}
    assert only(outputs).queues == ("lab",)
    assert only(outputs).version == "SGE␛[2J 8.1.9"

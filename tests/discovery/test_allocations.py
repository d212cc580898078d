"""The job in which `tare init` runs, as batch systems describe it in environment variables and files.

The texts are of PBS Professional 2021.1, of LSF 10.1, of the lab's Grid Engine 8.1.9 and of flux-core.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from discovery.test_slurm import RecordedCommands
from discovery.test_written_files import facts
from tare.app.init.draft import Choice, make_draft
from tare.app.init.files import site_text
from tare.config.site_file import site_from_text
from tare.discovery.allocations import find_allocation
from tare.discovery.commands import Output
from tare.discovery.facts import Allocation, Found

NOTHING = RecordedCommands({})
FLUX = {
    "flux getattr jobid": "ƒ2oLkTLFB\n",
    "flux getattr hostlist": "fluke[1-2,7]\n",
    "flux hostlist --expand --delimiter=, fluke[1-2,7]": "fluke1,fluke2,fluke7\n",
}


def written(folder: Path, text: str) -> str:
    (folder / "hosts").write_text(text)
    return str(folder / "hosts")


def found_in(environment: Mapping[str, str]) -> tuple[str, tuple[str, ...], int | None, str]:
    one = find_allocation(environment, NOTHING)
    assert one is not None
    return one.title, one.hosts, one.slots, one.origin


def test_pbs_names_a_node_for_each_rank_or_states_its_cores(tmp_path: Path) -> None:
    file = written(tmp_path, "n1.site\nn1.site\nn2.site\nn2.site\n")
    environment = {"PBS_JOBID": "123.pbs", "PBS_NODEFILE": file, "NCPUS": "64"}
    assert found_in(environment) == ("PBS", ("n1.site", "n2.site"), 2, "$PBS_NODEFILE")
    written(tmp_path, "n1\nn2\n")
    assert found_in(environment) == ("PBS", ("n1", "n2"), 64, "$PBS_NODEFILE")


def test_lsf_names_hosts_in_one_of_three_ways(tmp_path: Path) -> None:
    file = written(tmp_path, "hostA\nhostA\nhostB\n")
    job = {"LSB_JOBID": "7"}
    expected = ("LSF", ("hostA", "hostB"), 1)
    assert found_in({**job, "LSB_DJOB_HOSTFILE": file}) == (*expected, "$LSB_DJOB_HOSTFILE")
    pairs = {**job, "LSB_DJOB_HOSTFILE": "/no/such/file", "LSB_MCPU_HOSTS": "hostA 4 hostB 1"}
    assert found_in(pairs) == (*expected, "$LSB_MCPU_HOSTS")
    assert found_in({**job, "LSB_HOSTS": "hostA hostA hostB"}) == (*expected, "$LSB_HOSTS")


def test_grid_engine_states_the_slots_of_each_host(tmp_path: Path) -> None:
    file = written(tmp_path, "n1 8 lab@n1 UNDEFINED\nn2 4 lab@n2 UNDEFINED\nn2 2 other@n2 UNDEFINED\n")
    found = found_in({"JOB_ID": "3", "PE_HOSTFILE": file})
    assert found == ("Grid Engine", ("n1", "n2"), 6, "$PE_HOSTFILE")


def test_an_instance_of_flux_is_a_job_only_if_it_has_the_id_of_one() -> None:
    environment = {"FLUX_URI": "local:///run/flux/local"}
    found = find_allocation(environment, RecordedCommands(FLUX))
    assert found is not None
    assert (found.hosts, found.slots) == (("fluke1", "fluke2", "fluke7"), None)
    system = RecordedCommands({**FLUX, "flux getattr jobid": Output(1, "", "flux-getattr: jobid: No such")})
    assert find_allocation(environment, system) is None
    assert find_allocation({}, RecordedCommands(FLUX)) is None


@pytest.mark.parametrize("text", ["", "-oProxyCommand=harm\n", "n1\n$(touch harm)\n", "../n1\n"])
def test_names_that_are_none_of_hosts_make_no_allocation(text: str, tmp_path: Path) -> None:
    file = written(tmp_path, text)
    assert find_allocation({"PBS_JOBID": "1", "PBS_NODEFILE": file}, NOTHING) is None
    assert find_allocation({"LSB_JOBID": "1", "LSB_HOSTS": text}, NOTHING) is None


def test_a_file_of_nodes_without_a_job_is_none(tmp_path: Path) -> None:
    file = written(tmp_path, "n1\n")
    assert find_allocation({"PBS_NODEFILE": file, "PE_HOSTFILE": file}, NOTHING) is None


def test_the_site_of_a_job_has_its_slots_and_says_how_long_it_holds() -> None:
    job = Allocation(title="PBS", job="123.pbs", hosts=("n1", "n2"), slots=4, origin="$PBS_NODEFILE")
    found = Found(host="n1", hosts=job.hosts, allocation=job, nodes=(facts(1), facts(2)), via="over ssh")
    text = site_text(make_draft(found, Choice()), "n1", "")
    site = site_from_text(text, "site.yaml")
    assert (site.nodes, site.slots_per_node, site.agent) == (("n1", "n2"), 4, ("ssh",))
    assert not site.binds_ranks, "other jobs may have the other cores"
    assert 'nodes: ["n[1-2]"]    # $PBS_NODEFILE of PBS job 123.pbs' in text
    flat = " ".join(text.replace("\n#", " ").split())
    assert "This site is of PBS job 123.pbs: it holds while the job runs" in flat
    alone = msgspec.structs.replace(job, slots=16)
    whole = msgspec.structs.replace(found, allocation=alone)
    assert site_from_text(site_text(make_draft(whole, Choice()), "n1", ""), "site.yaml").binds_ranks

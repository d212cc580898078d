"""The site file and the study that are made of what was found: they are read back by Tare's own readers."""

from __future__ import annotations

import msgspec
import pytest

from tare.app.init.draft import Choice, make_draft
from tare.app.init.files import site_text, study_text
from tare.app.init.site_draft import PlatformDraft
from tare.app.init.trial import announcement, how_tried, marked, untried
from tare.app.init.yaml_text import flow
from tare.config.site_file import site_from_text
from tare.core.checks import Finding
from tare.core.errors import FileFaults
from tare.core.site import Site
from tare.discovery.facts import Folder, Found, Interface, Mpi, NodeClass, NodeFacts, Partition, SlurmFacts
from tare.plugins.backends.slurm.options import SlurmOptions

HOSTILE = [
    "a: b",
    "yes",
    "# x",
    "$(touch harm)",
    'it\'s "quoted"',
    "{a}",
    "[b]",
    "1e3",
    "null",
    "- c",
    "ü*&!%@`",
]
MPI = Mpi(
    family="Open MPI",
    version="4.1.4",
    launcher="openmpi4",
    prefix="/usr",
    path=("/usr/bin",),
    programs=("mpicc",),
    origin="/usr/bin/mpirun is on the PATH",
)


def facts(number: int) -> NodeFacts:
    return NodeFacts(
        node=f"n{number}",
        machine=f"m{number}",
        cores=16,
        memory_kib=64 << 20,
        interfaces=(
            Interface(name="eth0", addresses=(f"10.0.0.{number}/24",), names=(f"n{number}",)),
            Interface(name="ib0", addresses=(f"10.1.0.{number}/24",), names=(f"n{number}-ib0",)),
        ),
        folders=(
            Folder(path="/scratch", file_system="lustre", source="x", is_writable=True, origin="$SCRATCH"),
        ),
        mpis=(MPI,),
        sees_folder=True,
    )


def partition(name: str = "compute", *classes: NodeClass) -> Partition:
    own = classes or (NodeClass(nodes=("n1", "n2"), sockets=2, cores_per_socket=8),)
    return Partition(name=name, is_default=True, classes=own)


def slurm_found(*, notes: tuple[str, ...] = (), has_nodes: bool = True) -> Found:
    slurm = SlurmFacts(version="23.11", cluster="venus", mpi_types=("pmix", "none"), binds_ranks=True)
    nodes = (facts(1), facts(2)) if has_nodes else ()
    return Found(host="login1", slurm=slurm, nodes=nodes, via="in a job of Slurm", notes=notes)


def read(found: Found, choice: Choice) -> Site:
    return site_from_text(site_text(make_draft(found, choice), found.host, ""), "site.yaml")


def options(site: Site, name: str) -> SlurmOptions:
    found = site.platforms[name].options
    assert isinstance(found, SlurmOptions)
    return found


def test_a_slurm_becomes_a_site_with_a_platform_for_each_way_to_start_an_mpi() -> None:
    site = read(slurm_found(), Choice(partition=partition(), account="proj42"))
    assert (site.name, site.nodes, site.slots_per_node) == ("venus", ("n1", "n2"), 16)
    assert list(site.platforms) == ["openmpi-4.1.4", "openmpi-4.1.4-srun", "bare"]
    assert options(site, "openmpi-4.1.4-srun").mpi == "pmix"
    assert options(site, "openmpi-4.1.4").account == "proj42"
    assert {name: one.address for name, one in site.networks.items()} == {"ib0": "{node}-ib0"}
    assert site.management == ("eth0",)
    assert site.storage == {"scratch": "/scratch"}
    assert site.binds_ranks


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_come_back_as_they_are(name: str) -> None:
    choice = Choice(partition=partition(name), account=name)
    site = read(slurm_found(notes=(f"{name}\nsite: forged",)), choice)
    assert (options(site, "bare").partition, options(site, "bare").account) == (name, name)
    assert site.name == "venus"


def study_of(*platforms: PlatformDraft) -> str:
    draft = make_draft(slurm_found(), Choice(partition=partition()))
    return study_text(msgspec.structs.replace(draft, platforms=platforms, networks=()))


def drafted(
    name: str, *, is_mpi: bool = True, has_compiler: bool | None = False, has_imb: bool = False
) -> PlatformDraft:
    return PlatformDraft(
        name=name, options={}, origin="o", is_mpi=is_mpi, has_compiler=has_compiler, has_imb=has_imb
    )


BARE = drafted("bare", is_mpi=False)


def test_a_first_study_compiles_only_for_platforms_that_can_compile() -> None:
    able = drafted("mpich", has_compiler=True), drafted("openmpi", has_compiler=True)
    text = study_of(able[0], drafted("runtime", has_imb=True), able[1], BARE)
    assert "tare.p2p" in text
    assert "[mpich, openmpi]" in text


def test_where_nothing_compiles_a_first_study_has_the_platforms_with_imb() -> None:
    text = study_of(drafted("mpich"), drafted("intelmpi", has_imb=True), BARE)
    assert "imb.pingpong" in text
    assert "\nplatform: intelmpi\n" in text


def test_where_no_mpi_has_a_program_a_first_study_starts_what_every_linux_has() -> None:
    text = study_of(drafted("mpich"), BARE)
    assert "# no MPI that was found has a compiler or IMB-MPI1" in text
    assert "\nplatform: bare\n" in text


def test_an_mpi_of_which_nothing_is_known_is_tried_with_what_needs_a_compiler() -> None:
    assert "# needs an mpicc" in study_of(drafted("pods", has_compiler=None))


def test_without_a_job_the_site_has_no_networks_and_says_so() -> None:
    found = slurm_found(notes=("networks of compute nodes, since no job was run",), has_nodes=False)
    text = site_text(make_draft(found, Choice(partition=partition())), "login1", "")
    assert list(site_from_text(text, "site.yaml").platforms) == ["bare"]
    assert "Not known: networks of compute nodes, since no job was run." in text


def test_of_several_classes_the_largest_is_asked_for_by_a_feature_of_its_own() -> None:
    large = NodeClass(nodes=("n1", "n2"), sockets=2, cores_per_socket=8, features=("ib", "skylake"))
    small = NodeClass(nodes=("o1",), cores_per_socket=4, features=("ib",))
    site = read(slurm_found(), Choice(partition=partition("mixed", large, small)))
    assert (options(site, "bare").constraint, site.nodes, site.slots_per_node) == (
        "skylake",
        ("n1", "n2"),
        16,
    )
    bare = NodeClass(nodes=("o1",), cores_per_socket=4)
    alike = msgspec.structs.replace(large, features=())
    site = read(slurm_found(), Choice(partition=partition("mixed", alike, bare)))
    assert (options(site, "bare").constraint, site.slots_per_node) == (None, 4)


def test_a_platform_that_does_not_work_is_left_as_a_comment_with_its_reason() -> None:
    draft = make_draft(slurm_found(), Choice(partition=partition()))
    fault = Finding(name="openmpi-4.1.4", is_met=False, found="no PMI\nplatforms: {forged: {}}")
    left = marked(draft, [fault])
    text = site_text(left, "login1", "")
    assert "# openmpi-4.1.4 does not work: no PMI platforms: {forged: {}}" in text
    assert list(site_from_text(text, "site.yaml").platforms) == ["openmpi-4.1.4-srun", "bare"]
    assert "mpicc of openmpi-4.1.4-srun" in study_text(left)


def test_only_a_platform_that_started_its_ranks_is_said_to_have() -> None:
    draft = make_draft(slurm_found(), Choice(partition=partition()))
    untried = Finding(name="openmpi-4.1.4", is_met=None, found="no program to try it with")
    bare = Finding(name="bare", is_met=True, found="starts programs without MPI")
    assert how_tried(draft, [untried, bare]) == "Nothing shows that one of them starts two ranks."
    good = Finding(name="openmpi-4.1.4-srun", is_met=True, found="2 ranks on n1 and n2")
    assert how_tried(draft, [untried, good, bare]).endswith("on two nodes: openmpi-4.1.4-srun.")


def test_a_first_study_has_the_program_that_ran_and_not_the_one_that_a_path_promised() -> None:
    draft = make_draft(slurm_found(), Choice(partition=partition()))
    platforms = tuple(drafted(name, has_compiler=True, has_imb=name == "impi") for name in ("impi", "a", "b"))
    draft = msgspec.structs.replace(draft, platforms=(*platforms, BARE), networks=())
    ran = [
        Finding(name="impi", is_met=True, found="MPI 4.1; ld failed", program="imb.pingpong"),
        Finding(name="a", is_met=True, found="2 ranks", program="tare.p2p"),
        Finding(name="b", is_met=True, found="2 ranks", program="tare.p2p"),
    ]
    left = untried(marked(draft, ran), ran)
    assert "factors: {platform: [a, b]}" in study_text(left)
    assert "mpicc of a compiles it" in study_text(left)
    said = " ".join(site_text(left, "login1", "").replace("\n# ", " ").split())
    assert "IMB-MPI1 ran on impi, and nothing that an mpicc compiles there: MPI 4.1; ld failed." in said
    alone = msgspec.structs.replace(left, platforms=(left.platforms[0], BARE))
    assert "imb.pingpong" in study_text(alone)


def test_a_platform_whose_job_did_not_start_stays_and_is_said_to_be_unknown() -> None:
    draft = make_draft(slurm_found(), Choice(partition=partition()))
    waited = Finding(name="openmpi-4.1.4", is_met=None, found="its job had waited\nsite: forged")
    text = site_text(untried(marked(draft, [waited]), [waited]), "login1", how_tried(draft, [waited]))
    assert "openmpi-4.1.4" in site_from_text(text, "site.yaml").platforms
    assert "Not known whether openmpi-4.1.4 works: its job had waited␊site: forged" in text


def test_cores_of_a_machine_that_could_not_be_asked_are_not_said_to_be_read() -> None:
    text = site_text(make_draft(Found(host="h", via="this machine"), Choice()), "h", "")
    assert "slots_per_node: 1    # not known, since this machine could not be asked" in text


def test_nodes_that_are_one_machine_bind_no_ranks() -> None:
    nodes = tuple(msgspec.structs.replace(facts(number), machine="same") for number in (1, 2))
    found = msgspec.structs.replace(slurm_found(), nodes=nodes)
    assert not read(found, Choice(partition=partition())).binds_ranks


def test_hosts_over_ssh_become_a_site_with_a_staging_folder_where_they_share_none() -> None:
    found = Found(host="head", hosts=("n1", "n2"), nodes=(facts(1), facts(2)), via="over ssh")
    site = read(found, Choice(staging="/var/tmp"))
    assert (site.nodes, site.agent, site.staging) == (("n1", "n2"), ("ssh",), "/var/tmp")
    assert list(site.platforms) == ["openmpi-4.1.4", "bare"]


def test_a_site_key_that_binds_otherwise_is_refused() -> None:
    with pytest.raises(FileFaults, match="bind"):
        site_from_text("site: a\nnodes: [n1]\nbind: core\nplatforms: {bare: {}}\n", "site.yaml")


def test_values_on_one_line_are_quoted_where_yaml_would_read_them_otherwise() -> None:
    assert flow({"a": ["n[1-2]", "off", "1MiB", 3, True]}) == '{a: ["n[1-2]", "off", 1MiB, 3, true]}'


def test_the_memory_of_a_small_node_is_not_rounded_to_nothing() -> None:
    nodes = tuple(msgspec.structs.replace(facts(number), memory_kib=900 << 10) for number in (1, 2))
    site = read(msgspec.structs.replace(slurm_found(), nodes=nodes), Choice(partition=partition()))
    assert site.memory_bytes == 900 << 20


def test_the_jobs_that_try_platforms_are_counted_with_their_nodes_and_time_limit() -> None:
    draft = make_draft(slurm_found(), Choice(partition=partition()))
    assert announcement(draft, 300) == (
        "To try each platform, 2 jobs of seconds: they run one after the other, each on 2 nodes, for 3 "
        "minutes at most: openmpi-4.1.4, openmpi-4.1.4-srun. A job that waits for 300 s is "
        "cancelled (--wait)."
    )
    single = make_draft(slurm_found(), Choice(partition=partition("p", NodeClass(nodes=("n1",)))))
    assert "on 1 node, for 3 minutes" in announcement(single, 300)
    on_hosts = Found(host="head", hosts=("n1", "n2"), nodes=(facts(1), facts(2)), via="over ssh")
    assert announcement(make_draft(on_hosts, Choice()), 300) == "", (
        "these are announced before hosts are asked"
    )

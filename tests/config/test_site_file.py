# ruff: noqa: E501 - messages stand whole, as a user reads them
from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tare.config import load_lab_spec, load_site, site_from_text
from tare.config.expansion import expand_nodes
from tare.core.containers import ContainerOptions, ContainerShape
from tare.core.errors import FileFaults, UsageError
from tare.core.site import LabNetworkKind, Network, Platform, Site
from tare.lab.rootfs import rootfs_folder

HEAD = "site: s\nnodes: [n1]\nplatforms: {bare: {}}\n"


def read(text: str, environment: dict[str, str] | None = None) -> Site:
    return site_from_text(text, "site.yaml", environment or {"HOME": "/home/me"})


def faults_of(text: str) -> list[str]:
    with pytest.raises(FileFaults) as raised:
        read(text)
    return [str(fault) for fault in raised.value.faults]


def test_a_site_file_becomes_a_site() -> None:
    site = read(
        """\
site: venus
nodes: [login, "n[1-3]"]
slots_per_node: 32
memory: 128GiB
agent: ssh -q
management: [mgmt0]
platforms:
  bare: {launcher: openmpi4, prefix: ~/mpi, path: "${APPS}/bin", env: {OMP_NUM_THREADS: 4}}
networks:
  host: {interface: ib0, provider: verbs, options: {mpich: {UCX_TLS: rc}}}
  pod: {interface: eth0, host: "{node}-pod", address: "{host}.cluster.local"}
storage: {scratch: "${APPS}/data"}
""",
        {"HOME": "/home/me", "APPS": "/apps"},
    )
    assert site == Site(
        name="venus",
        nodes=("login", "n1", "n2", "n3"),
        slots_per_node=32,
        memory_bytes=128 << 30,
        platforms={
            "bare": Platform(
                launcher="openmpi4", prefix="/home/me/mpi", path=("/apps/bin",), env={"OMP_NUM_THREADS": "4"}
            )
        },
        networks={
            "host": Network(interface="ib0", provider="verbs", options={"mpich": {"UCX_TLS": "rc"}}),
            "pod": Network(interface="eth0", host="{node}-pod", address="{host}.cluster.local"),
        },
        storage={"scratch": "/apps/data"},
        agent=("ssh", "-q"),
        management=("mgmt0",),
    )


@pytest.mark.parametrize(
    ("written", "nodes"),
    [
        ("n1", ["n1"]),
        ("n[1-4]", ["n1", "n2", "n3", "n4"]),
        ("node[01-03,40]", ["node01", "node02", "node03", "node40"]),
        ("n[9-11]", ["n9", "n10", "n11"]),
        ("r[1-2]n[1,3].net", ["r1n1.net", "r1n3.net", "r2n1.net", "r2n3.net"]),
    ],
)
def test_ranges_stand_for_nodes(written: str, nodes: list[str]) -> None:
    assert list(expand_nodes(written)) == nodes


@pytest.mark.parametrize(
    "written", ["n[4-1]", "n[]", "n[a-b]", "n[1-4", "n]1[", "n[1-999999999]", "n[1-9999]m[1-9999]"]
)
def test_what_is_no_range_of_nodes_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r"; write|; name fewer"):
        expand_nodes(written)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "storage: {a: '${NOWHERE}/x'}\n", "site.yaml:4:14: storage.a: the environment variable NOWHERE is not set; set it, or write its value here"),
        (HEAD + "storage: {a: '${x'}\n", "site.yaml:4:14: storage.a: '${x' is not a variable; write ${NAME}"),
        (HEAD + "storage: {a: data}\n", "site.yaml:4:14: storage.a: 'data' is a relative path; write /…, ~/… or ${NAME}/…"),
        (HEAD + "network: {}\n", "site.yaml:4:1: network: unknown key 'network'; did you mean 'networks'?"),
        (HEAD + "networks: {host: {}}\n", "site.yaml:4:18: networks.host: 'interface' is missing; add 'interface: eth0'"),
        ("site: s\nnodes: [n1]\nplatforms: {}\n", "site.yaml:3:12: platforms: a site offers at least one platform; add one, such as 'bare: {}'"),
        ("site: s\nplatforms: {bare: {}}\n", "site.yaml:1:1: a site has nodes; add 'nodes: [localhost]', or a 'lab'"),
        ("site: s\nnodes: []\nplatforms: {bare: {}}\n", "site.yaml:2:8: nodes: a site has nodes; add 'nodes: [localhost]', or a 'lab'"),
        (HEAD.replace("[n1]", "4"), "site.yaml:2:8: nodes: 4 is not the name of a host; name them, such as 'n[1-4]'"),
        (HEAD.replace("[n1]", "'n1,n2'"), "site.yaml:2:8: nodes: 'n1,n2' is not the name of a host; write a list, such as [n1, n2]"),
        ("site: s\nnodes: [n1]\nplatforms:\n  bare:\n", "site.yaml:4:8: platforms.bare: expected a mapping such as {launcher: openmpi4}, not nothing"),
        ("study: s\nsite: local\nworkload: hpcg\n", "site.yaml:1:1: this is a study file; name a site file, or local or lab"),
        (HEAD.replace("[n1]", "[n1, n2, n1]"), "site.yaml:2:17: nodes[2]: node n1 is there twice; remove one"),
        (HEAD.replace("[n1]", "[-oProxyCommand=x]"), "site.yaml:2:9: nodes[0]: '-oProxyCommand=x' is not the name of a host; use letters, digits, - and ."),
        (HEAD + "agent: \"ssh 'x\"\n", "site.yaml:4:8: agent: No closing quotation; close the quotes, or write the agent as a list"),
        (HEAD + "memory: lots\n", "site.yaml:4:9: memory: 'lots' is not a quantity; write a number and a unit, such as 64KiB"),
        (HEAD + "memory: 0\n", "site.yaml:4:9: memory: 0 is out of range; use more than 0"),
        (HEAD + "memory: 128\n", "site.yaml:4:9: memory: 128 B is no memory of a node; write its unit, such as 128GiB"),
        (HEAD + "slots_per_node: many\n", "site.yaml:4:17: slots_per_node: expected a whole number or 'cores' such as 32, not 'many'"),
        (HEAD + "storage: {disk: {path: /data}}\n", "site.yaml:4:17: storage.disk: expected text such as /mnt/scratch, not a mapping"),
        (HEAD + "networks: {host: eth1}\n", "site.yaml:4:18: networks.host: expected a mapping such as {interface: eth0}, not 'eth1'"),
        (HEAD + "slots_per_node: core\n", "site.yaml:4:17: slots_per_node: 'core' is unknown here; did you mean 'cores'?"),
        (HEAD + "lab: {nodes: 2, networks: {o: {kind: vxlan, over: host, delay: 1 ms}, host: {kind: bridge}}}\n", "site.yaml:4:31: lab.networks.o: only a bridge has a delay; delay the network that carries this one"),
        (HEAD + "lab: {nodes: 2, networks: {o: {kind: bridge, rate: 1 Gbit/s, delay: 1 ms}}}\n", "site.yaml:4:31: lab.networks.o: a network has a rate or a delay, not both; use two networks"),
        (HEAD + "lab: {nodes: 2, networks: {o: {kind: bridge, delay: 1 min}}}\n", "site.yaml:4:31: lab.networks.o: a delay of 60 s is too long; use 1 s at most"),
        (HEAD + "lab: {nodes: 2, networks: {o: {kind: vxlan, over: host, rate: 1 Gbit/s}, host: {kind: bridge}}}\n", "site.yaml:4:31: lab.networks.o: only a bridge has a rate; shape the network that carries this one"),
        (HEAD + "lab: {nodes: 2, networks: {o: {kind: vxlan, over: hots}, host: {kind: bridge}}}\n", "site.yaml:4:31: lab.networks.o: 'hots' is not a bridge of this lab; did you mean 'host'?"),
        (HEAD + "lab: {nodes: 0, networks: {}}\n", "site.yaml:4:14: lab.nodes: 0 is out of range; use 1 or more"),
        (HEAD + "lab: {nodes: 1, networks: {a: {kind: bridge, rate: fast}}}\n", "site.yaml:4:52: lab.networks.a.rate: 'fast' is not a quantity; write a number and a unit, such as 1 Gbit/s"),
    ],
)  # fmt: skip
def test_a_broken_site_is_reported_with_position_and_cure(text: str, message: str) -> None:
    assert faults_of(text) == [message]


@pytest.mark.parametrize("name", ["TARE_MPI", "TARE_ROOTFS", "HOME", "DATA"])
def test_a_variable_that_is_no_text_is_refused_and_not_kept(name: str) -> None:
    """What is not UTF-8 could not be written to a plan, a journal or a page."""
    written = "~" if name == "HOME" else f"${{{name}}}"
    site = f"{HEAD}storage: {{a: '{written}/x'}}\n"
    assert site_from_text(site, "site.yaml", {name: "/home/é"}).storage == {"a": "/home/é/x"}
    with pytest.raises(UsageError, match=f"storage.a: the environment variable {name} is not UTF-8; set it"):
        site_from_text(site, "site.yaml", {name: os.fsdecode(b"/home/\xe9")})


def test_a_site_with_a_lab_gets_nodes_and_networks_from_it() -> None:
    site = read(
        "site: s\nplatforms: {bare: {}}\nlab:\n  nodes: 2\n  networks:\n    host: {kind: bridge}\n"
        "    slow: {kind: bridge, rate: 1 Gbit/s, mtu: 1400}\n    sdn: {kind: vxlan, over: host}\n"
    )
    assert site.nodes == ("n1", "n2")
    assert {name: (one.interface, one.host) for name, one in site.networks.items()} == {
        "host": ("fab0", "{node}"),
        "slow": ("fab1", "{node}"),
        "sdn": ("eth0", "{node}-pod"),
    }
    assert site.management == ("mgmt0",)
    assert site.lab is not None
    assert site.lab.networks["slow"].rate_bits_per_s == 1e9


def test_the_built_in_sites_load_wherever_one_stands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    local = load_site("local")
    assert local.nodes == ("localhost",)
    assert local.slots_per_node == len(os.sched_getaffinity(0))
    lab = load_site("lab", tmp_path)
    assert lab.lab is not None
    assert lab.nodes == lab.lab.node_names


def test_the_mpis_lie_beside_python_unless_the_environment_sets_another() -> None:
    assert (
        load_site("local", environment={}).platforms["mpich"].prefix == f"{sys.prefix}/share/tare/mpi/mpich"
    )
    assert load_site("local", environment={"TARE_MPI": "/opt"}).platforms["mpich"].prefix == "/opt/mpich"


def test_a_site_path_starts_at_the_study(tmp_path: Path) -> None:
    (tmp_path / "sites").mkdir()
    (tmp_path / "sites" / "x.yaml").write_text(HEAD)
    assert load_site("sites/x.yaml", tmp_path).name == "s"
    assert load_site(str(tmp_path / "sites" / "x.yaml"), Path("/elsewhere")).name == "s"


@pytest.mark.parametrize("name", ["lba", "sites", "", "a\0b", "x" * 5000])
def test_a_site_that_is_no_file_is_a_usage_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "sites").mkdir()
    with pytest.raises(UsageError, match="use local, lab or the path of a site file"):
        load_site(name, tmp_path)


def test_a_lab_is_described_by_a_file_of_its_own_or_by_a_site(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("nodes: 3\nnetworks: {host: {kind: bridge}}\n")
    site = tmp_path / "site.yaml"
    site.write_text("site: s\nplatforms: {bare: {}}\nlab: {nodes: 3, networks: {host: {kind: bridge}}}\n")
    assert load_lab_spec(own) == load_lab_spec(site)
    assert load_lab_spec(own).networks["host"].kind is LabNetworkKind.BRIDGE
    own.write_text("nodes: 3\nnetworks: {sdn: {kind: vxlan}}\n")
    with pytest.raises(FileFaults, match=r"own\.yaml:2:17: networks\.sdn: 'over' is missing"):
        load_lab_spec(own)


def test_other_machines_are_reached_by_ssh_unless_the_file_names_another_agent() -> None:
    elsewhere = site_from_text("site: s\nnodes: [n1, n2]\nplatforms: {bare: {}}\n", "site.yaml")
    here = site_from_text("site: s\nnodes: [localhost]\nplatforms: {bare: {}}\n", "site.yaml")
    assert (elsewhere.agent, here.agent) == (("ssh",), ())


def test_a_platform_has_what_its_containers_are_made_of() -> None:
    site = read(
        """\
site: s
nodes: [n1]
platforms:
  boxes:
    runtime: podman
    container:
      {shape: node, image: "${REGISTRY}/imb:1", binds: [/opt/mpi, "/data:/in:ro"], devices: [/dev/infiniband],
       shm: 1GiB, memlock: unlimited, network: fabric, options: [--privileged], program: /opt/bin/podman}
""",
        {"REGISTRY": "hub"},
    )
    assert site.platforms["boxes"].container == ContainerOptions(
        shape=ContainerShape.NODE,
        image="hub/imb:1",
        binds=("/opt/mpi", "/data:/in:ro"),
        devices=("/dev/infiniband",),
        shm_bytes=2**30,
        memlock="unlimited",
        network="fabric",
        options=("--privileged",),
        program="/opt/bin/podman",
    )


def test_a_runtime_that_does_not_exist_is_not_asked_for_its_image() -> None:
    """The plan says that there is no such runtime."""
    assert (
        read("site: s\nnodes: [n1]\nplatforms: {bare: {runtime: sarus}}\n").platforms["bare"].container
        is None
    )


@pytest.mark.parametrize(
    ("platform", "fault"),
    [
        ("{container: {image: x}}", "runtime native takes none; add a runtime, such as 'runtime: podman'"),
        ("{runtime: podman}", "makes containers of is missing; give container one 'image' or 'rootfs'"),
        ("{runtime: podman, container: {binds: []}}", "makes containers of is missing"),
        ("{runtime: podman, container: {image: x, rootfs: /y}}", "makes containers of has both"),
        ("{runtime: podman, container: {rootfs: y}}", "'y' is a relative path"),
        ("{runtime: podman, container: {image: x, devices: [kvm]}}", "'kvm' is a relative path"),
        ("{runtime: podman, container: {image: x, binds: [opt]}}", "'opt' is not SOURCE[:TARGET[:ro]]"),
        ("{runtime: podman, container: {image: x, binds: ['/a:b']}}", "'/a:b' is not SOURCE[:TARGET[:ro]]"),
        ("{runtime: podman, container: {image: x, binds: ['/a:/b:rw']}}", "is not SOURCE[:TARGET[:ro]]"),
    ],
)
def test_a_container_that_cannot_be_is_a_fault(platform: str, fault: str) -> None:
    (found,) = faults_of(f"site: s\nnodes: [n1]\nplatforms: {{bare: {platform}}}\n")
    assert fault in found


def test_root_file_systems_lie_beside_python_unless_the_environment_sets_another(tmp_path: Path) -> None:
    def rootfs(environment: dict[str, str]) -> str:
        container = load_site("lab", environment=environment).platforms["charliecloud"].container
        assert container is not None
        return container.source

    assert rootfs({}) == f"{os.path.realpath(f'{sys.prefix}/share/tare/rootfs')}/debian"
    assert rootfs({"TARE_ROOTFS": "/images"}) == "/images/debian"
    (tmp_path / "home").symlink_to(tmp_path / "disk")  # runc refuses what is behind a link
    (tmp_path / "disk").mkdir()
    assert rootfs({"TARE_ROOTFS": f"{tmp_path}/home/images"}) == f"{tmp_path.resolve()}/disk/images/debian"
    assert rootfs_folder({"TARE_ROOTFS": f"{tmp_path}/home/images"}) == tmp_path.resolve() / "disk/images"


@pytest.mark.parametrize("text", ["{}/home/debian", "${{IMAGES}}/debian", "{}/home/./debian/"])
def test_a_root_file_system_of_a_site_is_found_behind_links_as_the_labs_is(tmp_path: Path, text: str) -> None:
    """Runc refuses what is behind a link, in words of its own."""
    (tmp_path / "home").symlink_to(tmp_path / "disk")
    (tmp_path / "disk").mkdir()
    (tmp_path / "site.yaml").write_text(
        "site: s\nnodes: [n1]\nplatforms:\n"
        f"  bare: {{runtime: podman, container: {{rootfs: '{text.format(tmp_path)}'}}}}\n"
    )
    site = load_site(f"{tmp_path}/site.yaml", environment={"IMAGES": f"{tmp_path}/home"})
    container = site.platforms["bare"].container
    assert container is not None
    assert container.rootfs == f"{tmp_path.resolve()}/disk/debian"


def test_a_lab_stages_nothing() -> None:
    text = (
        "site: s\nlab: {nodes: 2, networks: {host: {kind: bridge}}}\nplatforms: {bare: {}}\nstaging: /tmp\n"
    )
    (fault,) = faults_of(text)
    assert fault.endswith("staging: nodes of a lab share the files of this machine; remove it")


def test_what_is_redacted_is_words_and_patterns() -> None:
    assert read(f"{HEAD}redact: [acme, '/node[0-9]+/']\n").redact == ("acme", "/node[0-9]+/")
    assert read(f"{HEAD}redact: acme\n").redact == ("acme",)
    assert read(HEAD).redact == ()


def test_what_cannot_be_redacted_is_a_fault_in_its_place() -> None:
    faults = faults_of(f"{HEAD}redact:\n  - acme\n  - x\n  - /(?=a)/\n  - /a*/\n")
    assert [one.partition(": redact")[0] for one in faults] == [f"site.yaml:{line}:5" for line in (6, 7, 8)]
    assert "redact[1]: 'x' is no word to redact; give 2 or more" in faults[0]
    assert "look-around" in faults[1]
    assert "at least one character" in faults[2]


def test_options_of_a_backend_that_cannot_be_read_are_not_missing_too() -> None:
    text = "site: s\nnodes: [n1]\nplatforms:\n  q: {backend: gridengine, gridengine: {paralel_environment: mpi}}\n"
    missing, unknown = faults_of(text)
    assert "unknown key 'paralel_environment'; did you mean 'parallel_environment'?" in unknown
    assert "'parallel_environment' is missing; add" in missing


def test_a_lab_with_storage_offers_its_paths_beside_those_of_the_site() -> None:
    site = read(
        """\
site: s
platforms: {bare: {}}
lab:
  nodes: 2
  networks: {host: {kind: bridge}}
  storage: {direct: {}, gateway: {rate: 400 Mbit/s}}
storage: {scratch: /scratch}
"""
    )
    assert site.storage == {
        "direct": "/mnt/tare/direct",
        "gateway": "/mnt/tare/gateway",
        "scratch": "/scratch",
    }
    assert site.lab is not None
    assert site.lab.storage["gateway"].rate_bits_per_s == 400e6
    assert site.side_interfaces == ("mgmt0", "sto0", "sto1")


def test_a_storage_path_that_the_lab_has_already_is_a_fault() -> None:
    text = """\
site: s
platforms: {bare: {}}
lab: {nodes: 2, networks: {host: {kind: bridge}}, storage: {direct: {}}}
storage:
  direct: /scratch
"""
    with pytest.raises(FileFaults, match=r"site\.yaml:5:\d+: storage\.direct: the lab has a storage path"):
        site_from_text(text, "site.yaml")


@pytest.mark.parametrize("name", ["'../up'", "'a/b'", "'$(id)'", "''"])
def test_the_name_of_a_storage_path_of_the_lab_is_a_name(name: str) -> None:
    text = f"site: s\nplatforms: {{bare: {{}}}}\nlab:\n  nodes: 1\n  networks: {{}}\n  storage:\n    {name}: {{}}\n"
    with pytest.raises(FileFaults, match=r"site\.yaml:7:5"):
        site_from_text(text, "site.yaml")

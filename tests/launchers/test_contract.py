"""What every launcher owes to whoever calls it."""

from __future__ import annotations

import msgspec
import pytest

from launchers.situations import LAUNCHERS, PROGRAM, SITUATIONS, TWO_NODES
from tare.core.case import Layout
from tare.core.errors import UsageError
from tare.core.launch import Invocation, Placement
from tare.core.site import Network, Platform
from tare.plugins import registry
from tare.plugins.backends.slurm.options import SlurmOptions

MPIS = tuple(name for name in LAUNCHERS if name not in ("none", "srun"))
ODD_VALUES = ("", "two words", "a,b;c", "it's", 'say "hi"', "x=y", "$HOME `id` \\", "two\nlines", "µ")


def placed(**changes: object) -> Placement:
    return msgspec.structs.replace(TWO_NODES, **changes)


def rank_env(launched: Invocation) -> dict[str, str]:
    """Return what ranks on all hosts get, as hydra (-genv NAME VALUE) and Open MPI (-x NAME) are told."""
    words = launched.argv[: -len(PROGRAM.argv)]
    given = {words[i + 1]: words[i + 2] for i, word in enumerate(words) if word == "-genv"}
    named = {words[i + 1] for i, word in enumerate(words) if word == "-x"}
    return given | {name: launched.env[name] for name in named}


@pytest.mark.parametrize("name", MPIS)
def test_the_program_comes_last_with_its_arguments_untouched(name: str) -> None:
    launched = registry.launcher(name).launch(PROGRAM, TWO_NODES)
    assert launched.argv[-4:] == PROGRAM.argv


@pytest.mark.parametrize("name", MPIS)
def test_the_number_of_ranks_is_given(name: str) -> None:
    launched = registry.launcher(name).launch(PROGRAM, placed(layout=Layout(2, 3, 2)))
    assert launched.argv[-6:-4] == ("-n", "3")


@pytest.mark.parametrize("name", LAUNCHERS)
def test_a_launcher_knows_its_name(name: str) -> None:
    assert registry.launcher(name).name == name


@pytest.mark.parametrize("name", MPIS)
def test_a_launcher_is_pure(name: str) -> None:
    launcher = registry.launcher(name)
    assert launcher.launch(PROGRAM, TWO_NODES) == launcher.launch(PROGRAM, TWO_NODES)


@pytest.mark.parametrize("value", ODD_VALUES)
@pytest.mark.parametrize("name", MPIS)
def test_any_value_reaches_all_ranks(name: str, value: str) -> None:
    program = msgspec.structs.replace(PROGRAM, env={"ODD": value})
    assert rank_env(registry.launcher(name).launch(program, TWO_NODES))["ODD"] == value


def test_ranks_that_slurm_starts_have_cores_of_their_own_where_the_site_says_one_thread_of_each() -> None:
    """Slurm gives `--ntasks=4 --cpus-per-task=1` four hardware threads: two cores (srun(1), --exact)."""
    one = SITUATIONS["allocated"]
    platform = Platform(backend="slurm", options=SlurmOptions(threads_per_core=1))
    placement = msgspec.structs.replace(one, platform=platform)
    launched = registry.launcher("srun").launch(PROGRAM, placement).argv
    assert "--threads-per-core=1" in launched
    assert not [word for word in registry.launcher("srun").launch(PROGRAM, one).argv if "threads-per" in word]


@pytest.mark.parametrize("name", LAUNCHERS)
def test_what_no_environment_can_hold_is_refused(name: str) -> None:
    placement = (
        SITUATIONS["allocated"] if name == "srun" else placed(hosts=("n1",), layout=Layout(), network=None)
    )
    for env in ({"A=B": "1"}, {"": "1"}, {"A": "nul\0"}):
        with pytest.raises(UsageError, match="no environment can hold"):
            registry.launcher(name).launch(msgspec.structs.replace(PROGRAM, env=env), placement)


@pytest.mark.parametrize("name", MPIS)
def test_the_program_has_the_last_word_then_the_platform_then_the_networks_options(name: str) -> None:
    network = Network(interface="fab0", options={name: {"A": "network", "B": "network", "UCX_TLS": "all"}})
    platform = Platform(env={"A": "platform", "B": "platform", "C": "platform"})
    program = msgspec.structs.replace(PROGRAM, env={"A": "program", "OMP_NUM_THREADS": "7"})
    env = rank_env(registry.launcher(name).launch(program, placed(network=network, platform=platform)))
    assert [env[variable] for variable in ("A", "B", "C")] == ["program", "platform", "platform"]
    assert env["UCX_TLS"] == "all"
    assert env["OMP_NUM_THREADS"] == "7"


@pytest.mark.parametrize("name", MPIS)
def test_options_for_another_launcher_are_left_alone(name: str) -> None:
    network = Network(interface="fab0", options={"another": {"A": "1"}})
    assert "A" not in rank_env(registry.launcher(name).launch(PROGRAM, placed(network=network)))


@pytest.mark.parametrize("name", MPIS)
def test_the_interface_is_named_to_the_mpi(name: str) -> None:
    launched = registry.launcher(name).launch(PROGRAM, placed(network=Network(interface="net1")))
    assert "net1" in {*launched.argv, *rank_env(launched).values()}
    assert "fab0" not in {*launched.argv, *rank_env(launched).values()}


@pytest.mark.parametrize("name", MPIS)
def test_without_a_network_the_choice_is_the_mpis(name: str) -> None:
    launched = registry.launcher(name).launch(PROGRAM, placed(network=None))
    chosen = {"FI_PROVIDER", "UCX_TLS", "UCX_NET_DEVICES", "I_MPI_FABRICS", "pml", "btl"}
    assert not chosen & {*launched.argv, *rank_env(launched)}


@pytest.mark.parametrize("name", MPIS)
def test_the_mpis_libraries_are_found_after_the_programs_own(name: str) -> None:
    placement = placed(platform=Platform(prefix="/opt/mpi/", env={"LD_LIBRARY_PATH": "/app/lib"}))
    launched = registry.launcher(name).launch(PROGRAM, placement)
    assert rank_env(launched)["LD_LIBRARY_PATH"] == "/app/lib:/opt/mpi/lib"
    assert launched.argv[0].startswith("/opt/mpi/bin/mpi")


@pytest.mark.parametrize("name", MPIS)
def test_too_few_hosts_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="needs 2 nodes, and there are 1"):
        registry.launcher(name).launch(PROGRAM, placed(hosts=("n1",)))


@pytest.mark.parametrize("host", ["a,b", "n1:2", "fe80::1", "-x", "two words", ""])
@pytest.mark.parametrize("name", MPIS)
def test_a_host_that_no_list_can_hold_is_refused(name: str, host: str) -> None:
    with pytest.raises(UsageError, match="cannot stand in a list of hosts"):
        registry.launcher(name).launch(PROGRAM, placed(hosts=("n1", host)))


@pytest.mark.parametrize("name", MPIS)
def test_an_agent_may_have_options(name: str) -> None:
    launched = registry.launcher(name).launch(PROGRAM, placed(agent=("ssh", "-p", "2222")))
    words = {*launched.argv, *launched.env.values()}
    assert "ssh -p 2222" in words or {"ssh", "-p 2222"} <= words


@pytest.mark.parametrize("agent", [("/opt/my agent",), ("ssh", "-o", "A='b'"), ("ssh", "")])
@pytest.mark.parametrize("name", MPIS)
def test_an_agent_that_would_be_split_wrongly_is_refused(name: str, agent: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=r"agent.*small script"):
        registry.launcher(name).launch(PROGRAM, placed(agent=agent))


@pytest.mark.parametrize("name", ["intelmpi", "mpich"])
def test_hydra_refuses_an_agent_whose_options_it_would_tear_apart(name: str) -> None:
    with pytest.raises(UsageError, match="does not fit"):
        registry.launcher(name).launch(PROGRAM, placed(agent=("sudo", "ssh")))


OPEN_MPIS = ("openmpi1.6", "openmpi1.8", "openmpi4", "openmpi5")


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize(
    ("name", "later"),
    [
        ("openmpi1.6", ("ucx", "ofi", "vader", "--map-by", "--bind-to", "ppr", ":2", "--allow-run-as-root")),
        ("openmpi1.8", ("ucx", "ofi", ":2", "btl_openib_allow_ib")),
    ],
)
def test_old_open_mpi_gets_no_option_that_came_later(
    name: str, later: tuple[str, ...], situation: str
) -> None:
    if situation == "psm3":
        with pytest.raises(UsageError, match="has neither UCX nor libfabric"):
            registry.launcher(name).launch(PROGRAM, SITUATIONS[situation])
        return
    words = registry.launcher(name).launch(PROGRAM, SITUATIONS[situation]).argv[: -len(PROGRAM.argv)]
    assert not [word for word in words for one in later if word.endswith(one) or word.startswith(one)]


@pytest.mark.parametrize("name", ["openmpi1.6", "openmpi1.8", "openmpi4"])
def test_open_mpi_uses_the_devices_of_btl_openib_that_the_site_names(name: str) -> None:
    words = registry.launcher(name).launch(PROGRAM, SITUATIONS["openib"]).argv
    assert words[words.index("btl") + 1].startswith("openib,self,")
    assert words[words.index("btl_openib_if_include") + 1] == "mlx5_0:1"


def test_open_mpi_5_has_no_btl_openib() -> None:
    with pytest.raises(UsageError, match="has no btl openib; give the network 'provider: verbs'"):
        registry.launcher("openmpi5").launch(PROGRAM, SITUATIONS["openib"])


@pytest.mark.parametrize("name", OPEN_MPIS)
def test_open_mpi_refuses_an_agent_that_it_would_take_for_two(name: str) -> None:
    with pytest.raises(UsageError, match="':'"):
        registry.launcher(name).launch(PROGRAM, placed(agent=("/opt/a:b/agent",)))


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("openmpi1.6", "mpi_yield_when_idle"),
        ("openmpi1.8", "mpi_yield_when_idle"),
        ("openmpi4", "mpi_yield_when_idle"),
        ("openmpi5", "mpi_yield_when_idle"),
        ("intelmpi", "I_MPI_WAIT_MODE"),
    ],
)
def test_ranks_spin_while_they_wait_only_where_each_has_a_slot(name: str, word: str) -> None:
    roomy = registry.launcher(name).launch(PROGRAM, placed(slots_per_node=2))
    crowded = registry.launcher(name).launch(PROGRAM, placed(slots_per_node=1))
    assert word not in roomy.argv
    assert word in crowded.argv


def test_none_starts_one_rank_with_its_environment() -> None:
    placement = placed(hosts=("n1",), layout=Layout(), platform=Platform(env={"A": "1"}), network=None)
    launched = registry.launcher("none").launch(PROGRAM, placement)
    assert launched.argv == PROGRAM.argv
    assert launched.env == {"A": "1", "OMP_NUM_THREADS": "1", **PROGRAM.env}


def test_none_refuses_more_ranks_and_names_the_cure() -> None:
    with pytest.raises(UsageError, match="starts one rank, and the case has 4; set ranks: 1"):
        registry.launcher("none").launch(PROGRAM, TWO_NODES)

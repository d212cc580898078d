from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from tare.core.case import Case, Layout
from tare.core.launch import Invocation, Placement
from tare.core.site import Network, Platform, Site
from tare.core.transport_reports import asking as asking_variables
from tare.execution.compose import Composer
from tare.plugins import registry
from tare.plugins.launchers.placing import device_environment
from tare.plugins.launchers.transport_verbosity import ask_intelmpi, ask_mpich, ask_openmpi

SITE = Site(
    name="four",
    nodes=("n1", "n2", "n3", "n4"),
    platforms={"bare": Platform(launcher="openmpi5")},
    networks={"host": Network(interface="fab0"), "overlay": Network(interface="eth0", host="{node}-pod")},
    agent=("/opt/tare/agent",),
)


def case_of(workload: str, network: str) -> Case:
    return Case(
        id="0" * 16,
        workload=workload,
        platform="bare",
        network=network,
        layout=Layout(nodes=4, ranks=4),
        parameters={"max_bytes": 1024, "min_bytes": 0, "iterations": 10, "time_s": 1.0},
    )


def composer() -> Composer:
    return Composer(SITE, registry.workloads(), registry.launcher, registry.runtime)


def test_a_collective_takes_all_nodes_or_their_pods() -> None:
    assert composer().hosts(case_of("imb.alltoall", "host")) == ("n1", "n2", "n3", "n4")
    assert composer().hosts(case_of("imb.alltoall", "overlay")) == ("n1-pod", "n2-pod", "n3-pod", "n4-pod")


def test_a_ping_pong_takes_two_nodes_however_many_there_are() -> None:
    case = case_of("imb.pingpong", "host")
    assert composer().hosts(case) == ("n1", "n2")
    ((_, invocation),) = composer().compose(case)
    assert "n1:1,n2:1" in invocation.argv


def test_of_many_ranks_some_are_asked_by_what_only_we_set() -> None:
    platform = msgspec.structs.replace(SITE.platforms["bare"], env={"UCX_LOG_LEVEL": "debug"})
    site = msgspec.structs.replace(SITE, platforms={"bare": platform})
    case = msgspec.structs.replace(case_of("imb.alltoall", "host"), layout=Layout(4, 256, 64))
    ((_, invocation),) = msgspec.structs.replace(composer(), site=site).compose(case)
    asked = invocation.argv[invocation.argv.index("/bin/sh") + 3]
    assert asked == "4 FI_LOG_LEVEL OMPI_MCA_btl_base_verbose UCX_LOG_FILE"
    ((_, invocation),) = composer().compose(case_of("imb.alltoall", "host"))
    assert invocation.argv[invocation.argv.index("/bin/sh") + 3] == "all"


@pytest.mark.parametrize("provider", ["tcp", "verbs", "psm3"])
@pytest.mark.parametrize("ask", [ask_mpich, ask_intelmpi, ask_openmpi])
def test_every_variable_that_asks_is_one_that_ranks_can_take_back(
    ask: Callable[[Placement], dict[str, str]], provider: str
) -> None:
    network = Network(interface="fab0", provider=provider)
    placement = Placement(
        hosts=(), layout=Layout(), platform=SITE.platforms["bare"], network=network, reports_folder="/reports"
    )
    asking = ask(placement).keys() - {"FI_LOG_PROV", "FI_LOG_SUBSYS"}  # which say of whom alone
    assert asking
    assert asking <= set(asking_variables())


@pytest.mark.parametrize(
    ("provider", "devices", "expected"),
    [
        ("verbs", ("mlx5_0",), {"UCX_NET_DEVICES": "mlx5_0:1", "FI_VERBS_DEVICE_NAME": "mlx5_0"}),
        ("verbs", ("mlx5_0:1", "mlx5_1:1"), {"UCX_NET_DEVICES": "mlx5_0:1,mlx5_1:1"}),
        ("cxi", ("cxi0", "cxi1"), {"FI_CXI_DEVICE_NAME": "cxi0,cxi1"}),
        ("efa", ("rdmap0s31",), {"FI_EFA_IFACE": "rdmap0s31"}),
        ("psm2", ("hfi1_0",), {}),
        ("verbs", (), {}),
    ],
)
def test_the_devices_that_a_site_names_are_given_to_the_libraries(
    provider: str, devices: tuple[str, ...], expected: dict[str, str]
) -> None:
    network = Network(interface="ib0", provider=provider, devices=devices)
    assert device_environment(network) == expected
    for name in ("mpich", "openmpi4", "openmpi5", "intelmpi"):
        assert set(expected.values()) <= environment_values(network, name), name


def environment_values(network: Network, launcher: str) -> set[str]:
    """Return the words of the command that starts a program over `network`, and its values of variables."""
    layout = Layout(nodes=2, ranks=2)
    placement = Placement(
        hosts=("n1", "n2"), layout=layout, platform=Platform(), network=network, agent=("ssh",)
    )
    started = registry.launcher(launcher).launch(Invocation(argv=("app",)), placement)
    return {*started.argv, *started.env.values()}


def test_what_a_site_sets_itself_goes_before_the_devices() -> None:
    options = {"mpich": {"UCX_NET_DEVICES": "mlx5_7:1"}}
    network = Network(interface="ib0", provider="verbs", devices=("mlx5_0",), options=options)
    reported = environment_values(network, "mpich")
    assert "mlx5_7:1" in reported
    assert "mlx5_0:1" not in reported

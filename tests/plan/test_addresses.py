"""Where a client finds its server."""

from __future__ import annotations

import pytest

from support.doubles import DoubleWorkload
from tare.core.case import Case
from tare.core.site import LabNetwork, LabNetworkKind, LabSpec, Network, Platform, Site
from tare.execution.compose import Composer
from tare.plugins.backends.slurm.options import SlurmOptions
from tare.plugins.launchers.direct import Direct
from tare.plugins.runtimes.native import Native

SITE = Site(
    name="here",
    nodes=("n1", "n2"),
    platforms={"bare": Platform(), "queue": Platform(backend="slurm", options=SlurmOptions())},
    networks={
        "host": Network(interface="fab0"),
        "ib": Network(interface="ib0", address="{node}-ib0"),
        "pod": Network(interface="eth0", host="{node}-pod", address="{host}.cluster.local"),
    },
)


@pytest.mark.parametrize(
    ("network", "address"),
    [(None, "n1"), ("host", "n1"), ("ib", "n1-ib0"), ("pod", "n1-pod.cluster.local")],
)
def test_a_command_names_the_first_host_as_its_network_does(network: str | None, address: str) -> None:
    workload = DoubleWorkload(argv=("client", "--to={address0}"))
    composer = Composer(SITE, {"double": workload}, lambda _: Direct(), lambda _: Native())
    case = Case(id="0", workload="double", platform="bare", network=network)
    ((_, command),) = composer.compose(case)
    assert command.argv == ("client", f"--to={address}")


@pytest.mark.parametrize(("network", "address"), [(None, "{node0}"), ("ib", "{node0}-ib0")])
def test_in_a_queue_the_first_node_is_filled_in_by_the_job(network: str | None, address: str) -> None:
    workload = DoubleWorkload(argv=("client", "--to={address0}"))
    composer = Composer(SITE, {"double": workload}, lambda _: Direct(), lambda _: Native())
    case = Case(id="0", workload="double", platform="queue", network=network)
    ((_, command),) = composer.compose(case)
    assert command.argv == ("client", f"--to={address}")


def test_the_lab_names_hosts_after_their_networks() -> None:
    spec = LabSpec(
        nodes=2,
        networks={
            "host": LabNetwork(kind=LabNetworkKind.BRIDGE),
            "overlay": LabNetwork(kind=LabNetworkKind.VXLAN, over="host"),
        },
    )
    assert {name: one.address_of("n2") for name, one in spec.site_networks().items()} == {
        "host": "n2.host",
        "overlay": "n2.overlay",
    }

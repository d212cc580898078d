from __future__ import annotations

from tare import plugins
from tare.compose import Composer
from tare.model.case import Case, Layout
from tare.model.site import Network, Platform, Site

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
    return Composer(SITE, plugins.workloads(), plugins.launcher, plugins.runtime)


def test_a_collective_takes_all_nodes_or_their_pods() -> None:
    assert composer().hosts(case_of("imb.alltoall", "host")) == ("n1", "n2", "n3", "n4")
    assert composer().hosts(case_of("imb.alltoall", "overlay")) == ("n1-pod", "n2-pod", "n3-pod", "n4-pod")


def test_a_ping_pong_takes_two_nodes_however_many_there_are() -> None:
    case = case_of("imb.pingpong", "host")
    assert composer().hosts(case) == ("n1", "n2")
    ((_, invocation),) = composer().compose(case)
    assert "n1:1,n2:1" in invocation.argv

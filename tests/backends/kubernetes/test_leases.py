"""Two campaigns on one node see each other, by its Lease."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from backends.kubernetes.simulated_api import Doc, SimulatedApiServer
from backends.kubernetes.situations import Situation
from tare.plugins.backends.kubernetes.api.cluster import Cluster
from tare.plugins.backends.kubernetes.scheduling.leases import NodeLeases
from tare.plugins.backends.kubernetes.scheduling.leftovers import leftovers, remove


class Time:
    """Stands for both clocks of a campaign."""

    def __init__(self) -> None:
        self.s = 1000.0

    def clock(self) -> float:
        return self.s

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.s)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def make(situation: Situation, time: Time) -> Iterator[Callable[[str], NodeLeases]]:
    cluster = Cluster.connect(situation.options)
    yield lambda campaign: NodeLeases(cluster, campaign, time.clock, time.now)
    cluster.close()


def holder(leases: NodeLeases, node: str = "w1", began: float = 0.0) -> str:
    return leases.with_holders({node: {}}, began)[node]["kubernetes.lease"]


def test_the_second_campaign_on_a_node_is_reported_of_the_first(make: Callable[[str], NodeLeases]) -> None:
    first, second = make("one"), make("two")
    first.keep({"w1", "w2"})
    second.keep({"w2", "w3"})
    assert [holder(first, node) for node in ("w1", "w2")] == ["held by this campaign"] * 2
    assert [holder(second, node) for node in ("w2", "w3")] == [
        "held by campaign one",
        "held by this campaign",
    ]


def test_a_meeting_before_a_run_began_is_none_of_it(make: Callable[[str], NodeLeases], time: Time) -> None:
    first, second = make("one"), make("two")
    first.keep({"w1"})
    second.keep({"w1"})
    first.end()
    time.s += 11
    second.keep({"w1"})
    assert holder(second, began=time.s - 1) == "held by this campaign"
    assert holder(second, began=time.s - 30) == "held by campaign one"


def test_a_lease_is_renewed_and_let_go_of_when_it_is_idle(
    make: Callable[[str], NodeLeases], api: SimulatedApiServer, time: Time
) -> None:
    first, second = make("one"), make("two")
    for _ in range(200):  # much longer than it lasts
        first.keep({"w1"})
        time.s += 5
    second.keep({"w1"})
    assert holder(second) == "held by campaign one"
    assert sum("leases" in one for one in api.requests) < 30, "it is renewed, and not at each look"
    time.s += 6
    first.keep({"w9"})
    time.s += 6
    second.keep({"w1"})
    assert holder(second, began=time.s) == "held by this campaign"


@pytest.mark.parametrize(("later_s", "says"), [(300, "held by campaign one"), (400, "held by this campaign")])
def test_a_lease_that_ran_out_is_taken_over(
    make: Callable[[str], NodeLeases], time: Time, later_s: float, says: str
) -> None:
    make("one").keep({"w1"})
    time.s += later_s
    second = make("two")
    second.keep({"w1"})
    assert holder(second) == says


def test_a_campaign_goes_on_with_its_own_lease(make: Callable[[str], NodeLeases]) -> None:
    make("one").keep({"w1"})
    again = make("one")
    again.keep({"w1"})
    assert holder(again) == "held by this campaign"


@pytest.mark.parametrize("status", [403, 404])
def test_without_the_right_it_is_reported_that_it_was_not_done(
    make: Callable[[str], NodeLeases], api: SimulatedApiServer, time: Time, status: int
) -> None:
    api.refusals["leases"] = (status, "leases is forbidden")
    leases = make("one")
    for _ in range(3):
        leases.keep({"w1"})
        time.s += 100
    assert holder(leases).startswith("not held: ")
    assert sum("leases" in one for one in api.requests) == 1


def test_an_outage_ends_nothing(
    make: Callable[[str], NodeLeases], api: SimulatedApiServer, time: Time
) -> None:
    leases = make("one")
    api.refusals["leases"] = (503, "etcd is away")
    leases.keep({"w1"})
    assert holder(leases) == "not known"
    api.refusals.clear()
    time.s += 11
    leases.keep({"w1"})
    assert holder(leases) == "held by this campaign"


@pytest.mark.parametrize("spec", [{}, {"holderIdentity": "x"}, {"holderIdentity": "x", "renewTime": "soon"}])
def test_a_lease_without_a_time_is_nobody_s(
    make: Callable[[str], NodeLeases], api: SimulatedApiServer, spec: dict[str, str]
) -> None:
    api.apply("leases", {"metadata": {"name": "tare-node-w1", "labels": {}}, "spec": spec})
    leases = make("one")
    leases.keep({"w1"})
    assert holder(leases) == "held by this campaign"


def test_what_is_deleted_of_a_dead_campaign_are_its_leases_too(
    make: Callable[[str], NodeLeases], api: SimulatedApiServer, situation: Situation
) -> None:
    make("dead").keep({"w1", "w2"})
    make("alive").keep({"w3"})
    cluster = Cluster.connect(situation.options)
    remove(cluster, "dead")
    cluster.close()
    assert api.names("leases") == ["tare-node-w3"]


def test_where_leases_may_not_be_deleted_all_else_of_a_dead_campaign_is(
    api: SimulatedApiServer, situation: Situation
) -> None:
    api.refusals["leases"] = (403, "leases is forbidden: User cannot deletecollection")
    labels = {"app.kubernetes.io/managed-by": "tare", "tare/campaign": "dead", "tare/task": "tare-dead-a-1-1"}
    api.apply("jobs", {"metadata": {"name": "tare-dead-a-1-1", "labels": labels}})
    cluster = Cluster.connect(situation.options)
    remove(cluster, "dead")
    cluster.close()
    assert api.names("jobs") == []


@pytest.fixture
def held(make: Callable[[str], NodeLeases], api: SimulatedApiServer) -> tuple[NodeLeases, Doc]:
    """Let a campaign hold the Lease of a node; return its Leases, and what is in the cluster."""
    leases = make("one")
    leases.keep({"w1"})
    return leases, copy.deepcopy(api.objects["leases", "tare-node-w1"])


def taken_by(document: Doc, holder: str) -> Doc:
    """Return a Lease as another program takes it, which changes the holder and no label."""
    return {**document, "spec": {**document["spec"], "holderIdentity": holder}}


def test_a_lease_that_another_writer_took_over_stays(
    held: tuple[NodeLeases, Doc], api: SimulatedApiServer, situation: Situation
) -> None:
    leases, document = held
    api.apply("leases", taken_by(document, "cluster-api"))
    leases.end()
    cluster = Cluster.connect(situation.options)
    remove(cluster, "one")
    cluster.close()
    assert api.objects["leases", "tare-node-w1"]["spec"]["holderIdentity"] == "cluster-api"


def test_a_copy_of_a_lease_stays(
    held: tuple[NodeLeases, Doc], api: SimulatedApiServer, situation: Situation
) -> None:
    leases, document = held
    meta = {**document["metadata"], "name": "tare-node-w1-mine", "uid": "of-another"}
    api.apply("leases", {**document, "metadata": meta})
    leases.end()
    cluster = Cluster.connect(situation.options)
    remove(cluster, "one")
    cluster.close()
    assert api.names("leases") == ["tare-node-w1-mine"]


def test_a_lease_that_is_taken_over_while_it_is_deleted_stays(
    held: tuple[NodeLeases, Doc], api: SimulatedApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    leases, document = held
    delete = Cluster.delete

    def take_over_first(*given: Any, **named: Any) -> None:
        api.apply("leases", taken_by(document, "two"))
        delete(*given, **named)

    monkeypatch.setattr(Cluster, "delete", take_over_first)
    leases.end()
    assert api.names("leases") == ["tare-node-w1"]


def test_an_idle_lease_that_another_took_over_is_not_let_go_of(
    held: tuple[NodeLeases, Doc], api: SimulatedApiServer, time: Time
) -> None:
    leases, document = held
    api.apply("leases", taken_by(document, "two"))
    time.s += 50
    leases.keep({"w2"})
    assert api.objects["leases", "tare-node-w1"]["spec"]["holderIdentity"] == "two"


def labelled(name: str, campaign: str, node: str = "", **annotations: str) -> Doc:
    """Return a Lease that has expired, as versions of Tare create it: the first wrote no annotation."""
    labels = {"app.kubernetes.io/managed-by": "tare", "tare/campaign": campaign}
    meta: Doc = {
        "name": name,
        "labels": labels,
        "annotations": annotations | ({"tare/node": node} if node else {}),
    }
    spec = {"holderIdentity": campaign, "leaseDurationSeconds": 300, "renewTime": "2025-01-01T00:00:00Z"}
    return {"metadata": meta, "spec": spec}


def test_a_lease_of_a_dead_campaign_that_has_nothing_else_is_left_over(
    api: SimulatedApiServer, situation: Situation
) -> None:
    about = {"tare/session": "label", "tare/folder": "/c"}
    api.apply("leases", labelled("tare-node-w1", "dead", "w1", **about))
    api.apply("leases", labelled("tare-node-w2", "dead", "w2", **about))
    cluster = Cluster.connect(situation.options)
    [left] = leftovers(cluster)
    assert left.what == "Lease/tare-node-w1, Lease/tare-node-w2 of /c"
    assert left.owners == (("label", "/c"),)
    assert not left.kept
    assert left.end()
    cluster.close()
    assert api.names("leases") == []


def test_an_expired_lease_that_names_no_session_is_told_of_and_stays(
    api: SimulatedApiServer, situation: Situation, time: Time
) -> None:
    api.apply("leases", labelled("tare-node-w1", "old"))
    held = labelled("tare-node-w2", "old")
    api.apply("leases", {**held, "spec": {**held["spec"], "renewTime": time.now().isoformat()}})
    cluster = Cluster.connect(situation.options)
    [left] = leftovers(cluster, time.now)
    assert left.what == "Lease/tare-node-w1"
    assert "kubectl delete lease tare-node-w1 -n bench" in left.kept
    assert not left.end()
    cluster.close()
    assert api.names("leases") == ["tare-node-w1", "tare-node-w2"]


def test_an_old_lease_that_is_taken_over_is_deleted_in_the_end(
    make: Callable[[str], NodeLeases], api: SimulatedApiServer
) -> None:
    api.apply("leases", labelled("tare-node-w1", "old"))
    leases = make("one")
    leases.keep({"w1"})
    leases.end()
    assert api.names("leases") == []


def test_a_lease_of_others_that_is_taken_over_stays(
    make: Callable[[str], NodeLeases], api: SimulatedApiServer, time: Time
) -> None:
    document = labelled("tare-node-w1", "old")
    api.apply("leases", {**document, "metadata": {"name": "tare-node-w1", "labels": {}}})
    leases = make("one")
    for _ in range(3):
        leases.keep({"w1"})
        time.s += 101  # it is renewed
    assert holder(leases) == "held by this campaign"
    leases.end()
    assert api.names("leases") == ["tare-node-w1"]


def test_without_the_right_to_list_leases_other_leftovers_are_found(
    api: SimulatedApiServer, situation: Situation
) -> None:
    api.refusals["leases"] = (403, "leases is forbidden: User cannot list")
    cluster = Cluster.connect(situation.options)
    assert list(leftovers(cluster)) == []
    cluster.close()

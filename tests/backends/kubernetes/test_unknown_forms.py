"""Objects in a form that the API of Kubernetes does not have, as other servers may send: no traceback."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from backends.kubernetes.conftest import Happenings, begin, seen, wait_for, wait_until
from backends.kubernetes.simulated_api import Doc, SimulatedApiServer
from tare.core.errors import BackendError
from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler

Make = Callable[..., Task]


def test_events_in_an_unknown_form_are_left_out(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    one = task()
    begin(scheduler, happen, one)
    job = api.names("mpijobs")[0]
    forms: list[Doc] = [
        {"involvedObject": None},
        {"involvedObject": {"name": 7}},
        {"message": ["x"]},
        {"type": {}},
    ]
    for number, form in enumerate(forms):
        api.apply("events", {"metadata": {"name": f"{job}.{number}"}, **form})
    about = {"kind": "MPIJob", "name": job}
    api.apply("events", {"metadata": {"name": "last"}, "reason": "Running", "involvedObject": about})
    wait_until(scheduler, lambda: [event.reason for event in seen(scheduler, one).events] == ["Running"])
    happen.succeed()
    (result,) = wait_for(scheduler)
    assert result.exit.code == 0


@pytest.mark.parametrize("plural", ["pods", "nodes", "mpijobs"])
def test_other_objects_in_an_unknown_form_end_the_session_with_the_field(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, plural: str
) -> None:
    begin(scheduler, happen, task())
    name = (api.names(plural) or ["w1"])[0]
    known = api.objects.get((plural, name), {"metadata": {"name": name}})
    api.apply(plural, {**known, "metadata": {**known["metadata"], "annotations": None}})
    with pytest.raises(BackendError, match=r"form that Tare does not know: .* `\$\.metadata\.annotations`"):
        wait_for(scheduler)

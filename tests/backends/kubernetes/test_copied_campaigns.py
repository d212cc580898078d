"""Objects of a campaign whose folder was copied: they have this campaign's label, and are not its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from backends.kubernetes.conftest import Happenings, wait_for
from backends.kubernetes.simulated_api import SimulatedApiServer
from backends.kubernetes.situations import Situation
from tare.core.errors import BackendError
from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.api.cluster import Cluster
from tare.plugins.backends.kubernetes.objects.ownership import CreatedBy
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler
from tare.plugins.backends.ownership.sessions import new_session
from tare.storage.campaign import file_numbers

Make = Callable[..., Task]
HERE = new_session("ca")
DEAD = HERE._replace(pid=2**22, start=7)
ELSEWHERE = HERE._replace(host="other", machine="0" * 16, pid=77)
ANOTHER_USER = HERE._replace(uid=HERE.uid + 1, pid=77)
REBOOTED = HERE._replace(boot="0" * 32, pid=77)


def labelled(task: Task, session: object, files: str) -> Task:
    """Return a task that a session of the campaign folder with these files submits."""
    labels = {**task.labels, "session": str(session), "files": files}
    return msgspec.structs.replace(task, labels=labels)


@pytest.fixture
def scheduler_of(situation: Situation) -> object:
    made: list[KubernetesScheduler] = []

    def make(session: object, files: str) -> KubernetesScheduler:
        cluster = Cluster.connect(situation.options)
        own = CreatedBy("ca", str(session), files)
        made.append(KubernetesScheduler(cluster, "ca", lambda platform: "", own=own))
        return made[-1]

    yield make
    for one in made:
        one.abandon_watches()


Of = Callable[[object, str], KubernetesScheduler]


@pytest.mark.parametrize(
    ("session", "files"),
    [(DEAD, "1-2"), (DEAD, "8-9"), (ELSEWHERE, "1-2"), (REBOOTED, "1-2"), (HERE, "1-2")],
    ids=[
        "a dead one",
        "dead, of a copy in its place",
        "one of another head node",
        "rebooted",
        "this one",
    ],
)
def test_jobs_of_an_earlier_session_are_gone_on_with(
    scheduler_of: Of, happen: Happenings, task: Make, session: object, files: str
) -> None:
    """Another head node shares the folder: its files have the same numbers everywhere."""
    one = task()
    scheduler_of(session, files).submit([labelled(one, session, files)])
    later = scheduler_of(HERE, "1-2")
    again = labelled(one, HERE, "1-2")
    assert later.adopt([again]) == [again.name]
    happen.succeed()
    assert wait_for(later)[0].exit.code == 0


@pytest.mark.parametrize(
    ("session", "files", "whose"),
    [
        (ELSEWHERE, "8-9", "of host other"),
        (ELSEWHERE, "", "of host other"),
        (ANOTHER_USER, "8-9", "it is user "),
        (REBOOTED, "8-9", "before this host's last boot"),
        ("", "", "names no session"),
        ("ca:1:2:nonsense", "", "is none of this version"),
    ],
)
def test_jobs_of_a_copied_folder_are_neither_gone_on_with_nor_deleted(
    scheduler_of: Of, api: SimulatedApiServer, task: Make, session: object, files: str, whose: str
) -> None:
    one = task()
    scheduler_of(session, files).submit([labelled(one, session, files)])
    here = scheduler_of(HERE, "1-2")
    with pytest.raises(BackendError) as caught:
        here.adopt([])
    here.close()
    assert whose in str(caught.value)
    assert "MPIJob tare-ca-ab12-1-1 in namespace bench" in str(caught.value)
    assert "rename this folder" in str(caught.value)
    assert "kubectl delete mpijobs,jobs,pods,configmaps -n bench -l tare/campaign=ca" in str(caught.value)
    assert api.names("mpijobs") == [one.name.replace(".", "-")]
    assert len(api.names("configmaps")) == 1


def test_a_job_that_a_copied_folder_created_meanwhile_is_not_taken_for_a_lost_answer(
    scheduler_of: Of, api: SimulatedApiServer, task: Make
) -> None:
    one = task()
    here = scheduler_of(HERE, "1-2")
    assert here.adopt([]) == []
    scheduler_of(ELSEWHERE, "8-9").submit([labelled(one, ELSEWHERE, "8-9")])
    here.submit([labelled(one, HERE, "1-2")])
    with pytest.raises(BackendError, match="of host other"):
        here.wait()
    here.close()
    assert len(api.names("mpijobs")) == len(api.names("configmaps")) == 1, "they are the other one's"


def test_a_folder_and_its_copy_are_told_apart_by_the_numbers_of_their_files(tmp_path: Path) -> None:
    for name in ("c", "copy"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "journal.jsonl").write_text("{}\n")
    first = file_numbers(tmp_path / "c")
    with (tmp_path / "c" / "journal.jsonl").open("a") as journal:
        journal.write("{}\n")
    assert first == file_numbers(tmp_path / "c") != file_numbers(tmp_path / "copy")
    (tmp_path / "link").symlink_to(tmp_path / "c")
    assert file_numbers(tmp_path / "link") == first
    assert file_numbers(tmp_path) == ""

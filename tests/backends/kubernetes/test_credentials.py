"""Tokens that expire while runs are under way, and pages that are no answers of an API server."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from backends.kubernetes.conftest import Clock, Happenings, begin, seen, wait_for, wait_until
from backends.kubernetes.simulated_api import SimulatedApiServer
from tare.core.errors import BackendError
from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.api.cluster import PODS, Cluster, NotAnApiServer, Outage
from tare.plugins.backends.kubernetes.options import KubernetesOptions
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler

Make = Callable[..., Task]
LOGIN = "<!doctype html><html><head>\n<title>Log in &middot; Example\x1b[31m SSO</title></head></html>"


@pytest.fixture
def reports(scheduler: KubernetesScheduler) -> list[str]:
    found: list[str] = []
    scheduler.report_waits(lambda names, reason: found.append(reason))
    return found


def test_a_token_that_was_renewed_in_the_kubeconfig_is_used_and_nobody_notices(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, tmp_path: Path,
    reports: list[str],
) -> None:  # fmt: skip
    begin(scheduler, happen, task())
    api.kubeconfig(tmp_path, "new")
    api.expire("new")
    happen.succeed()
    (result,) = wait_for(scheduler)
    assert result.exit.code == 0
    assert reports == []


def test_the_log_has_each_request_with_its_status_and_no_token(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    caplog.set_level("DEBUG", "tare.kubernetes")
    begin(scheduler, happen, task())
    api.kubeconfig(tmp_path, "new-token")
    api.expire("new-token")
    happen.succeed()
    wait_for(scheduler)
    requests = [vars(one) for one in caplog.records if one.message == "request"]
    sent = [one["fields"] for one in requests if one["levelname"] == "INFO"]
    assert any(one["method"] == "POST" and one["path"].endswith("/mpijobs") for one in sent)
    assert all(one["status"] in range(200, 500) and one["ms"] >= 0 for one in sent)
    assert {one["fields"]["method"] for one in requests if one["levelname"] == "DEBUG"} == {"GET"}
    assert "new-token" not in str(requests)


def test_a_token_that_has_expired_is_waited_for_and_nothing_is_lost(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, tmp_path: Path,
    reports: list[str], clock: Clock,
) -> None:  # fmt: skip
    begin(scheduler, happen, task())
    api.expire()
    happen.succeed()
    wait_until(scheduler, lambda: reports)
    assert reports[0].startswith("the token of context it has expired, or is not valid")
    assert "log in again, such as with 'oc login'; it is asked again for 10 minutes" in reports[0]
    clock.ahead += 500
    api.kubeconfig(tmp_path, "other")
    (result,) = wait_for(scheduler)
    assert result.exit.code == 0


def test_a_token_that_nobody_renews_ends_the_session_with_the_cure_and_leaves_its_jobs(
    scheduler: KubernetesScheduler, make_scheduler: Callable[[], KubernetesScheduler], happen: Happenings,
    api: SimulatedApiServer, task: Make, reports: list[str], clock: Clock, tmp_path: Path,
) -> None:  # fmt: skip
    one = task()
    begin(scheduler, happen, one)
    api.expire()
    wait_until(scheduler, lambda: reports)
    clock.ahead += 601
    clock.pace = 100  # a request that fails from here on has ten minutes of its own
    with pytest.raises(BackendError, match="log in again, such as with 'oc login'"):
        wait_for(scheduler)
    assert api.names("mpijobs") == ["tare-ca-ab12-1-1"]
    happen.succeed()
    api.kubeconfig(tmp_path, "other")
    after = make_scheduler()
    assert list(after.adopt([one])) == [one.name]
    (result,) = wait_for(after)
    assert result.exit.code == 0


def test_a_token_that_was_never_valid_is_reported_at_once(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    api.expire()
    before = clock.ahead
    with pytest.raises(BackendError, match="log in again"):
        scheduler.submit([task()])
    assert clock.ahead == before


@pytest.mark.parametrize("status", [200, 302, 401, 403, 511])
def test_a_page_in_the_place_of_an_answer_is_a_sentence(
    api: SimulatedApiServer, tmp_path: Path, status: int
) -> None:
    cluster = Cluster.connect(KubernetesOptions(image="", kubeconfig=str(api.kubeconfig(tmp_path))))
    api.page = status, LOGIN
    asked: list[Callable[[], object]] = [
        lambda: cluster.list_all(PODS),
        lambda: cluster.get(PODS, "a"),
        lambda: cluster.create({"kind": "Pod", "metadata": {"name": "a"}}),
        lambda: cluster.log("a", "launcher"),
        lambda: cluster.delete(PODS, "a", "uid"),
        lambda: list(cluster.watch(PODS, "", "1")),
        cluster.version,
    ]
    for ask in asked:
        with pytest.raises(NotAnApiServer) as caught:
            ask()
        said = str(caught.value)
        assert f"status {status}" in said or "log in again" in said
        assert "\x1b" not in said
        if status in {200, 403, 511}:
            assert "a page called 'Log in · Example␛[31m SSO'" in said
        if status == 302:
            assert "a redirection to sso.example.org" in said
    cluster.close()


def test_a_page_in_mid_run_is_waited_out(
    scheduler: KubernetesScheduler,
    happen: Happenings,
    api: SimulatedApiServer,
    task: Make,
    reports: list[str],
) -> None:
    one = task()
    begin(scheduler, happen, one)
    api.page = 200, LOGIN
    api.forget()
    wait_until(scheduler, lambda: reports)
    assert "is not the API server: status 200" in reports[0]
    assert seen(scheduler, one).pods
    api.page = None
    happen.succeed()
    (result,) = wait_for(scheduler)
    assert result.exit.code == 0


def test_what_goes_wrong_while_an_answer_is_read_is_no_fault_of_credentials(
    api: SimulatedApiServer, tmp_path: Path
) -> None:
    """Such as a disk without room for the log of a pod."""
    cluster = Cluster.connect(KubernetesOptions(image="", kubeconfig=str(api.kubeconfig(tmp_path))))
    api.logs["a"] = b"words\n"
    with (
        pytest.raises(OSError, match="no room"),
        cluster.log_stream("a", "launcher", "", follows=False, quiet_s=5),
    ):
        raise OSError("no room")
    cluster.close()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"items": 3}', '{"metadata": {}, "items": [{"metadata"'])
def test_what_is_no_list_is_no_traceback(api: SimulatedApiServer, tmp_path: Path, text: str) -> None:
    cluster = Cluster.connect(KubernetesOptions(image="", kubeconfig=str(api.kubeconfig(tmp_path))))
    api.page = 200, text
    with pytest.raises(Outage):
        cluster.list_all(PODS)
    cluster.close()


def test_a_plug_in_for_credentials_is_asked_again_and_one_that_fails_is_reported(
    api: SimulatedApiServer, tmp_path: Path
) -> None:
    path, token = api.kubeconfig(tmp_path), tmp_path / "token"
    config = json.loads(path.read_text())
    version = "client.authentication.k8s.io/v1beta1"
    code = f"import json; print(json.dumps({{'status': {{'token': open({str(token)!r}).read()}}}}))"
    plug_in = {"apiVersion": version, "command": sys.executable, "args": ["-c", code]}
    config["users"][0]["user"] = {"exec": plug_in}
    path.write_text(json.dumps(config))
    token.write_text("t")
    cluster = Cluster.connect(KubernetesOptions(image="", kubeconfig=str(path)))
    assert cluster.list_all(PODS)[0] == []
    api.expire("second")
    token.write_text("second")
    assert cluster.list_all(PODS)[0] == []
    api.expire("third")
    token.unlink()
    with pytest.raises(NotAnApiServer, match=r"context it cannot be had: .* ended with exit code 1"):
        cluster.list_all(PODS)
    cluster.close()


def test_a_kubeconfig_that_is_just_being_written_is_an_outage(
    api: SimulatedApiServer, tmp_path: Path
) -> None:
    path = api.kubeconfig(tmp_path)
    cluster = Cluster.connect(KubernetesOptions(image="", kubeconfig=str(path)))
    whole = path.read_text()
    api.expire()
    for text in (whole[: len(whole) // 2], "", "- a"):
        path.write_text(text)
        with pytest.raises(NotAnApiServer, match="cannot be"):
            cluster.list_all(PODS)
    api.kubeconfig(tmp_path, "other")
    assert cluster.list_all(PODS)[0] == []
    cluster.close()

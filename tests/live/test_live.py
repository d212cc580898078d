"""A real campaign runs while a real server is read."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from cli.conftest import TARE
from live.conftest import Serve, running
from support.synthetic import make_campaign, write_campaign
from support.waiting import until
from tare.storage.campaign import JOURNAL
from tare.storage.journal import AttemptBegan, Journal

STUDY = """\
study: live
question: Does it show?
reference: {size: 1}
workloads:
  echo:
    command: [sh, -c, "echo begun; while [ ! -e GATE ]; do sleep 0.05; done; echo value: {size}"]
    parameters: {size: 1}
    foms: [{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}]
factors:
  workload: [echo]
  size: [1, 2]
repeats: 3
"""


@pytest.fixture
def campaign(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path, Path]]:
    """Start a campaign whose runs wait for a file; yield its process, its folder and that file."""
    gate = tmp_path / "gate"
    (tmp_path / "study.yaml").write_text(STUDY.replace("GATE", str(gate)))
    (tmp_path / "campaigns").mkdir()
    process = subprocess.Popen(
        [TARE, "run", "study.yaml", "--out", "campaigns/live"], cwd=tmp_path, stdout=subprocess.DEVNULL
    )
    yield process, tmp_path / "campaigns", gate
    gate.touch()
    process.wait(60)


def changes(client: httpx.Client, path: str = "/events") -> Iterator[dict[str, int]]:
    """Yield what the stream of events tells."""
    with client.stream("GET", path, timeout=60) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        for line in stream.iter_lines():
            if line.startswith("data: "):
                yield json.loads(line.removeprefix("data: "))


def test_a_running_campaign_is_seen_to_move(
    serve: Serve, campaign: tuple[subprocess.Popen[bytes], Path, Path]
) -> None:
    process, folder, gate = campaign
    client = serve(folder)
    events = changes(client)
    until(lambda: "live" in next(events))
    url = "/api/c/live"
    until(lambda: client.get(url).json().get("under_way"))
    (now,) = client.get(url).json()["under_way"]
    log = f"/api/c/live/run/{now['case']}/{now['block']}.{now['attempt']}/log/stdout"
    until(lambda: client.get(log).status_code == 200 and client.get(log).json()["text"])
    first = client.get(log, params={"from": 0}).json()
    assert (first["text"], first["is_live"]) == ("begun\n", True)
    page = client.get("/c/live").text
    assert len(re.findall(r'<td class="r"', page)) == 1
    revision = int(re.findall(r'data-revision="(\d+)"', page)[0])
    gate.touch()
    until(lambda: next(events)["live"] > revision)
    assert process.wait(60) == 0
    until(lambda: client.get(url).json()["state"] == "finished")
    until(lambda: len(client.get(url).json()["headlines"]) == 1)
    (headline,) = client.get(url).json()["headlines"]
    assert headline["ratio"] == pytest.approx(2.0)
    rest = client.get(log, params={"from": first["end"]}).json()
    assert rest["text"].startswith("value: ")
    assert not rest["is_live"]
    events.close()  # type: ignore[attr-defined]  # a generator


def test_many_readers_share_one_watcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = make_campaign(blocks=2)
    folder = write_campaign(whole, tmp_path / "demo")
    with running(folder) as (server, url):
        polls: list[None] = []
        real = server.hub.poll

        def counting() -> bool:
            polls.append(None)
            return real()

        monkeypatch.setattr(server.hub, "poll", counting)
        seen: list[int] = []

        def read() -> None:
            with httpx.Client(base_url=url, timeout=60) as client:
                stream = changes(client, "/events?c=demo")
                first = next(stream)["demo"]
                opened.wait()
                seen.append(next(stream)["demo"] - first)

        opened = threading.Barrier(21)
        readers = [threading.Thread(target=read) for _ in range(20)]
        for reader in readers:
            reader.start()
        opened.wait(60)
        polls.clear()
        with Journal(folder / JOURNAL) as journal:
            journal.append(AttemptBegan(whole.plan.cases[0].id, 1, 2, 1.0))
            for reader in readers:
                reader.join(60)
        assert len(seen) == 20
        assert all(step > 0 for step in seen)
        assert len(polls) < 20


def test_a_stream_reports_only_of_the_campaigns_that_were_asked_for(serve: Serve, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_campaign(make_campaign(blocks=1), tmp_path / name)
    assert next(changes(serve(tmp_path), "/events?c=two")).keys() == {"two"}


def start(tmp_path: Path, *arguments: str) -> tuple[subprocess.Popen[str], str]:
    """Start `tare serve`; return its process and its address."""
    process = subprocess.Popen(
        [TARE, "serve", *arguments, "--json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    body = json.loads(process.stdout.readline())
    assert body["schema"] == "tare.serve/1"
    return process, body["url"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_ends_cleanly_though_somebody_still_reads(tmp_path: Path, number: signal.Signals) -> None:
    write_campaign(make_campaign(blocks=1), tmp_path / "demo")
    process, url = start(tmp_path, ".", "--port", "0", "--no-token")
    with httpx.Client(base_url=url, timeout=60) as client:
        until(lambda: answers(client))
        stream = changes(client)
        next(stream)
        process.send_signal(number)
        output, errors = process.communicate(timeout=30)
        assert (process.returncode, output, errors) == (0, "", "")
        assert list(stream) == []


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("/").status_code < 500
    except httpx.TransportError:
        return False


def test_a_token_from_a_file_is_asked_for(tmp_path: Path) -> None:
    write_campaign(make_campaign(blocks=1), tmp_path / "demo")
    process, url = start(tmp_path, "demo", "--port", "0", "--token-file", "token")
    try:
        token = (tmp_path / "token").read_text().strip()
        assert url.endswith(f"?token={token}")
        with httpx.Client(timeout=60, follow_redirects=True) as client:
            until(lambda: answers_at(client, url.partition("?")[0]) == 401)
            assert client.get(url).status_code == 200
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)


def answers_at(client: httpx.Client, url: str) -> int:
    try:
        return client.get(url).status_code
    except httpx.TransportError:
        return 0


def test_a_taken_port_and_a_folder_that_is_none_are_reported_with_the_cure(tmp_path: Path) -> None:
    process, url = start(tmp_path, ".", "--port", "0", "--no-token")
    try:
        port = url.rstrip("/").rpartition(":")[2]
        for arguments, cure in (
            (("serve", ".", "--port", port), "--port 0"),
            (("serve", "none"), "no such folder"),
        ):
            done = subprocess.run(
                [TARE, *arguments],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
                env={**os.environ, "NO_COLOR": "1"},
            )
            assert done.returncode == 2
            assert cure in done.stderr
            assert "Traceback" not in done.stderr
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)

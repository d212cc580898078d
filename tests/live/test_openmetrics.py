from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest

from live.conftest import Serve, running
from support.synthetic import make_campaign, make_case
from support.synthetic import write_campaign as write_synthetic
from support.waiting import until
from tare.core.attempt import Attempt, State
from tare.core.study import Repeats
from tare.live.openmetrics import CONTENT_TYPE, MetricFamily, families, label_name, render
from tare.live.server import listen
from tare.storage.campaign import JOURNAL, freeze, open_journal, read_campaign
from tare.storage.journal import AttemptBegan, AttemptEnded, Journal

DOCS = Path(__file__).parents[2] / "docs/grafana"
needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None, reason="no prometheus here; on Debian: apt install prometheus"
)


def write_campaign(folder: Path) -> tuple[Attempt, ...]:
    """Write a campaign of some blocks with one failed run at its end, and return its attempts."""
    campaign = make_campaign(blocks=2)
    told = {"cpu_system": 12.5, "network_packet_rate": 1000.0, "network_rate": 8e6}
    done = [msgspec.structs.replace(one, telemetry=told) for one in campaign.attempts[:-1]]
    failed = msgspec.structs.replace(campaign.attempts[-1], state=State.FAILED, series=[])
    attempts = (*done, failed)
    freeze(folder, campaign.plan, {})
    with open_journal(folder) as journal:
        for one in attempts:
            journal.append(AttemptBegan(one.case, one.block, one.attempt, 1.0))
            journal.append(AttemptEnded(one))
    return attempts


def test_the_page_of_metrics_has_progress_and_the_latest_figures(tmp_path: Path, serve: Serve) -> None:
    attempts = write_campaign(tmp_path / "net")
    answer = serve(tmp_path).get("/metrics")
    assert answer.headers["content-type"] == CONTENT_TYPE
    lines = answer.text.splitlines()
    assert lines[-1] == "# EOF"
    n_done = sum(one.state is State.DONE for one in attempts)
    assert f'tare_runs{{campaign="net",state="done"}} {float(n_done)}' in lines
    assert 'tare_attempts_total{campaign="net",state="failed"} 1.0' in lines
    assert 'tare_campaign_running{campaign="net"} 0.0' in lines
    assert any(line.startswith('tare_figure{campaign="net",case="') for line in lines)
    told = [
        line for line in lines if line.startswith("tare_telemetry{") and 'fom="cpu_system",unit="%"' in line
    ]
    assert [line.rpartition(" ")[2] for line in told] == ["12.5", "12.5"]


@pytest.mark.parametrize("most", [4, 9])
def test_a_time_left_that_precision_may_add_to_is_marked_as_the_least(
    tmp_path: Path, serve: Serve, most: int
) -> None:
    whole = make_campaign(blocks=4)
    repeats = Repeats(min=4, max=most, until=0.01)
    plan = msgspec.structs.replace(whole.plan, repeats=repeats)
    half = msgspec.structs.replace(whole, plan=plan, attempts=whole.attempts[:6])
    write_synthetic(half, tmp_path / "net")
    with Journal(tmp_path / "net" / JOURNAL):
        client = serve(tmp_path)
        (told,) = client.get("/api/campaigns").json()["campaigns"]
        assert (told["eta_s"], told["eta_is_least"]) == (2.0, most > 4)
        metrics = client.get("/metrics").text.splitlines()
        assert f'tare_campaign_left_is_least{{campaign="net"}} {float(most > 4)}' in metrics


def test_every_series_is_there_once(tmp_path: Path, serve: Serve) -> None:
    write_campaign(tmp_path / "a")
    write_campaign(tmp_path / "b")
    lines = serve(tmp_path).get("/metrics").text.splitlines()
    names = [line.rpartition(" ")[0] for line in lines if not line.startswith("#")]
    assert len(names) == len(set(names))


def test_a_setting_does_not_take_the_label_of_another(tmp_path: Path, serve: Serve) -> None:
    names = ("campaign", "case", "fom", "a-b", "a_b")
    cases = [make_case(network, parameters=dict.fromkeys(names, network)) for network in ("host", "overlay")]
    campaign = make_campaign(cases, blocks=1, reference={"network": "host"})
    write_synthetic(campaign, tmp_path / "net")
    (line, *_) = [
        one for one in serve(tmp_path).get("/metrics").text.splitlines() if one.startswith("tare_figure{")
    ]
    labels = re.findall(r'(\w+)="([^"]*)"', line)
    assert len(dict(labels)) == len(labels)
    found = dict(labels)
    assert found["campaign"] == "net"
    assert found["case"] in {case.id for case in cases}
    assert {found[name] for name in ("campaign_", "case_", "fom_", "a_b", "a_b_")} == {found["network"]}


def test_a_coordinate_does_not_take_the_label_of_a_setting(tmp_path: Path, serve: Serve) -> None:
    cases = [make_case(network, parameters={"at_bytes": network}) for network in ("host", "overlay")]
    write_synthetic(make_campaign(cases, blocks=1, reference={"network": "host"}), tmp_path / "net")
    lines = [
        one for one in serve(tmp_path).get("/metrics").text.splitlines() if one.startswith("tare_figure{")
    ]
    for labels in (dict(re.findall(r'(\w+)="([^"]*)"', line)) for line in lines):
        assert labels["at_bytes"] == labels["network"]
        assert labels["at_at_bytes"].isdigit()


def test_coordinates_whose_labels_would_be_equal_have_labels_of_their_own() -> None:
    family = MetricFamily("x", "gauge", "")
    family.add(1, {"case": "c", "at_a-b": 1, "at_a.b": 2, "at_a_b": 3})
    assert 'x{case="c",at_a_b="1",at_a_b_="2",at_a_b__="3"} 1.0' in render([family])


def test_labels_are_escaped_and_their_names_are_valid() -> None:
    family = MetricFamily("x", "gauge", "a\nb")
    family.add(1, {label_name("ranks-per node"): 'a "b"\n\\c'})
    assert render([family]) == (
        '# TYPE x gauge\n# HELP x a\\nb\nx{ranks_per_node="a \\"b\\"\\n\\\\c"} 1.0\n# EOF\n'
    )
    assert label_name("2nd") == "_2nd"
    assert label_name("__x") == "x"


def test_once_prints_the_same(tmp_path: Path) -> None:
    write_campaign(tmp_path / "net")
    tare = str(Path(sys.executable).with_name("tare"))
    done = subprocess.run(
        [tare, "metrics", str(tmp_path), "--once"], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("# EOF\n")
    assert 'tare_runs{campaign="net"' in done.stdout


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[str]:
    """Run a real Prometheus that scrapes a server of a campaign that runs; yield its address."""
    (tmp_path / "campaigns").mkdir()
    (*_, last) = write_campaign(tmp_path / "campaigns/net")
    with open_journal(tmp_path / "campaigns/net") as journal, running(tmp_path / "campaigns") as (_, url):
        journal.append(AttemptBegan(last.case, last.block, last.attempt + 1, time.time()))
        port = free_port()
        (tmp_path / "prometheus.yml").write_text(
            "global: {scrape_interval: 1s}\n"
            "scrape_configs:\n"
            f"  - {{job_name: tare, static_configs: [{{targets: ['{url.removeprefix('http://')}']}}]}}\n"
        )
        process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={tmp_path}/prometheus.yml",
                f"--storage.tsdb.path={tmp_path}/tsdb",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(20)


def free_port() -> int:
    opened = listen("127.0.0.1", 0)
    opened.socket.close()
    return opened.access.port


def query(url: str, text: str) -> list[dict[str, object]]:
    try:
        with urllib.request.urlopen(
            f"{url}/api/v1/query?{urllib.parse.urlencode({'query': text})}"
        ) as answer:
            found: list[dict[str, object]] = json.load(answer)["data"]["result"]
            return found
    except OSError:
        return []


@needs_prometheus
def test_prometheus_itself_scrapes_it(prometheus: str) -> None:
    until(lambda: query(prometheus, 'up{job="tare"} == 1'), within_s=30)
    (done,) = query(prometheus, 'tare_runs{campaign="net",state="done"}')
    value = done["value"]
    assert isinstance(value, list)
    assert float(value[1]) > 0
    assert query(prometheus, "sum by (network) (tare_figure)")


@needs_prometheus
def test_every_query_of_the_dashboard_is_answered_while_a_campaign_runs(prometheus: str) -> None:
    dashboard = json.loads((DOCS / "tare.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    expressions += [one["expr"] for one in dashboard["annotations"]["list"]]
    for text in expressions:
        filled = text.replace("$campaign", ".*").replace("$fom", ".*")
        until(partial(query, prometheus, filled), within_s=30)


@needs_prometheus
def test_the_dashboard_marks_an_epoch_by_the_network_of_its_run(prometheus: str, tmp_path: Path) -> None:
    (panel,) = (
        one
        for one in json.loads((DOCS / "tare.json").read_text())["panels"]
        if one["type"] == "state-timeline"
    )
    (target,) = panel["targets"]
    text = target["expr"].replace("$campaign", ".*")
    until(partial(query, prometheus, text), within_s=30)
    (epoch,) = query(prometheus, text)
    campaign = read_campaign(tmp_path / "campaigns/net")
    last = campaign.cases[campaign.attempts[-1].case]
    assert epoch["metric"] == {"campaign": "net", "network": last.network}
    assert "{{network}}" in target["legendFormat"]


def test_the_dashboard_asks_only_for_metrics_that_there_are() -> None:
    text = (DOCS / "tare.json").read_text()
    known = {one.name for one in families({})} | {"tare_attempts_total"}
    assert set(re.findall(r"tare_[a-z_]+", text)) <= known
    dashboard = json.loads(text)
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    for panel in dashboard["panels"]:
        position = panel["gridPos"]
        assert position["x"] + position["w"] <= 24
        assert panel["description"]

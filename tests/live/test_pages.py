"""What the pages and the JSON say."""

from __future__ import annotations

import re
import time
from pathlib import Path

import httpx
import msgspec
import pytest

from live.conftest import Serve
from report.html_reader import Page
from report.studies import HOSTILE, hostile, three_networks, with_gaps
from support.journals import unsummed
from support.synthetic import make_campaign, make_case, write_campaign
from tare.analysis.verdicts.compare import aggregates, overview_of
from tare.core.attempt import Proof, State
from tare.core.verdict import Verdict
from tare.report.words.mean_cost import beside_words
from tare.storage.campaign import JOURNAL
from tare.storage.journal import AttemptBegan, AttemptEnded, Journal
from truth.campaigns import Truth, campaign, write
from truth.noise import lognormal


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_campaign(with_gaps(three_networks(blocks=5)), tmp_path / "demo")


def half(tmp_path: Path) -> tuple[Path, list[AttemptEnded]]:
    """Return the folder of a campaign of which two blocks are done, and what is still to end."""
    whole = three_networks(blocks=4)
    done = msgspec.structs.replace(
        whole,
        attempts=whole.attempts[:12],
        orders={block: order for block, order in whole.orders.items() if block < 3},
    )
    return write_campaign(done, tmp_path / "demo"), [AttemptEnded(one) for one in whole.attempts[12:]]


def test_the_overview_has_a_card_for_each_campaign_and_for_those_that_come(
    serve: Serve, tmp_path: Path
) -> None:
    client = serve(tmp_path)
    assert "No campaign here yet" in client.get("/").text
    write_campaign(make_campaign(blocks=3), tmp_path / "first")
    time.sleep(0.3)  # a look may be a quarter of a second old
    text = words_of(client.get("/").text)
    assert "6 of 6 runs done" in text
    assert "finished" in text


def test_the_matrix_shows_every_planned_run_with_its_state(serve: Serve, folder: Path) -> None:
    html = client_text(serve(folder), "/c/demo")
    cells = re.findall(r'<td class="([dfilrp])"[^>]*>(.)', html)
    assert len(cells) == 30
    assert sorted({*cells}) == [("d", "✓"), ("f", "✕"), ("i", "!"), ("l", "◌"), ("p", "·")]
    assert 'data-n="2"' in html


def words_of(html: str) -> str:
    """Return the text of a page."""
    (main,) = Page(html).all("main")
    return main.text


def client_text(client: httpx.Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.text


def test_what_is_stated_so_far_comes_with_intervals(serve: Serve, folder: Path) -> None:
    text = words_of(client_text(serve(folder), "/c/demo"))
    assert re.search(
        r"overlay is worse than host in .*’s latency up to 1\s\w+ \(\d+\s% higher \[\d+,\s\d+\]", text
    )
    assert "interim" in text


def test_an_equivalence_is_not_reported_without_what_it_may_miss(serve: Serve, tmp_path: Path) -> None:
    truth = Truth(noise=lognormal(0.002), margin=0.05, blocks=5)
    folder = write(truth, tmp_path / "quiet")
    (row,) = overview_of(aggregates(campaign(truth, seed=1)))
    assert row.verdict is Verdict.EQUIVALENT
    text = words_of(client_text(serve(folder), "/c/quiet"))
    assert f"equivalent {beside_words(row)}" in text
    assert "may miss a slow mode of up to 45" in text


def test_of_many_contenders_those_that_tell_most_are_open_and_the_others_folded(
    serve: Serve, tmp_path: Path
) -> None:
    names = ["host", *(f"net-{number:02}" for number in range(30))]
    ratios = dict.fromkeys(names, 1.0) | {"net-25": 1.5}
    cases = [make_case(name) for name in names]
    folder = write_campaign(
        make_campaign(cases, ratio=ratios, noise=0.002, blocks=5, sizes=(8,)), tmp_path / "demo"
    )
    html = client_text(serve(folder), "/c/demo")
    answers, _, _ = html.partition('id="matrix"')
    at_once, folded = answers.split("<details")
    assert (at_once.count('<p class="answer">'), folded.count('<p class="answer">')) == (12, 18)
    assert "net-25" in at_once
    assert "18 more contenders" in folded


def test_a_live_part_reports_only_what_changed(serve: Serve, tmp_path: Path) -> None:
    folder, rest = half(tmp_path)
    client = serve(folder)
    page = client_text(client, "/c/demo")
    since = int(re.findall(r'data-revision="(\d+)"', page)[0])
    quiet = client.get("/c/demo/live", params={"since": since}).json()
    assert quiet["cells"] == []
    assert not {"matrix", "answers", "chart"} & set(quiet["parts"])
    ended = rest[0].attempt
    with Journal(folder / JOURNAL) as journal:
        journal.append(AttemptBegan(ended.case, ended.block, 1, 1e9))
        time.sleep(0.3)
        news = client.get("/c/demo/live", params={"since": since}).json()
        assert news["cells"] == [[ended.case, ended.block, "r", "▶", 1]]
        assert "12 of 24 runs done" in news["parts"]["status"]
        assert "left, until" in news["parts"]["status"]
        journal.append(rest[0])
        time.sleep(0.3)
        later = client.get("/c/demo/live", params={"since": news["revision"]}).json()
        assert later["cells"] == [[ended.case, ended.block, "d", "✓", 1]]
        assert "13 of 24 runs done" in later["parts"]["status"]
    everything = client.get("/c/demo/live").json()
    assert {"matrix", "answers", "chart", "runs", "status", "why"} == set(everything["parts"])
    assert client.get("/c/demo/live", params={"since": 10**17}).json()["parts"].keys() >= {"matrix"}


def test_runs_are_found_by_words_and_state_and_page_by_page(serve: Serve, folder: Path) -> None:
    client = serve(folder)
    found = words_of(client_text(client, "/c/demo?words=overlay+transport&state=invalid"))
    everything = words_of(client_text(client, "/c/demo"))
    assert re.search(r"\d+ run", found)
    assert "eth0 carried the data (check: transport)" in everything
    for query in ("page=0", "page=99999", "page=x", "page=-1", "state=nonsense", "since=²"):
        assert client.get(f"/c/demo?{query}").status_code == 200


def test_a_run_shows_its_command_output_and_proof(serve: Serve, tmp_path: Path) -> None:
    whole = make_campaign(blocks=3)
    proven = msgspec.structs.replace(
        whole.attempts[0], transport="fab0 carried 1 MiB", proof=Proof.COUNTED, load=0.5
    )
    whole = msgspec.structs.replace(whole, attempts=(proven, *whole.attempts[1:]))
    folder = write_campaign(whole, tmp_path / "demo")
    evidence = folder / proven.folder
    evidence.mkdir(parents=True)
    (evidence / "stdout").write_text("\x1b[31mred\x1b[0m and plain\n")
    (evidence / "command.json").write_bytes(
        msgspec.json.encode([{"argv": ["mpirun", "a b"], "env": {"DEPTH": "value"}, "host": "n1"}])
    )
    client = serve(folder)
    text = words_of(client_text(client, f"/c/demo/run/{proven.case}/1.1"))
    for expected in (
        "red and plain",
        "mpirun 'a b'",
        "DEPTH=value",
        "counted: fab0 carried 1 MiB",
        "latency",
        "on n1",
    ):
        assert expected in text
    raw = client.get(f"/c/demo/run/{proven.case}/1.1/file/stdout", headers={"range": "bytes=5-7"})
    assert raw.status_code == 206
    assert raw.text == "red"
    assert raw.headers["content-type"].startswith("text/plain")
    to_run = client.get(f"/c/demo/attempts/{proven.case}/1.1")
    assert to_run.headers["location"] == f"/c/demo/run/{proven.case}/1.1"


def test_campaigns_stand_side_by_side(serve: Serve, tmp_path: Path) -> None:
    write_campaign(three_networks(blocks=4), tmp_path / "one")
    write_campaign(three_networks(blocks=5, noise=0.01), tmp_path / "two")
    page = client_text(serve(tmp_path), "/compare?c=one&c=two&c=one&c=none")
    assert page.count('class="campaign-card"') == 2
    heading = r'<tr><th scope="row">synthetic.pingpong · 2.nodes <small>{}, all sizes</small></th>'
    for fom, change in (("latency", "+5"), ("bandwidth", "−3")):
        row = re.search(rf"{heading.format(fom)}<td>overlay</td>(.*?)</tr>", page)
        assert row is not None
        assert row[1].count(f"</span> {change}") == 2, "each figure is held against itself"


def test_the_full_report_is_made_on_demand_under_its_own_policy(serve: Serve, folder: Path) -> None:
    (folder / "report").mkdir()
    (folder / "report" / "index.html").write_text("<script>alert('somebody else wrote this')</script>")
    answer = serve(folder).get("/c/demo/report/")
    assert answer.status_code == 200
    assert "somebody else" not in answer.text
    assert "script-src 'sha256-" in answer.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


def test_json_states_the_same(serve: Serve, folder: Path) -> None:
    client = serve(folder)
    (brief,) = client.get("/api/campaigns").json()["campaigns"]
    assert (brief["name"], brief["counts"]["done"], brief["runs"]) == ("demo", 26, 30)
    body = client.get("/api/c/demo").json()
    assert body["schema"] == "tare.serve.campaign/1"
    assert {state for row in body["matrix"].values() for state in row.values()} == {
        *("done", "failed", "invalid", "lost", "pending")
    }
    assert body["headlines"][0]["workloads"] == [body["headlines"][0]["workload"]]
    assert body["headlines"][0]["low"] < body["headlines"][0]["ratio"] < body["headlines"][0]["high"]
    runs = client.get("/api/c/demo/runs", params={"from": 2}).json()
    assert runs["n_runs"] == len(runs["runs"]) + 2
    one = runs["runs"][0]
    found = client.get(f"/api/c/demo/run/{one['case']}/{one['block']}.{one['attempt']}").json()
    assert found["attempt"]["state"] == State.LOST


@pytest.mark.parametrize(
    "path",
    [
        "/c/none",
        "/c/demo/run/none/1.1",
        "/c/demo/run/{case}/99.1",
        "/c/demo/run/{case}/1",
        "/c/demo/run/{case}/1.1/file/command.json",
        "/c/demo/run/{case}/1.1/file/..%2f..%2f..%2fjournal.jsonl",
        "/c/demo/run/..%2f..%2f/1.1",
        "/c/../demo/plan.json",
        "/c/demo%2f..%2fdemo",
        "/static/../access.py",
        "/static/%2e%2e%2faccess.py",
        "/static/live.css",
        "/c/demo/journal.jsonl",
        "/api/c/demo/run/{case}/1.1/log/%2fetc%2fpasswd",
    ],
)
def test_only_what_was_looked_up_is_found(serve: Serve, folder: Path, path: str) -> None:
    case = three_networks().plan.cases[0].id
    client = serve(folder)
    request = httpx.Request("GET", f"{client.base_url}")
    request.url = request.url.copy_with(raw_path=path.replace("{case}", case).encode())
    assert client.send(request).status_code == 404


def test_a_case_whose_id_is_a_path_leads_nowhere(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "stdout").write_text("SECRET")
    case = make_case()
    folder = write_campaign(make_campaign([case], blocks=1), tmp_path / "demo")
    for name in ("plan.json", "journal.jsonl"):
        text = (folder / name).read_text()
        (folder / name).write_text(unsummed(text).replace(f'"{case.id}"', '".."'))
    outside = folder / "1.1"  # where attempts/../1.1 leads
    outside.mkdir()
    (folder / "attempts").mkdir()
    (outside / "stdout").write_text("SECRET")
    client = serve(folder)
    for path in ("/c/demo/run/%2e%2e/1.1", "/api/c/demo/run/%2e%2e/1.1/log/stdout"):
        request = httpx.Request("GET", f"{client.base_url}")
        request.url = request.url.copy_with(raw_path=path.encode())
        assert "SECRET" not in client.send(request).text
    assert "plan.json: damaged" in client.get("/c/demo").text


def test_links_out_of_an_attempt_are_not_followed(serve: Serve, tmp_path: Path) -> None:
    whole = make_campaign(blocks=1)
    folder = write_campaign(whole, tmp_path / "demo")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "stdout").write_text("SECRET")
    first, second = whole.attempts
    (folder / first.folder).mkdir(parents=True)
    (folder / first.folder / "stdout").symlink_to(tmp_path / "secret" / "stdout")
    (folder / second.folder).parent.mkdir()
    (folder / second.folder).symlink_to(tmp_path / "secret")
    client = serve(folder)
    for one in (first, second):
        assert "SECRET" not in client.get(f"/c/demo/run/{one.case}/1.1").text
        assert client.get(f"/api/c/demo/run/{one.case}/1.1/log/stdout").status_code == 404
        assert client.get(f"/c/demo/run/{one.case}/1.1/file/stdout").status_code == 404


def test_hostile_names_are_text_on_every_page(serve: Serve, tmp_path: Path) -> None:
    name = "quote\"'<b>&\n"
    folder = tmp_path / name
    folder.mkdir()
    campaign = hostile(folder)
    write_campaign(campaign, folder)
    client = serve(tmp_path)
    (found,) = client.get("/api/campaigns").json()["campaigns"]
    assert found["name"] == "quote-b-"
    one = campaign.attempts[0]
    paths = ["/", "/c/quote-b-", f"/c/quote-b-/run/{one.case}/1.1", "/compare?c=quote-b-"]
    paths += [f"/c/quote-b-?words={HOSTILE[:40].encode().hex()}"]
    for path in paths:
        page = Page(client_text(client, path))
        assert len(page.all("script")) == 1
        assert not any("onerror" in element.attributes for element in page.elements)
        assert not page.all("b", "x")
        assert "49" not in page.all("h1")[0].text  # {{7*7}} is not computed
    for path in ("/live", "/c/quote-b-/live", f"/c/quote-b-/run/{one.case}/1.1/live"):
        for html in client.get(path).json()["parts"].values():
            assert "<script" not in html
            assert "<img" not in html
    searched = client.get("/c/quote-b-", params={"words": HOSTILE}).text
    assert "<script>alert" not in searched


@pytest.mark.parametrize(("n_cases", "blocks"), [(200, 5), (500, 20), (20, 500)])
def test_a_page_of_ten_thousand_runs_stays_below_a_megabyte(
    serve: Serve, tmp_path: Path, n_cases: int, blocks: int
) -> None:
    cases = [
        make_case(network, parameters={"size": size})
        for size in range(n_cases // 2)
        for network in ("host", "overlay")
    ]
    folder = write_campaign(make_campaign(cases, blocks=blocks, sizes=(1,)), tmp_path / "big")
    client = serve(folder)
    page = client.get("/c/big", headers={"accept-encoding": "identity"})
    assert page.text.count('<td class="d">') == n_cases * blocks
    assert len(page.content) < 1_000_000
    since = re.findall(r'data-revision="(\d+)"', page.text)[0]
    with Journal(folder / JOURNAL) as journal:
        journal.append(AttemptBegan(cases[0].id, 1, 2, 1.0))
    time.sleep(0.3)
    news = client.get(f"/c/big/live?since={since}", headers={"accept-encoding": "identity"})
    assert len(news.json()["cells"]) == 1
    assert len(news.content) < 60_000


def test_a_plan_that_cannot_be_read_is_reported_on_its_page(serve: Serve, folder: Path) -> None:
    (folder / "plan.json").write_text("{")
    client = serve(folder)
    assert "damaged" in client_text(client, "/c/demo")
    assert "damaged" in client_text(client, "/")
    assert client.get("/c/demo/run/x/1.1").status_code == 503
    assert client.get("/c/demo/report/").status_code == 503

"""What a site does not tell has signs in all that others may read, and stays what it was in the folder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from cli.conftest import Tare, call_tare, call_tare_here
from cli.strangers.packed_pages import unpacked
from live.conftest import running

WORDS = ("acme", "gandalf", "venus-7", "venus-8")
SITE = {
    "site": "acme-lab",
    "nodes": ["localhost"],
    "platforms": {"acme-bare": {"env": {"PROJECT": "acme"}}, "other": {}},
    "redact": ["acme", "/venus-[0-9]+/"],
}
SCRIPT = (
    "echo value: 1.$TARE_N on venus-7; echo gandalf on venus-8 >&2; echo acme; "
    'case "$1" in bad) echo "ERROR: venus-8 refused ACME and gandalf" >&2; exit 3;; esac'
)
STUDY = {
    "study": "acme-study",
    "question": "What does acme pay on venus-7?",
    "site": "site.yaml",
    "factors": {"platform": ["acme-bare", "other"], "workload": ["say"], "how": ["good", "bad"]},
    "reference": {"platform": "acme-bare"},
    "repeats": 2,
    "workloads": {
        "say": {
            "command": ["sh", "-c", SCRIPT, "acme", "{how}"],
            "parameters": {"how": {"default": "good"}},
            "env": {"WHO": "gandalf of acme"},
            "foms": [
                {
                    "name": "v",
                    "unit": "s",
                    "better": "lower",
                    "regex": r"value: (\S+) on (?P<at>\S+)",
                    "by": "at",
                }
            ],
        }
    },
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a campaign whose site redacts some words, and whose run was told another."""
    folder = tmp_path_factory.mktemp("signs")
    (folder / "study.yaml").write_text(json.dumps(STUDY))
    (folder / "site.yaml").write_text(json.dumps(SITE))
    ended = call_tare("run", "study.yaml", "--out", "acme-c", "--redact", "gandalf", cwd=folder)
    assert ended.returncode == 1, ended.stderr
    (folder / "run.txt").write_text(ended.stdout.replace("acme-c", "") + ended.stderr)
    return folder


def left_in(text: str) -> set[str]:
    everything = "\n".join([text, *unpacked(text)])
    return {word for word in WORDS if re.search(word, everything, re.IGNORECASE)}


def test_records_and_the_output_of_a_run_have_pseudonyms(place: Path) -> None:
    assert left_in((place / "run.txt").read_text()) == set()
    for path in (place / "acme-c/attempts").rglob("command.json"):
        assert left_in(path.read_text()) == set()
    ended = [json.loads(line) for line in (place / "acme-c/journal.jsonl").read_text().splitlines()]
    assert left_in(json.dumps([one for one in ended if "ERROR" in json.dumps(one)])) == set()


def test_raw_output_and_study_stay_as_they_are(place: Path) -> None:
    outputs = "".join(one.read_text() for one in (place / "acme-c/attempts").rglob("std*"))
    assert left_in(outputs) == set(WORDS)
    assert "acme" in (place / "acme-c/study.yaml").read_text()


@pytest.mark.parametrize(
    "words",
    [
        ("status", "--all"),
        ("status", "--json"),
        ("compare", "--all"),
        ("compare", "--json"),
        ("check", "--fail-if", "overhead(platform=acme-bare) > 5 %", "--json"),
        ("plan", "--json"),
        ("plan", "--show", "--redacted"),
        ("export",),
        ("export", "--format", "json"),
        ("environment", "show"),
    ],
    ids=" ".join,
)
def test_no_command_prints_a_word(place: Path, words: tuple[str, ...]) -> None:
    name, *options = words
    where = [] if name != "environment" else [options.pop(0)]
    ended = call_tare_here(name, *where, "acme-c", *options, cwd=place)
    assert "defect" not in ended.stderr
    assert left_in((ended.stdout + ended.stderr).replace("acme-c", "")) == set()


def test_a_rule_and_a_reference_may_name_what_is_redacted(place: Path) -> None:
    ended = call_tare_here("compare", "acme-c", "--reference", "platform=other", "--json", cwd=place)
    assert ended.returncode == 0, ended.stderr
    ended = call_tare_here("compare", "acme-c", "--reference", "platform=acme-bare", "--json", cwd=place)
    assert ended.returncode == 0, ended.stderr
    ended = call_tare_here("check", "acme-c", "--fail-if", "overhead(platform=nowhere) > 5 %", cwd=place)
    assert ended.returncode == 2


def test_report_and_export_have_the_same_pseudonym_for_the_same_word(place: Path) -> None:
    assert call_tare_here("report", "acme-c", "--format", "all", "--out", "r", cwd=place).returncode == 0
    for path in (one for one in (place / "r").rglob("*") if one.is_file()):
        text = path.read_bytes().decode("utf-8", "replace")
        assert left_in(text.replace("acme-c", "")) == set(), path.name
    page = (place / "r/index.html").read_text()
    rows = json.loads(call_tare_here("export", "acme-c", "--format", "json", cwd=place).stdout)["rows"]
    (sign,) = {row["at"] for row in rows if row["at"]}
    assert re.fullmatch(r"‹redacted-[0-9a-f]{8}›", sign)
    assert {row["platform"] for row in rows} == {"‹redacted-1›-bare", "other"}
    for one in (sign, "‹redacted-1›-bare"):
        assert one in page


def test_words_of_the_option_add_to_those_of_the_site(place: Path, tmp_path: Path) -> None:
    rows = call_tare_here("export", "acme-c", "--redact", "other", "--redact", "/sa[y]/", cwd=place).stdout
    assert left_in(rows) == set()
    assert not re.search(r"\b(other|say)\b", rows)
    assert "‹redacted-4›" in rows


def test_the_live_page_has_pseudonyms_too_and_its_addresses_lead_on(place: Path) -> None:
    with (
        running(place, redacted=("localhost",)) as (_, url),
        httpx.Client(base_url=url, timeout=120) as client,
    ):
        (found,) = client.get("/api/campaigns").json()["campaigns"]
        name = found["name"]
        assert left_in(name) == set()
        left = ["/", "/api/campaigns", f"/api/c/{name}", f"/c/{name}", f"/c/{name}/report/", "/metrics"]
        for one in client.get(f"/api/c/{name}/runs").json()["runs"]:
            run = f"/c/{name}/run/{one['case']}/{one['block']}.{one['attempt']}"
            left += [run, f"/api{run}", f"/api{run}/log/stdout", f"/api{run}/log/stderr"]
        for path in left:
            answer = client.get(path)
            assert answer.status_code == 200, path
            assert left_in(answer.text) == set(), path


def test_words_of_the_redact_option_are_kept_for_the_next_run(place: Path) -> None:
    kept = json.loads((place / "acme-c/redact.json").read_text())
    assert kept["entries"] == ["acme", "/venus-[0-9]+/", "gandalf"]
    assert len(kept["key"]) == 32
    ended = call_tare("run", "acme-c", "--redact", "frodo", cwd=place)
    assert ended.returncode in {0, 1}, ended.stderr
    again = json.loads((place / "acme-c/redact.json").read_text())
    assert again == {**kept, "entries": [*kept["entries"], "frodo"]}


@pytest.mark.parametrize("command", ["run", "report", "export", "serve"])
def test_what_cannot_be_redacted_is_refused_with_the_cure(tare_here: Tare, command: str) -> None:
    ended = tare_here(command, ".", "--redact", "/(?=a)/")
    assert ended.returncode == 2
    assert "look-around" in ended.stderr


def test_a_damaged_list_of_words_is_reported(
    tare_here: Tare, study: Callable[..., Path], tmp_path: Path
) -> None:
    tare_here("run", study(repeats=1), "--out", "c")
    for text in ("[", '{"entries": ["x"]}', '{"entries": ["/(/"]}', '{"entries": 3}'):
        (tmp_path / "c/redact.json").write_text(text)
        ended = tare_here("status", "c")
        assert ended.returncode == 3
        assert "redact.json" in ended.stderr
        assert "delete it" in ended.stderr

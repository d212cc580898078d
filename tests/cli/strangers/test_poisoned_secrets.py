"""Fourteen kinds of secret in all that a study, a site and a program can hold: in nothing made for others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest

from cli.conftest import call_tare, call_tare_here
from cli.strangers.packed_pages import unpacked
from live.conftest import running

LINES = {
    "aws": ("id AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    "aws secret": (
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "wJalrXUtnFEMI/K7MDENG",
    ),
    "github": (
        "cloned with ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "16C7e42F292c6912E7710c838347Ae178B4a",
    ),
    "bearer": ("Authorization: Bearer hunter2-BEARER-0", "hunter2-BEARER"),
    "url": ("https://bob:hunter2-URL@host/x", "hunter2-URL"),
    "mysql": ("mysql -h db -phunter2-MYSQL bench", "hunter2-MYSQL"),
    "curl": ("curl -u bob:hunter2-CURL https://host/x", "hunter2-CURL"),
    "pem": (
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEhunterTWOpem\nIBAAKhunterTWOpem\n-----END RSA PRIVATE KEY-----",
        "hunterTWOpem",
    ),
    "jwt": (
        "jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
        "eyJzdWIiOiIxIn0",
    ),
    "password": ("connecting with password=hunter2-PASSWORD", "hunter2-PASSWORD"),
    "base64": ("sent x8Kq2Lm9Zt4Vw7Rb3Ny6Pc1Hd5Gf0Js9Ua2Xe4Ti7Qo=", "x8Kq2Lm9Zt4Vw7Rb3Ny6"),
    "hex": (
        "api_key: 5f4dcc3b5aa765d61d8327deb882cf99aabbccddeeff00112233445566778899",
        "5f4dcc3b5aa765d61d8327deb882cf99",
    ),
    "slack": ("xoxb-123456789012-abcdefABCDEF", "123456789012-abcdefABCDEF"),
    "google": ("AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY", "SyD-9tSrke72PouQMnMX"),
}
SECRETS = tuple(secret for _, secret in LINES.values())
VARIABLES = {f"NOTE_{number}": line for number, (line, _) in enumerate(LINES.values())} | {
    "PGPASSWORD": "hunter2-PASSWORD"
}
SAY = (
    'printf "%s\\n" "$0"; printf "%s\\n" "$0" >&2; printf "%s\\n" "$1" | tee -a extra.stdout; '
    "echo value: 1.5 of https://bob:hunter2-URL@host/x;"
)
FOM = {"name": "value", "unit": "s", "better": "lower", "regex": r"value: (\S+) of (?P<who>\S+)", "by": "who"}


def _study() -> dict[str, object]:
    all_lines = "\n".join(line for line, _ in LINES.values())

    def workload(end: str) -> dict[str, object]:
        return {
            "command": ["sh", "-c", f"{SAY} {end}", "{line}", all_lines],
            "parameters": {"line": {"default": "a"}},
            "env": VARIABLES,
            "foms": [FOM],
        }

    fails = 'printf "ERROR: %s\\n" "$0" >&2; exit 3'
    return {
        "study": "poisoned",
        "question": f"What does {LINES['github'][0]} cost?",
        "site": "site.yaml",
        "factors": {"workload": ["good", "bad"], "line": [line for line, _ in LINES.values()]},
        "reference": {"line": LINES["aws"][0]},
        "repeats": 1,
        "workloads": {"good": workload(""), "bad": workload(fails)},
    }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("poisoned")
    (folder / "study.yaml").write_text(json.dumps(_study()))
    site = {"site": "s", "nodes": ["localhost"], "platforms": {"bare": {"env": VARIABLES}}}
    (folder / "site.yaml").write_text(json.dumps(site))
    ended = call_tare("run", "study.yaml", "--out", "c", "-vv", "--log", "all.jsonl", cwd=folder)
    assert ended.returncode == 1, ended.stderr
    (folder / "run.txt").write_text(ended.stdout + ended.stderr)
    return folder


def found_in(text: str) -> list[str]:
    """Return the secrets that `text` holds: also packed for a page, and however JSON or HTML write them."""
    everything = [text, *unpacked(text)]
    return [secret for secret in SECRETS if any(secret in one or secret[:16] in one for one in everything)]


def test_the_poison_is_where_it_was_put(place: Path) -> None:
    """Else the other tests show nothing: the raw output is kept as it was printed."""
    outputs = "\n".join(one.read_text() for one in (place / "c/attempts").rglob("*std*"))
    assert set(found_in(outputs)) == set(SECRETS)
    assert set(found_in((place / "c/study.yaml").read_text())) >= set(SECRETS) - {"hunterTWOpem"}


def test_no_secret_is_recorded_beside_the_raw_output_and_the_study(place: Path) -> None:
    for path in (place / "c/journal.jsonl", *(place / "c/attempts").rglob("command.json")):
        assert found_in(path.read_text()) == [], path.name
    said = (place / "run.txt").read_text()
    assert " process: command  argv=" in said
    assert found_in(said) == []


@pytest.mark.parametrize("name", ["all.jsonl", "c/log.jsonl"])
def test_no_log_holds_a_secret(place: Path, name: str) -> None:
    text = (place / name).read_text()
    assert text.count('"message":"command"') >= 2 * len(LINES)
    assert found_in(text) == []


COMMANDS = (
    ("status", "c"),
    ("status", "c", "--all"),
    ("status", "c", "--json"),
    ("status", "c", "--log"),
    ("status", "c", "--log", "--json"),
    ("compare", "c"),
    ("compare", "c", "--all"),
    ("compare", "c", "--json"),
    ("check", "c", "--fail-if", "overhead() > 5 %"),
    ("check", "c", "--fail-if", "overhead() > 5 %", "--json"),
    ("plan", "study.yaml"),
    ("plan", "study.yaml", "--json"),
    ("plan", "study.yaml", "--order"),
    ("plan", "study.yaml", "--show", "--redacted"),
    ("plan", "c", "--show", "--redacted"),
    ("export", "c"),
    ("export", "c", "--format", "json"),
    ("metrics", "c", "--once"),
    ("environment", "show", "c"),
    ("verify", "c"),
    ("scaling", "c"),
    ("curves", "c"),
)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_command_prints_a_secret(place: Path, words: tuple[str, ...]) -> None:
    ended = call_tare_here(*words, cwd=place, is_hostile="--log" in words)  # words of commands have lines
    assert "this is a defect" not in ended.stderr
    assert found_in(ended.stdout + ended.stderr) == []


def test_what_is_shown_exactly_is_exact(place: Path) -> None:
    """`plan --show` is what runs; it is for who runs it."""
    shown = call_tare_here("plan", "study.yaml", "--show", cwd=place).stdout
    assert "hunter2-PASSWORD" in shown


def test_no_file_of_the_report_holds_a_secret(place: Path) -> None:
    ended = call_tare_here("report", "c", "--format", "all", "--out", "report", cwd=place)
    assert ended.returncode == 0, ended.stderr
    files = [one for one in (place / "report").rglob("*") if one.is_file()]
    assert {one.suffix for one in files} >= {".html", ".md", ".tex", ".svg"}
    for path in files:
        assert found_in(path.read_bytes().decode("utf-8", "replace")) == [], path.name


@pytest.mark.slow
def test_no_page_of_the_live_server_holds_a_secret_but_the_raw_files(place: Path) -> None:
    with running(place) as (_, url), httpx.Client(base_url=url, timeout=120) as client:
        seen: set[str] = set()
        left = ["/", "/api/campaigns", "/api/c/c", "/api/c/c/runs", "/c/c/live", "/metrics", "/compare?c=c"]
        attempts = client.get("/api/c/c/runs").json()["runs"]
        for one in attempts:
            run = f"/c/c/run/{one['case']}/{one['block']}.{one['attempt']}"
            left += [run, f"{run}/live", f"/api{run}"]
            left += [f"/api{run}/log/{name}" for name in ("stdout", "stderr", "extra.stdout")]
        while left:
            path = left.pop()
            if path in seen or "/file/" in path:
                continue
            seen.add(path)
            text = client.get(path).text
            assert found_in(text) == [], path
            left += [link for link in re.findall(r'href="(/[^"#]*)"', text) if link.startswith("/c")]
        assert len(seen) > len(attempts)
        assert "/c/c/report/" in seen


def test_settings_that_differ_by_a_secret_alone_stay_apart(place: Path) -> None:
    rows = json.loads(call_tare_here("plan", "study.yaml", "--json", cwd=place).stdout)["cases"]
    assert len({row["line"] for row in rows}) == len(LINES)
    found = json.loads(call_tare_here("compare", "c", "--json", "--all", cwd=place).stdout)
    assert len(found["comparisons"]) >= len(LINES) - 1

"""A password of a study's command is in nothing that is made to be shown: record, journal, report, export."""

from __future__ import annotations

import json
from pathlib import Path

from cli.conftest import Tare

SECRET = "hunter2-X9"
TOKEN = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"

SCRIPT = f"echo Authorization: Bearer {TOKEN}; echo ERROR: --password {SECRET} >&2; exit 3"


def test_a_password_of_a_command_is_in_no_record_and_no_report(tare_here: Tare, tmp_path: Path) -> None:
    say = {
        "command": [
            "sh",
            "-c",
            SCRIPT,
        ],
        "env": {"PGPASSWORD": SECRET},
        "foms": [{"name": "v", "unit": "s", "better": "lower", "regex": "value: (.*)"}],
    }
    tool = {**say, "command": ["true", "-u", "x", "--password", SECRET, f"https://bob:{SECRET}@host/x"]}
    study = {
        "study": "s",
        "repeats": 1,
        "factors": {"workload": ["say", "tool"]},
        "workloads": {"say": say, "tool": tool},
    }
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    campaign = tmp_path / "c"
    tare_here("run", tmp_path / "study.yaml", "--out", campaign)
    told = [
        tare_here(*words).stdout for words in (("status", campaign), ("export", campaign, "--format", "csv"))
    ]
    assert tare_here("report", campaign).returncode in {0, 1}
    records = [*campaign.glob("attempts/*/*/command.json"), campaign / "journal.jsonl"]
    records += [one for one in (campaign / "report").rglob("*") if one.suffix in {".html", ".md"}]
    assert len([one for one in records if one.name == "command.json"]) == 2
    for text in (*told, *(one.read_text() for one in records)):
        assert SECRET not in text
        assert TOKEN not in text

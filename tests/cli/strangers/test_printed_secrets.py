"""A password of a study's command is in nothing that is made to be shown: record, journal, report, export."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Tare
from tare.core.attempt import Attempt, State
from tare.core.printed_secrets import without_secrets
from tare.core.redaction import redact_text

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


SITE = """\
site: away
nodes: [n1]
agent: {agent}
platforms: {{bare: {{}}}}
storage: {{scratch: /nowhere}}
"""
SAYS = f"""\
#!/bin/sh
echo "mount --password {SECRET} of https://bob:{SECRET}@host failed, token {TOKEN}" >&2
"""
AGENT = """\
#!/bin/sh
# Stands for ssh to a host whose mkdir says a secret.
export PATH={bin}:$PATH
shift
exec sh -c "$*"
"""
STUDY = {
    "study": "s",
    "site": "site.yaml",
    "workload": "say",
    "retries": 0,
    "repeats": 1,
    "workloads": {
        "say": {
            "command": ["sh", "-c", "true", "{storage}"],
            "foms": [{"name": "v", "unit": "s", "better": "lower", "regex": "value: (.*)"}],
        }
    },
}


@pytest.mark.parametrize("who", ["ssh", "mkdir"])
@pytest.mark.parametrize(
    "words",
    [
        ["doctor", "--site", "site.yaml"],
        ["doctor", "--site", "site.yaml", "--json"],
        ["run", "study.yaml", "--out", "c"],
        ["run", "study.yaml", "--out", "c", "--no-rehearsal"],
    ],
)
def test_messages_of_hosts_are_printed_without_secrets(
    tare_here: Tare, tmp_path: Path, words: list[str], who: str
) -> None:
    agent = tmp_path / "agent"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/mkdir").write_text(f"{SAYS}exit 1\n")
    (tmp_path / "bin/mkdir").chmod(0o700)
    agent.write_text(f"{SAYS}exit 255\n" if who == "ssh" else AGENT.format(bin=tmp_path / "bin"))
    agent.chmod(0o700)
    (tmp_path / "site.yaml").write_text(SITE.format(agent=agent))
    (tmp_path / "study.yaml").write_text(json.dumps(STUDY))
    done = tare_here(*words)
    texts = [done.stdout, done.stderr]
    for name in ("rehearsal.json", "journal.jsonl"):
        texts += [one.read_text() for one in tmp_path.glob(f"c/{name}")]
    assert done.returncode != 0
    is_quoted = (words[0], who) != ("doctor", "mkdir")  # which tells in its own words what it found
    assert any("mount --password" in one for one in texts) == is_quoted
    for text in texts:
        assert SECRET not in text
        assert TOKEN not in text


def test_proofs_of_networks_and_places_are_recorded_without_secrets() -> None:
    said = f"UCX says token {TOKEN} over eth0"
    attempt = Attempt(
        case="c", block=1, attempt=1, state=State.DONE, started_at=1.0,
        transport=said, chosen=said, placement=said,
    )  # fmt: skip
    found = without_secrets(attempt, redact_text)
    told = "UCX says token (hidden) over eth0"
    assert (found.transport, found.chosen, found.placement) == (told, told, told)

"""What was changed, damaged, removed or put there since it was written is found; a seal shows forgery."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.conftest import Tare, call_tare
from cli.small_study import small_study
from support.journals import summed, unsummed
from tare.core.safe_folder import SafeFolder
from tare.storage.journal import Journal
from tare.storage.verifying import verify

STUDY = small_study("echo value: 1.25; mkdir deep; echo {text} >deep/result")
needs_ssh_keygen = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen here")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("measured")
    (folder / "study.yaml").write_text(STUDY)
    ended = call_tare("run", "study.yaml", "--out", "c", cwd=folder)
    assert ended.returncode == 0, ended.stderr
    return folder / "c"


@pytest.fixture
def campaign(measured: Path, tmp_path: Path) -> Path:
    shutil.copytree(measured, tmp_path / "c")
    return tmp_path / "c"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path, "-C", ""], check=True)
    (tmp_path / "signers").write_text(f"ada@example.org {path.with_suffix('.pub').read_text()}")
    return path


def first(campaign: Path) -> Path:
    return min((campaign / "attempts").glob("*/*"))


def faults(tare_here: Tare, *options: str) -> list[tuple[str, str]]:
    ended = tare_here("verify", "c", *options, "--json")
    found = [(one["where"], one["what"]) for one in json.loads(ended.stdout)["faults"]]
    assert ended.returncode == (1 if found else 0), ended.stderr
    return found


def test_a_campaign_that_nobody_touched_is_as_it_was_written(tare_here: Tare, campaign: Path) -> None:
    ended = tare_here("verify", "c")
    assert ended.returncode == 0, ended.stdout
    assert "4 runs and " in ended.stdout
    assert "as they were written" in ended.stdout
    assert "not sealed" in ended.stdout
    sums = subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=first(campaign), check=False)
    assert sums.returncode == 0


@pytest.mark.parametrize("name", ["stdout", "deep/result", "command.json", "SHA256SUMS"])
@pytest.mark.parametrize("how", ["changed", "removed", "a link"])
def test_evidence_that_is_not_what_it_was_is_named(
    tare_here: Tare, campaign: Path, name: str, how: str
) -> None:
    path = first(campaign) / name
    text = path.read_text()
    path.unlink()
    if how == "changed":
        path.write_text(f"{text}\n")
    elif how == "a link":
        (campaign / "elsewhere").write_text(text)
        path.symlink_to(campaign / "elsewhere")
    ((where, what),) = faults(tare_here)
    assert where == path.relative_to(campaign).as_posix()
    assert what.startswith("changed since its run ended" if how == "changed" else "cannot be read: ")


def test_folders_that_are_missing_or_not_in_the_journal_are_named(tare_here: Tare, campaign: Path) -> None:
    gone = first(campaign)
    gone.rename(gone.with_name("7.7"))
    found = dict(faults(tare_here))
    relative = gone.relative_to(campaign).as_posix()
    assert found[f"{relative}/SHA256SUMS"].startswith("cannot be read")
    assert found[f"{gone.parent.relative_to(campaign).as_posix()}/7.7"] == "no line of the journal names it"


def test_a_run_that_two_lines_end_is_named(tare_here: Tare, campaign: Path) -> None:
    """The journal of another campaign of the same study was taken for later news of the same runs."""
    lines = (campaign / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (campaign / "journal.jsonl").write_bytes(b"".join([*lines, *lines]))
    found = faults(tare_here)
    assert [where for where, _ in found] == [
        f"journal.jsonl:{len(lines) + number}"
        for number, line in enumerate(lines, 1)
        if line.startswith(b'{"event":"ended"')
    ]
    assert all(what.endswith("had ended before; are two journals in this one?") for _, what in found)
    assert len(found) == 4


def test_a_run_that_begins_while_the_campaign_is_verified_is_no_fault(
    campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = campaign / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    number = max(n for n, one in enumerate(lines) if b'"started"' in one)
    began = json.loads(lines[number])
    folder = campaign / "attempts" / began["case"] / f"{began['block']}.{began['attempt']}"
    folder.rename(campaign / "elsewhere")
    journal.write_bytes(b"".join(lines[:number]))
    read = SafeFolder.lines

    def read_and_begin(file: SafeFolder, *arguments: int) -> Iterator[bytes]:
        yield from read(file, *arguments)
        if file.path == journal and not folder.exists():
            journal.write_bytes(b"".join(lines[: number + 1]))
            (campaign / "elsewhere").rename(folder)

    monkeypatch.setattr(SafeFolder, "lines", read_and_begin)
    assert not verify(campaign).faults
    assert folder.exists()


def test_a_line_that_is_just_being_written_is_no_fault(campaign: Path) -> None:
    with Journal(campaign / "journal.jsonl"), (campaign / "journal.jsonl").open("ab") as file:
        file.write(b'{"event":"started","case":')
        file.flush()
        assert not verify(campaign).faults
    ((where, what),) = verify(campaign).faults
    assert where.startswith("journal.jsonl:")
    assert what == "cut short, as a crash leaves a line"


def test_every_flipped_bit_of_the_journal_is_found(tare_here: Tare, campaign: Path) -> None:
    journal = campaign / "journal.jsonl"
    whole = journal.read_bytes()
    for place in range(0, len(whole), 97):
        for bit in (0, 5):
            data = bytearray(whole)
            data[place] ^= 1 << bit
            journal.write_bytes(data)
            assert verify(campaign).faults, (place, bit)
    journal.write_bytes(whole)
    assert not verify(campaign).faults


def test_no_flipped_bit_of_the_journal_changes_a_figure(campaign: Path) -> None:
    from tare.core.errors import CampaignError
    from tare.storage.campaign import read_campaign

    journal = campaign / "journal.jsonl"
    whole = journal.read_bytes()
    known = {one.folder: one for one in read_campaign(campaign).attempts}
    n_refused = 0
    for place in range(3, len(whole), 61):
        data = bytearray(whole)
        data[place] ^= 1 << (place % 8)
        journal.write_bytes(data)
        try:
            found = read_campaign(campaign).attempts
        except CampaignError as error:
            n_refused += "damaged" in str(error)
            continue
        for one in found:
            is_whole = one == known[one.folder]
            assert is_whole or one.state == "lost", (place, one)
    assert n_refused > 20


def test_fields_that_nobody_writes_are_named_in_journals_without_checksums(
    tare_here: Tare, campaign: Path
) -> None:
    journal = campaign / "journal.jsonl"
    journal.write_text(unsummed(journal.read_text()))
    assert faults(tare_here) == []
    assert "no checksum vouches for" in tare_here("verify", "c").stdout
    journal.write_text(journal.read_text().replace('"elapsed_s"', '"elapsed_q"', 1))
    ((where, what),) = faults(tare_here)
    assert where.startswith("journal.jsonl:")
    assert what == "holds attempt.elapsed_q, which no version of tare writes: damaged?"


def test_a_field_that_nobody_writes_may_hold_more_digits_than_python_reads(
    tare_here: Tare, campaign: Path
) -> None:
    journal = campaign / "journal.jsonl"
    first, rest = unsummed(journal.read_text()).split("\n", 1)
    journal.write_text(first.replace("{", '{"more":' + "9" * 5000 + ",", 1) + "\n" + rest)
    ((where, what),) = faults(tare_here)
    assert (where, what) == ("journal.jsonl:1", "holds more, which no version of tare writes: damaged?")


def test_facts_of_nodes_are_held_against_their_name(tare_here: Tare, campaign: Path) -> None:
    (path,) = (campaign / "environments").glob("*.json")
    path.write_text(path.read_text().replace("performance", "powersave") + " ")
    assert faults(tare_here) == [(f"environments/{path.name}", "changed since it was written")]


def test_what_is_no_campaign_is_refused(tare_here: Tare, tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    ended = tare_here("verify", "c")
    assert ended.returncode == 2
    assert "not a campaign folder" in ended.stderr


@needs_ssh_keygen
def test_a_seal_names_its_signer_and_shows_a_forgery(tare_here: Tare, campaign: Path, key: Path) -> None:
    ended = tare_here("seal", "c", "--key", str(key))
    assert ended.returncode == 0, ended.stderr
    assert "sealed by SHA256:" in tare_here("verify", "c").stdout
    who = ("--signers", "signers", "--signer", "ada@example.org")
    assert "sealed by ada@example.org" in tare_here("verify", "c", *who).stdout
    journal = campaign / "journal.jsonl"
    journal.write_text(summed(journal.read_text().replace("1.25", "0.25")))
    assert faults(tare_here, *who) == [("journal.jsonl", "changed since it was sealed")]


@needs_ssh_keygen
def test_a_seal_of_another_or_of_nobody_is_refused(
    tare_here: Tare, campaign: Path, key: Path, tmp_path: Path
) -> None:
    who = ("--signers", "signers", "--signer", "ada@example.org")
    assert faults(tare_here, *who) == [("SHA256SUMS", "it is not sealed by ada@example.org, nor by anybody")]
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other], check=True)
    assert tare_here("seal", "c", "--key", str(other)).returncode == 0
    ((where, what),) = faults(tare_here, *who)
    assert where == "SHA256SUMS"
    assert "the signature does not hold" in what


@needs_ssh_keygen
def test_a_damaged_campaign_is_not_sealed(tare_here: Tare, campaign: Path, key: Path) -> None:
    (first(campaign) / "stdout").write_text("value: 9\n")
    ended = tare_here("seal", "c", "--key", str(key))
    assert ended.returncode == 2
    assert "not as it was written: attempts/" in ended.stderr
    assert not (campaign / "SHA256SUMS").exists()


def test_the_report_names_evidence_that_is_missing_or_changed(tare_here: Tare, campaign: Path) -> None:
    gone, changed = sorted((campaign / "attempts").glob("*/*"))[:2]
    shutil.rmtree(gone)
    (changed / "SHA256SUMS").write_text("")
    assert tare_here("report", "c", "--format", "html", "--format", "markdown").returncode == 0
    page = " ".join((campaign / "report/index.html").read_text().split())
    text = "The evidence of 2 runs is not what it was when they ended: "
    assert text in page
    assert f"{gone.relative_to(campaign).as_posix()} (missing)" in page
    assert f"{changed.relative_to(campaign).as_posix()} (changed)" in page

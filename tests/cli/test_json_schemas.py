"""The JSON Schemas of `tare schema NAME`: they are all there, they hold, and they are in the wheel."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import jsonschema
import pytest

from cli.conftest import TARE, call_tare_here
from support.contracts import require_contract, validator
from support.curves import Wire, curves_campaign
from support.profiled import BASE, profiled_campaign
from support.synthetic import write_campaign
from tare.cli.commands import schema as schema_command
from tare.cli.json_schemas import OUTPUT_NAMES, output_schema
from workloads.test_stream import OUTPUT

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "deploy" / "share" / "tare" / "schemas"
Study = Callable[..., Path]


@pytest.fixture
def campaign(tmp_path: Path, study: Study) -> Path:
    folder = tmp_path / "campaign"
    assert call_tare_here("run", study("echo value: 1.$$", repeats=4), "--out", folder).returncode == 0
    return folder


def printed(contract: str, *arguments: str | Path, cwd: Path) -> None:
    """Fail unless a command prints JSON of a contract; `call_tare_here` validates it against its schema."""
    done = call_tare_here(*arguments, cwd=cwd)
    assert done.stdout, done.stderr
    assert require_contract(done.stdout) == contract


def test_every_contract_in_the_code_has_a_schema_and_a_name_on_the_command_line() -> None:
    sources = (ROOT / "src" / "tare").rglob("*.py")
    named = {one for file in sources for one in re.findall(r'"(tare\.[a-z._]+/\d+)"', file.read_text())}
    assert named == {*OUTPUT_NAMES.values()}
    assert tuple(sorted(OUTPUT_NAMES)) == schema_command.OUTPUTS


@pytest.mark.parametrize("name", schema_command.OUTPUTS)
def test_a_schema_is_valid_and_names_itself_and_its_version(name: str) -> None:
    schema = json.loads(call_tare_here("schema", name).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    contract = OUTPUT_NAMES[name]
    assert schema["$id"] == f"urn:tare:schema:{name}:{contract.rpartition('/')[2]}"
    assert (schema["title"], schema["properties"]["schema"]["const"]) == (contract, contract)


def test_what_commands_print_of_a_campaign_fits_their_schemas(tmp_path: Path, campaign: Path) -> None:
    check = partial(printed, cwd=tmp_path)
    check("tare.status/1", "status", campaign, "--json")
    check("tare.log/1", "status", campaign, "--log", "--json")
    check("tare.compare/1", "compare", campaign, "--json")
    check("tare.report/1", "report", campaign, "--json", "--format", "csv")
    check("tare.scaling/1", "scaling", campaign, "--json")
    check("tare.why/1", "why", campaign, "--json")
    check("tare.curves/1", "curves", campaign, "--json")
    check("tare.check/1", "check", campaign, "--fail-if", "overhead(size=2) > 5 %", "--json")
    check("tare.environment/1", "environment", "show", campaign, "--json")
    check("tare.environment.diff/1", "environment", "diff", campaign, f"{campaign}:size=2", "--json")
    check("tare.verify/1", "verify", campaign, "--json")
    check("tare.export/1", "export", campaign, "--format", "json")
    check("tare.telemetry.show/1", "telemetry", "show", campaign, "--json")
    check("tare.plan/1", "plan", campaign, "--like", campaign, "--blocks", "6", "--json")
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    check("tare.seal/1", "seal", campaign, "--key", key, "--json")


def test_what_commands_print_without_a_campaign_fits_their_schemas(tmp_path: Path, study: Study) -> None:
    check = partial(printed, cwd=tmp_path)
    (tmp_path / "out").write_text(OUTPUT)
    check("tare.plan/1", "plan", study(), "--json")
    check("tare.workloads/1", "workloads", "--json")
    check("tare.doctor/1", "doctor", "--json")
    check("tare.doctor.site/1", "doctor", "--site", "local", "--json")
    check("tare.doctor.study/1", "doctor", study(), "--json")
    check("tare.lab.status/1", "lab", "status", "--name", "absent", "--json")
    check("tare.clean/1", "clean", "--dry-run", "--json")
    check("tare.published/1", "published", "--json")
    check("tare.published/1", "published", "hpcc-fabrics", "--out", "fabrics", "--json")
    check("tare.claims/1", "published", "--claims", "--json")
    check("tare.compare/1", "compare", "fabrics", "--json")
    check("tare.scaling/1", "scaling", "fabrics", "--json")
    check("tare.parse/1", "parse", "stream", "out", "--json")
    check("tare.import/1", "import", "stream", "out", "--out", "new", "--json")
    check("tare.calibrate/1", "calibrate", study(), "--blocks", "3", "--out", "aa", "--json")


def test_what_commands_print_of_profiles_fits_their_schemas(tmp_path: Path) -> None:
    check = partial(printed, cwd=tmp_path)
    profiled_campaign(tmp_path / "program", BASE, BASE)
    wires = {"host": Wire(10e-6, 1e9), "overlay": Wire(60e-6, 2e8)}
    write_campaign(curves_campaign(wires), tmp_path / "curves")
    check("tare.why/1", "why", "program", "--json")
    check("tare.predict/1", "predict", "program", "--curves", "curves", "--json")
    check("tare.tolerance/1", "tolerance", "program", "--json")
    check("tare.curves/1", "curves", "curves", "--json")


def test_what_metrics_prints_first_fits_its_schema(tmp_path: Path) -> None:
    with subprocess.Popen(
        [TARE, "metrics", tmp_path, "--port", "0", "--json"], stdout=subprocess.PIPE, text=True
    ) as serving:
        assert serving.stdout is not None
        try:
            assert require_contract(serving.stdout.readline()) == "tare.metrics/1"
        finally:
            serving.terminate()


def test_a_missing_key_and_a_key_too_many_are_noticed() -> None:
    whole = {"schema": "tare.seal/1", "folder": "a", "sealed_by": "b"}
    strict = validator("tare.seal/1")
    assert strict.is_valid(whole)
    assert not strict.is_valid({"schema": "tare.seal/1", "folder": "a"})
    assert not strict.is_valid({**whole, "more": 1})


def test_a_schema_fits_what_a_later_version_prints_within_the_same_contract() -> None:
    """It may have further keys, and further words in closed lists."""
    schema = output_schema("clean")
    left = [{"what": "a", "why": "b", "since": 3}]
    later = {"schema": "tare.clean/1", "is_dry": False, "ended": [], "failed": [], "left": left, "new": 1}
    jsonschema.validate(later, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**later, "schema": "tare.clean/2"}, schema)
    assert '"enum"' not in json.dumps([output_schema(name) for name in OUTPUT_NAMES])


_PRINT = (
    "import json, sys; sys.path.insert(0, sys.argv[1]); from schemas import schemas; "
    "json.dump(schemas(), sys.stdout)"
)


def test_the_schemas_of_the_wheel_are_current() -> None:
    """A difference is a change of a contract: only further keys are none that needs a new version."""
    done = subprocess.run(
        [sys.executable, "-c", _PRINT, str(ROOT / "docs")], capture_output=True, text=True, check=True
    )
    shipped = {one.name: one.read_text() for one in SHIPPED.glob("*")}
    assert shipped == json.loads(done.stdout), "run: python docs/generate.py"

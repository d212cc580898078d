"""Backends come through entry points; one that is broken stops only who asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from tare.app import leftovers
from tare.cli.commands import doctor
from tare.config import site_from_text
from tare.core.backend_plugin import BatchBackend, DirectBackend
from tare.core.errors import FileFaults, UsageError
from tare.plugins import backend_registry, registry
from tare.plugins.backend_registry import backend, backend_names, backends

_INSTALLED = {
    name: EntryPoint(name, value, "tare.backends")
    for name, value in {
        "broken": "broken_backend:BACKEND",
        "process": "tare.plugins.backends.process.plugin:BACKEND",
        "slurm": "tare.plugins.backends.slurm.plugin:BACKEND",
        "other": "tare.plugins.backends.slurm.plugin:BACKEND",
        "env": "named_env:BACKEND",
        "wrong": "tare.plugins.backends.slurm.plugin:SlurmBackend",
    }.items()
}


@pytest.fixture
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stand in for installed packages, some of which are of no use."""
    (tmp_path / "broken_backend.py").write_text("raise OSError('no licence found')\n")
    (tmp_path / "named_env.py").write_text(
        "from tare.plugins.backends.slurm.plugin import SlurmBackend\n"
        "BACKEND = type('Env', (SlurmBackend,), {'name': 'env'})()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(backend_registry, "installed", lambda group: _INSTALLED)
    backend.cache_clear()
    yield
    backend.cache_clear()


def test_the_built_in_ones_are_installed_and_described() -> None:
    assert {"process", "slurm", "kubernetes"} <= set(backend_names())
    for name, one in backends().items():
        assert isinstance(one, (BatchBackend, DirectBackend))
        assert one.name == name
        assert one.title
        assert one.summary


@pytest.mark.usefixtures("_installed")
def test_one_that_cannot_be_used_is_left_out_and_refused_by_name() -> None:
    assert set(backends()) == {"process", "slurm"}
    with pytest.raises(UsageError, match=r"backend plug-in broken .*OSError: no licence found; mend"):
        backend("broken")
    for name in ("wrong", "other"):
        with pytest.raises(UsageError, match=f"names no BackendPlugin called '{name}'"):
            backend(name)


@pytest.mark.usefixtures("_installed")
def test_a_site_with_an_unknown_backend_is_faulty_at_its_place() -> None:
    text = "site: s\nnodes: [a]\nplatforms:\n  p: {backend: slrum}\n  q: {backend: broken}\n"
    with pytest.raises(FileFaults) as caught:
        site_from_text(text, "s.yaml", {})
    assert "s.yaml:4:16: platforms.p.backend: no backend is called 'slrum'; did you mean 'slurm'?" in str(
        caught.value
    )
    assert "s.yaml:5:16: platforms.q.backend: backend plug-in broken" in str(caught.value)


@pytest.mark.usefixtures("_installed")
def test_one_named_like_a_key_of_platforms_is_refused() -> None:
    with pytest.raises(UsageError, match="'env' is a setting of every platform; give it another name"):
        backend("env")


@pytest.mark.usefixtures("_installed")
def test_doctor_lists_every_plug_in_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = EntryPoint("torn", "broken_backend:Launcher", "tare.launchers")
    groups = {"tare.backends": _INSTALLED, "tare.launchers": {"torn": launcher}}
    monkeypatch.setattr(registry, "installed", lambda group: groups.get(group, {}))
    done = CliRunner().invoke(doctor.command, ["--json"])
    problems = msgspec.json.decode(done.stdout)["problems"]
    assert {one.partition(" (")[0] for one in problems} == {
        *(f"backend plug-in {name}" for name in ("broken", "other", "env", "wrong")),
        "launcher plug-in torn",
    }
    assert "launcher plug-in torn" in CliRunner().invoke(doctor.command).stdout


@pytest.mark.usefixtures("_installed")
def test_clean_reports_which_backends_it_cannot_ask(capsys: pytest.CaptureFixture[str]) -> None:
    assert leftovers.usable_backends()
    assert "tare: backend plug-in broken (broken_backend:BACKEND) cannot be used" in capsys.readouterr().err

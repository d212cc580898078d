"""The wheel and the sdist are the same wherever they are built; the wheel works in its own environment."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from requirements.dist import BuildError, build_twice, digests, hatchling, take
from tare import __version__

ROOT = Path(__file__).parents[1]
_TREE = ("src", "deploy", "README.md", "LICENSE", "pyproject.toml", ".gitignore")
WHEEL = f"tare_hpc-{__version__}-py3-none-any.whl"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree, committed or not."""
    tree = tmp_path_factory.mktemp("tree")
    for name in _TREE:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tree / name)
    hatchling(tree, "1700000000", "wheel")
    return tree / "dist" / WHEEL


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with Tare of the wheel alone; its dependencies are those of this one."""
    target = tmp_path_factory.mktemp("environment")
    venv.create(target, with_pip=False)
    pip = [sys.executable, "-m", "pip", "--python", str(target / "bin" / "python"), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True, timeout=300)
    site = next(target.glob("lib/python3*/site-packages"))
    here = next(path for path in map(Path, sys.path) if path.name == "site-packages")
    (site / "dependencies.pth").write_text(f"{here}\n")  # .pth files in `here`, such as Tare's, are not read
    return target


def run(installed: Path, *arguments: str, **environment: str) -> str:
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(installed / "bin" / "tare"), *arguments],
        cwd=installed, env={**clean, **environment}, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode in {0, 3}, done.stderr  # 3: doctor, on a machine that cannot build a lab
    return done.stdout


def small_repository(where: Path) -> Path:
    """Return a repository with one commit, which hatchling can build."""
    (where / "src" / "small").mkdir(parents=True)
    (where / "src" / "small" / "__init__.py").write_text("")
    (where / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "small"\nversion = "1"\nrequires-python = ">=3.11"\n'
        '[tool.hatch.build.targets.wheel]\npackages = ["src/small"]\n'
    )
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *command], cwd=where, check=True)
    return where


needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed: apt install git")


@needs_git
def test_a_release_holds_what_is_committed_and_nothing_else(tmp_path: Path) -> None:
    root = small_repository(tmp_path / "root")
    (root / "src" / "small" / "notes.py").write_text("not committed")
    built = build_twice(root, tmp_path / "dist")
    assert {*built} == {"small-1-py3-none-any.whl", "small-1.tar.gz"}
    assert built == digests(tmp_path / "dist")
    with tarfile.open(tmp_path / "dist" / "small-1.tar.gz") as sdist:
        assert "small-1/src/small/__init__.py" in sdist.getnames()
        assert "small-1/src/small/notes.py" not in sdist.getnames()


@needs_git
def test_without_a_repository_nothing_is_built_and_the_message_says_why(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="releases are built in a clone of the repository"):
        build_twice(tmp_path, tmp_path / "dist")
    assert not (tmp_path / "dist").exists()


def test_builds_that_differ_are_refused_and_older_files_stay(tmp_path: Path) -> None:
    for name, content in (("one", b"1"), ("two", b"2"), ("dist", b"old")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "small-1.tar.gz").write_bytes(content)
    with pytest.raises(BuildError, match=r"two builds differ: small-1\.tar\.gz"):
        take(tmp_path / "one", tmp_path / "two", tmp_path / "dist")
    assert (tmp_path / "dist" / "small-1.tar.gz").read_bytes() == b"old"


def test_the_wheel_holds_types_data_the_licence_and_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {"tare/py.typed", "tare/sites/local.yaml", "tare/studies/calibrate-local.yaml"} <= {*names}
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if not name.startswith(("tare/", "tare_hpc-"))]


def test_the_wheel_works_in_an_environment_of_its_own(installed: Path) -> None:
    study = next(installed.glob("lib/python3*/site-packages/tare/studies/calibrate-local.yaml"))
    assert run(installed, "--version") == f"tare {__version__}\n"
    assert "urn:tare:schema:study" in run(installed, "schema", "study")
    assert "2 cases × 7 blocks = 14 runs" in run(installed, "plan", str(study))
    assert re.search(r"^ok +python ", run(installed, "doctor"), re.MULTILINE)


def test_the_environment_has_manual_pages_and_completions(installed: Path) -> None:
    share = installed / "share"
    assert (share / "man" / "man1" / "tare-run.1").is_file()
    assert (share / "bash-completion" / "completions" / "tare").is_file()
    assert (share / "zsh" / "site-functions" / "_tare").read_text().startswith("#compdef tare\n")
    assert (share / "fish" / "vendor_completions.d" / "tare.fish").is_file()


_COMPLETE = """
source "$1"
COMP_WORDS=(tare sca); COMP_CWORD=1
_tare_completion tare
echo "${COMPREPLY[@]}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_commands(installed: Path) -> None:
    file = installed / "share" / "bash-completion" / "completions" / "tare"
    environment = {**os.environ, "PATH": f"{installed / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "--norc", "-c", _COMPLETE, "bash", str(file)],
        env=environment, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout == "scaling\n", done.stderr


@pytest.mark.parametrize(
    ("shell", "path"), [("zsh", "zsh/site-functions/_tare"), ("fish", "fish/vendor_completions.d/tare.fish")]
)
def test_completions_of_other_shells_ask_for_what_click_knows(installed: Path, shell: str, path: str) -> None:
    file = (ROOT / "deploy" / "share" / path).read_text()
    asked = re.search(r"(_TARE_COMPLETE)=(\w+_source) tare", file)
    assert asked is not None
    source = run(installed, **{asked[1]: asked[2]})
    assert f"{shell}_complete" in source
    assert "_tare_completion" in source
    if program := shutil.which(shell):
        subprocess.run([program, "-n", "-c", source], check=True, timeout=60)  # its syntax


def test_uvx_runs_the_file(wheel: Path, tmp_path: Path) -> None:
    uvx = shutil.which("uvx", path=f"{Path(sys.prefix) / 'tools' / 'bin'}:{os.environ['PATH']}")
    if uvx is None:
        pytest.skip("there is no uv: make lock installs it in .venv/tools")
    command = [uvx, "--offline", "--from", str(wheel), "tare", "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode and re.search("offline|network|cache|not found in the", done.stderr):
        pytest.skip("Tare's dependencies are not in the cache of uv, and tests download nothing")
    assert done.stdout == f"tare {__version__}\n", done.stderr

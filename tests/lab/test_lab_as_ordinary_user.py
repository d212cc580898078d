"""The tests of the lab once more, as somebody who is not root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [pytest.mark.lab, pytest.mark.slow]

NOBODY = 65534
HERE = Path(__file__).parent


@pytest.fixture
def own_folder() -> Iterator[Path]:
    """A folder of that user; pytest's own lie in one that only root may enter."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        if os.getuid() == 0:
            os.chown(name, NOBODY, NOBODY)
        yield Path(name)


@pytest.fixture
def as_nobody() -> list[str]:
    """The words that start Python as a user without any rights."""
    if os.getuid() != 0:
        pytest.skip("only root can become somebody else; the other tests ran as an ordinary user already")
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv, of util-linux, is not there")
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all"]
    modules = os.pathsep.join(path for path in sys.path if "site-packages" in path or path.endswith("src"))
    for python in (sys.executable, "/usr/bin/python{}.{}".format(*sys.version_info)):
        words = [*become, "env", f"PYTHONPATH={modules}", python]
        if (
            subprocess.run([*words, "-c", "import pytest, tare"], check=False, capture_output=True).returncode
            == 0
        ):
            return words
    pytest.skip(f"an ordinary user may not read {sys.executable}")


def test_the_lab_works_for_an_ordinary_user(as_nobody: list[str], own_folder: Path) -> None:
    pytest_words = ["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={own_folder}/tests"]
    pytest_words += ["-k", "not pips_own_words"]  # which makes a virtual environment, and takes no rights

    done = subprocess.run(
        [*as_nobody, *pytest_words, HERE],
        cwd=HERE.parents[1],
        env=os.environ | {"HOME": str(own_folder), "TMPDIR": str(own_folder)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert " passed" in done.stdout
    assert "this machine builds no lab" not in done.stdout

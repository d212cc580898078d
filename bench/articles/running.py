"""Run the studies of the articles, each into its own campaign; those in pods in a cluster of `kubelab`."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from bench.articles.article import Article, LocalStudy
from bench.rows import TARE
from kubelab import shared_claim
from kubelab.images import PACKAGES as IMAGE_PACKAGES
from tare.analysis.accounting import account
from tare.storage.campaign import is_campaign, read_campaign

KUBELAB = (sys.executable, "-m", "kubelab")
_LAB = "articles"
"""The name of the lab whose cluster is brought up; another lab of the user is left alone."""
_SOME_FAILED = 1
"""What `tare run` returns where not all runs are done."""
_UP = "export KUBECONFIG="
"""What `kubelab pods` prints when its cluster is up."""


def missing(study: LocalStudy) -> list[str]:
    """Return the programs that the study needs and this machine lacks."""
    return [program for program in study.needs if shutil.which(program) is None]


def run(article: Article, study: LocalStudy, campaigns: Path) -> int:
    """Run one study, or print why not; return the exit code of `tare run`, 0 where nothing was run."""
    if lacking := missing(study):
        click.echo(f"{study.name} is left out, since it needs {', '.join(lacking)}")
        return 0
    for suite in study.suites:
        if _call([TARE, "lab", "rootfs", "--release", suite]):
            click.echo(f"{study.name} is left out, since there is no root file system of {suite}")
            return 0
    folder = campaigns / study.name
    command = [TARE, "run", str(article.path_of(study)), "--out"]
    if not study.in_pods and not study.in_cluster:
        return _run_twice([*command, str(folder)])
    if is_campaign(folder) and account(read_campaign(folder)).is_complete:
        return 0  # a cluster would come up for nothing
    if study.in_cluster:
        with containers() as environment:
            if environment is not None:
                return _run_twice([*command, str(folder)], environment)
        click.echo(
            f"{study.name} is left out, since no cluster of containers came up; see docs/containers.md"
        )
        return 0
    return _run_in_pods(study, command, folder)


def _run_in_pods(study: LocalStudy, command: Sequence[str], folder: Path) -> int:
    """Run one study in a cluster of its own, whose campaign ends up in `folder`, which `command` lacks."""
    with (
        tempfile.TemporaryDirectory(prefix="tare-articles-") as place,
        cluster(Path(place), packages=study.packages) as is_up,
    ):
        if is_up:
            out = Path(place, shared_claim.FOLDER, study.name) if study.on_claim else folder
            code = _run_twice([*KUBELAB, "enter", place, *command, str(out)])
            if study.on_claim and is_campaign(out):
                _replace(folder, out)
            return code
    click.echo(f"{study.name} is left out, since no cluster with real pods came up; see docs/kubernetes.md")
    return 0


def _replace(folder: Path, by: Path) -> None:
    """Replace the campaign in `folder`, if there is one, by that of a cluster which is about to end."""
    if is_campaign(folder):  # it is not complete, and no later cluster has its claim
        shutil.rmtree(folder)
    shutil.copytree(by, folder, symlinks=True)


@contextmanager
def cluster(folder: Path, kubelab: Sequence[str] = KUBELAB, packages: Sequence[str] = ()) -> Iterator[bool]:
    """Hold a cluster with real pods in `folder`; yield whether it came up.

    `kubelab` is the program; `packages` of Debian are put into its image, beside the user's own.
    """
    wanted = {*os.environ.get(IMAGE_PACKAGES, "").split(), *packages}
    env = {**os.environ, IMAGE_PACKAGES: " ".join(sorted(wanted))}
    process = subprocess.Popen([*kubelab, "pods", str(folder)], stdout=subprocess.PIPE, text=True, env=env)
    with process:
        assert process.stdout is not None  # it is a pipe
        try:
            yield any(line.startswith(_UP) for line in process.stdout)
        finally:
            process.terminate()


@contextmanager
def containers() -> Iterator[dict[str, str] | None]:
    """Hold a lab with a cluster of containers; yield what is added to the environment, None without."""
    named = ["--name", _LAB]
    try:
        is_up = (
            _call([TARE, "lab", "rootfs", "--name", "cluster"]) == 0
            and _call([TARE, "lab", "up", *named, "--nodes", "2", "--with", "cluster"]) == 0
        )
        if is_up:
            status = subprocess.run(
                [TARE, "lab", "status", *named, "--json"], stdout=subprocess.PIPE, text=True, check=True
            )
            yield {"TARE_LAB_DIR": str(json.loads(status.stdout)["folder"])}
        else:
            yield None
    finally:
        _call([TARE, "lab", "down", *named])


def _run_twice(command: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
    """Run a study; then, as its user would, try again once what failed or was invalid."""
    code = _call(command, environment)
    return _call([*command, "--retry-failed"], environment) if code == _SOME_FAILED else code


def _call(command: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
    click.echo(f"$ {shlex.join(command)}")
    return subprocess.run(command, check=False, env={**os.environ, **(environment or {})}).returncode

"""What no container can do is refused before anything runs, with the cure."""

from __future__ import annotations

import pytest

from tare.core.backend_options import BackendOptions
from tare.core.containers import ContainerOptions, ContainerShape
from tare.core.errors import UsageError
from tare.core.launch import Engine, Invocation
from tare.core.site import Platform, Site
from tare.execution.compose import Composer
from tare.plugins import registry
from tare.plugins.backends.slurm.options import SlurmOptions

PROGRAM = Invocation(argv=("true",))
CONTAINERS = ("apptainer", "charliecloud", "docker", "podman", "singularity")


def composer(runtime: str, *, is_queued: bool = False) -> Composer:
    platform = Platform(
        runtime=runtime,
        backend="slurm" if is_queued else "process",
        container=ContainerOptions(image="x", shape=ContainerShape.NODE),
        options=SlurmOptions() if is_queued else BackendOptions(),
    )
    site = Site(name="s", nodes=("n1",), platforms={"boxes": platform})
    return Composer(site, {}, registry.launcher, registry.runtime)


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_runtime_knows_its_name(name: str) -> None:
    assert registry.runtime(name).name == name


@pytest.mark.parametrize("name", CONTAINERS)
def test_without_a_container_section_there_is_no_container(name: str) -> None:
    with pytest.raises(UsageError, match="needs a container"):
        registry.runtime(name).wrap(PROGRAM, Platform(runtime=name), "/work")


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_working_folder_that_cannot_be_bound_is_refused(name: str) -> None:
    platform = Platform(runtime=name, container=ContainerOptions(image="x"))
    with pytest.raises(UsageError, match="choose an --out without it"):
        registry.runtime(name).wrap(PROGRAM, platform, "/work/a:b")


@pytest.mark.parametrize("name", ["apptainer", "charliecloud", "singularity", "native"])
def test_containers_that_stay_need_an_engine(name: str) -> None:
    with pytest.raises(UsageError, match="no containers that stay"):
        composer(name).engine("boxes")


@pytest.mark.parametrize("name", ["docker", "podman"])
def test_engines_keep_containers_but_not_in_a_queue(name: str) -> None:
    assert isinstance(composer(name).engine("boxes"), Engine)
    with pytest.raises(UsageError, match="chooses the nodes too late"):
        composer(name, is_queued=True).engine("boxes")


@pytest.mark.parametrize("launcher", ["intelmpi", "mpich"])
def test_docker_cannot_start_ranks_of_hydra_one_by_one(launcher: str) -> None:
    platform = Platform(runtime="docker", launcher=launcher, container=ContainerOptions(image="x"))
    with pytest.raises(UsageError, match="shape: node"):
        registry.runtime("docker").wrap(PROGRAM, platform, "/work")

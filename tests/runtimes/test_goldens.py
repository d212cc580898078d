"""The exact command line of each runtime in each situation, reviewed as diffs of goldens/*.txt.

Write them anew with: UPDATE_GOLDENS=1 pytest tests/runtimes
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tare.core.containers import ContainerOptions, ContainerShape
from tare.core.errors import UsageError
from tare.core.launch import Engine, Invocation
from tare.core.site import Platform
from tare.plugins import registry

GOLDENS = Path(__file__).with_name("goldens")
RUNTIMES = ("apptainer", "charliecloud", "docker", "podman", "singularity")

PROGRAM = Invocation(
    argv=("/apps/imb", "it's", 'say "hi"', "$(id)", "two\nlines", "", "-x"),
    env={"APP_MODE": "fast, 'safe'", "LINES": "two\nlines"},
)

SITUATIONS: dict[str, ContainerOptions] = {
    "image": ContainerOptions(image="docker.io/library/debian:12"),
    "rootfs": ContainerOptions(rootfs="/images/debian 12"),
    "infiniband": ContainerOptions(
        image="imb:2021",
        binds=("/opt/mpi", "/data:/inputs:ro", "/scratch:/out"),
        devices=("/dev/infiniband",),
        memlock="unlimited",
        options=("--cap-add", "IPC_LOCK"),
        program="/opt/bin/engine",
    ),
    "own-memory-and-network": ContainerOptions(image="imb:2021", shm_bytes=2**30, network="fabric"),
    "binds": ContainerOptions(
        rootfs="/images/debian", binds=("/opt/mpi", "/scratch:/out"), devices=("/dev/kvm",)
    ),
}


def as_text(invocation: Invocation) -> str:
    """Return the environment and the words of a command, one a line."""
    env = (f"{name}={value!r}" for name, value in sorted(invocation.env.items()))
    return "\n".join([*env, "", *map(repr, invocation.argv)]) + "\n"


def check(golden: Path, text: str) -> None:
    if os.environ.get("UPDATE_GOLDENS"):
        golden.write_text(text)
    assert text == golden.read_text()


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("name", RUNTIMES)
def test_the_command_is_the_golden_one(name: str, situation: str) -> None:
    platform = Platform(launcher="openmpi4", runtime=name, container=SITUATIONS[situation])
    try:
        text = as_text(registry.runtime(name).wrap(PROGRAM, platform, "/campaign/attempts/a 1"))
    except UsageError as error:
        text = f"refused: {error}\n"
    check(GOLDENS / f"{name}-{situation}.txt", text)


@pytest.mark.parametrize("name", ["docker", "podman"])
def test_the_commands_for_a_container_a_node_are_the_golden_ones(name: str) -> None:
    options = ContainerOptions(
        shape=ContainerShape.NODE, image="imb:2021", binds=("/opt/mpi",), options=("--privileged",)
    )
    platform = Platform(launcher="openmpi4", runtime=name, container=options)
    engine = registry.runtime(name)
    assert isinstance(engine, Engine)
    folder, container = "/campaign/attempts/a 1", "tare-lab-box-n1"
    given = engine.agent_environment(platform, "tare-lab-box-", folder, ("ssh", "-q"))
    started = as_text(engine.start(platform, container, ["/campaign", "/usr/lib/agent"]))
    text = "\n".join(
        [
            started.replace(str(engine.agent), "AGENT"),
            as_text(engine.enter(PROGRAM, platform, container, folder)),
            as_text(Invocation(argv=engine.find(platform))),
            as_text(Invocation(argv=engine.remove(platform, [container]))),
            as_text(Invocation(argv=engine.identify(platform))),
            as_text(Invocation(argv=(), env=given)),
        ]
    )
    check(GOLDENS / f"{name}-a-node.txt", text)


def test_every_golden_is_of_a_runtime_and_a_situation() -> None:
    expected = {f"{name}-{situation}.txt" for name in RUNTIMES for situation in SITUATIONS}
    expected |= {"docker-a-node.txt", "podman-a-node.txt"}
    assert {path.name for path in GOLDENS.iterdir()} == expected

"""At which addresses Slurm says it reaches nodes. The double stands for its commands and the resolver's."""

from __future__ import annotations

from discovery.test_slurm import RecordedCommands
from discovery.test_slurm_nodes import CRAY
from tare.discovery.facts import NodeFacts
from tare.discovery.slurm_addresses import with_addresses

NODES = [NodeFacts(node="n1", reached_at=("192.0.2.1",)), NodeFacts(node="n2", reached_at=("192.0.2.1",))]


def shown(name: str, address: str) -> str:
    line = CRAY.format(name=name, state="IDLE", reason="")
    return line.replace(f"NodeAddr={name}", f"NodeAddr={address}")


def reached(**outputs: str) -> list[tuple[str, ...]]:
    return [one.reached_at for one in with_addresses(RecordedCommands(outputs), NODES)]


def test_an_address_of_slurms_configuration_is_taken_as_it_is() -> None:
    text = shown("n1", "10.0.0.1") + shown("n2", "10.0.0.2")
    assert reached(scontrol=text) == [("10.0.0.1",), ("10.0.0.2",)]


def test_a_name_of_slurms_configuration_is_resolved() -> None:
    hosts = "10.0.0.7        STREAM n1-mgmt\n10.0.0.7        DGRAM\n10.0.0.7        RAW\n"
    assert reached(scontrol=shown("n1", "n1-mgmt"), getent=hosts) == [("10.0.0.7",), ()]


def test_a_name_that_does_not_resolve_says_nothing() -> None:
    assert reached(scontrol=shown("n1", "n1") + shown("n2", "n2")) == [(), ()]


def test_a_controller_that_does_not_answer_says_nothing_and_the_shells_ssh_does_not_count() -> None:
    assert reached() == [(), ()]
